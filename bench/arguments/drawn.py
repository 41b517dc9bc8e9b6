"""Arguments drawn anew from a valid example by a seed: other words, numbers and lengths of lists.

Owns: the draws. Must not know: engines, times.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import jsonschema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

_WORDS = (
    *("report", "budget", "draft", "Zürich", "invoice", "user@example.com", "2026-03-14", "東京"),
    *("https://example.com/a?b=1", "review", "the", "latest", "changes", "in", "branch", "main"),
    *("and", "tell", "me", "why", "C:\\temp\\log.txt", 'says "error"', "42", "-", "it's", "done."),
)
_TRIES = 8  # of one leaf


def texts(schema: Any, example: Any, random: Random, count: int) -> Iterator[Any]:
    """Yield values that fit a schema, each made from the example by changing its leaves."""
    validator = jsonschema.Draft202012Validator(schema)
    leaves = list(_leaves(example, ()))
    for _ in range(count):
        value = copy.deepcopy(example)
        for path in leaves:
            _change(value, path, random, validator)
        yield value


def in_order(value: Any, schema: Any) -> Any:
    """Put properties in the order of their declaration."""
    if isinstance(value, list):
        items = schema.get("items") if isinstance(schema, dict) else None
        return [in_order(each, items) for each in value]
    if not isinstance(value, dict):
        return value
    declared = schema.get("properties") if isinstance(schema, dict) else None
    declared = declared if isinstance(declared, dict) else {}
    names = [name for name in declared if name in value]
    names += [name for name in value if name not in declared]
    return {name: in_order(value[name], declared.get(name)) for name in names}


def _leaves(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in inside:
            yield from _leaves(each, (*path, key))
    elif path:
        yield path


def _change(value: Any, path: tuple[Any, ...], random: Random, validator: Any) -> None:
    """Draw another value for one leaf; the old one stays where none of the draws fits."""
    *around, key = path
    owner = value
    for each in around:
        owner = owner[each]
    old = owner[key]
    for _ in range(_TRIES):
        owner[key] = _other(old, random)
        if validator.is_valid(value):
            return
    owner[key] = old


def _other(old: Any, random: Random) -> Any:
    if isinstance(old, bool) or old is None:
        return random.choice([True, False, old])
    if isinstance(old, int):
        return random.choice([random.randint(0, 9), random.randint(0, 2 * abs(old) + 99)])
    if isinstance(old, float):
        return round(random.uniform(0, 2 * abs(old) + 1), random.randint(1, 4))
    return " ".join(random.choices(_WORDS, k=random.randint(1, max(1, len(old) // 3))))
