"""A class of names, or of strings, of which the last ones are left: masks are what is accepted."""

import re
from functools import cache
from itertools import takewhile
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from enforcer import kernel
from enforcer.layouts import JSON
from enforcer.schema import Root
from enforcer.vocabulary import Vocabulary
from tests.support import machine

_ONE = {"const": 1}
# More characters than a pattern may have words that are made declared names of it.
_BLOCK = [chr(0xE0 + at) for at in range(31)]  # all of UTF-8's first byte 0xC3 that a class has
_CLASS = "[" + "".join(_BLOCK) + "".join(chr(0x4E00 + at) for at in range(40)) + "]"
_BEFORE = ("", "a", "b", "ab")
_PATTERNS = (
    *(f"^[ab]{_CLASS}$", f"^{_CLASS}$", f"^(a|b|ab){_CLASS}$", f"^a?{_CLASS}b?$"),
    *(f"^([ab]{_CLASS}|z)$", f"^({_CLASS}|[ab]{_CLASS}|ab?)$", f"^({_CLASS}b?|ab?c?)$"),
)


@cache
def _vocabulary() -> Vocabulary:
    """Ids 0 to 255 are bytes; the others begin a character behind a name's begin, or end one."""
    begins = ("", '"', ',"', '1,"', ':1,"', '":1,"', '","')
    ends = ("à", "一", "\\u00e0", "\\u", "b", "c", "z", 'à"', 'b"')
    whole = [b + p + e for b in begins for p in _BEFORE for e in ("", *ends)]
    parts = [(b + p).encode() + e for b in begins for p in _BEFORE for e in (b"\xc3", b"\xe4\xb8")]
    return machine.of_bytes(sorted({*(text.encode() for text in whole), *parts}))


def _text(schema: dict[str, Any], written: str, layout: Any = None) -> kernel.TextMatcher:
    text = machine.held(schema, machine.tree(_vocabulary()), layout, root=Root.ANY).matcher()
    for _ in takewhile(text.accept, written.encode()):
        pass
    return text


def _agree(text: kernel.TextMatcher) -> dict[bytes, int]:
    found = sorted(machine.agreed(text, _vocabulary()))
    return {_vocabulary().token_bytes(number): number for number in found}


def _quoted(*texts: str) -> str:
    return ",".join(f'"{text}"' for text in texts)


def test_what_is_left_of_one_beginning_is_not_what_is_left_of_another() -> None:
    schema = {
        "type": "array",
        "uniqueItems": True,
        "items": {"type": "string", "pattern": f"^([ab]{_CLASS}|z)$"},
    }
    written = "[" + _quoted(*("a" + character for character in _BLOCK), "bà", "z") + ","
    taken = _agree(_text(schema, written))
    assert b'"b\xc3' in taken
    assert b'"a\xc3' not in taken


def test_a_declared_name_may_go_on_where_no_other_name_does() -> None:
    schema = {
        "type": "object",
        "properties": {"一b": _ONE, "abc": _ONE},
        "propertyNames": {"pattern": "^([一-龥]b?|ab?c?)$"},
        "additionalProperties": _ONE,
    }
    assert b"ab" in _agree(_text(schema, '{"ab":1,"'))


def _schema(random: Random, pattern: str) -> dict[str, Any]:
    if random.random() < 0.5:
        items: dict[str, Any] = {"type": "string", "pattern": pattern}
        if random.random() < 0.4:
            other = {"type": "string", "pattern": f"^b{_CLASS}?$"}
            items = {"anyOf": [items, other, {"enum": ["ac", "b"]}]}
        return {"type": "array", "uniqueItems": True, "items": items}
    declared = {
        random.choice(_BEFORE) + random.choice("à一z") + random.choice(["", "b", "c", "à"]): _ONE
        for _ in range(random.choice([0, 1, 3]))
    }
    if random.random() < 0.5:
        declared |= dict.fromkeys(random.sample(["ab", "abc", "ac", "一b", "àb", "b"], 2), _ONE)
    found: dict[str, Any] = {"type": "object", "properties": declared}
    if random.random() < 0.5:
        found |= {"patternProperties": {pattern: _ONE}, "additionalProperties": False}
        if random.random() < 0.3:
            found["patternProperties"]["^[ab]"] = {"type": "integer"}
    else:
        found |= {"propertyNames": {"pattern": pattern}, "additionalProperties": _ONE}
    return found


def _drawn(random: Random) -> tuple[dict[str, Any], str]:
    """A schema, and a text in which most of the names or strings of one beginning are there."""
    pattern = random.choice(_PATTERNS)
    schema = _schema(random, pattern)
    characters = [*_CLASS[1:-1], "z", "a", "b", "c", ""]
    possible = sorted(
        {
            text
            for before in _BEFORE
            for character in characters
            for end in ("", "b", "c")
            if re.search(pattern, text := before + character + end)
        }
    )
    before = random.choice(_BEFORE)
    same = [text for text in possible if text[:-1] == before and text[-1] in _BLOCK]
    there = same[: len(same) - random.choice([0, 0, 1])]
    there += random.sample(possible, min(len(possible), random.choice([1, 2, 5])))
    there += [text for text in ("z", "a", "ab", "à", "abc") if text in possible]
    random.shuffle(there)
    there = list(dict.fromkeys(there))
    if schema["type"] == "array":
        written = "[" + _quoted(*there)
    else:
        written = "{" + ",".join(f'"{text}":1' for text in there)
    return schema, written + random.choice([",", ',"', ',"a', ',"b', "", ", "])


@given(st.integers(0, 2**32 - 1))
def test_a_row_is_what_is_accepted(seed: int) -> None:
    random = Random(seed)
    schema, written = _drawn(random)
    text = _text(schema, written, random.choice([None, JSON]))
    for _ in range(4):
        if not (taken := _agree(text)):
            break
        assert text.accept(random.choice([*taken.values()]))
