r"""Validators with patterns of JSON Schema that Python's `re` does not have, such as `\p{L}`.

A pattern that `re` compiles is left to `re`, as `jsonschema` does; any other one is left to the
package `regex`. `unevaluatedProperties` beside such names cannot be judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import jsonschema
import regex  # type: ignore[import-untyped]


@cache
def validator_of(base: Any) -> Any:
    """Return the validator of a draft, with other patterns."""
    return jsonschema.validators.extend(
        base,
        {
            "pattern": _pattern,
            "patternProperties": _pattern_properties,
            "additionalProperties": _additional_properties,
        },
    )


def _found(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return regex.search(pattern, text) is not None


def _pattern(validator: Any, pattern: str, instance: Any, _: object) -> Iterator[Any]:
    if validator.is_type(instance, "string") and not _found(pattern, instance):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, by_pattern: Any, instance: Any, _: object) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, schema in by_pattern.items():
        for name, value in instance.items():
            if _found(pattern, name):
                yield from validator.descend(value, schema, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any, allowed: Any, instance: Any, schema: Any
) -> Iterable[Any]:
    if not validator.is_type(instance, "object"):
        return
    declared, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, value in instance.items():
        if name in declared or any(_found(pattern, name) for pattern in patterns):
            continue
        if allowed is False:
            yield jsonschema.ValidationError(f"additional property {name!r} is not allowed")
        else:
            yield from validator.descend(value, allowed, path=name)
