"""Where in a text of keyed arguments one stands."""

from __future__ import annotations

import pytest

from enforcer.explain.places import KEY, TYPE, VALUE, spot
from enforcer.layouts import ID, BoundLayout
from enforcer.turn import dialects
from tests.dialect_cases import vocabulary
from tests.vocabularies import write


def layout(name: str) -> BoundLayout:
    return dialects.load(name).layout(vocabulary(name).controls)


def symbols(name: str, text: str) -> list[int]:
    found: list[int] = []
    for token_id in write(vocabulary(name), text):
        if token_id in vocabulary(name).control_ids:
            found.append(ID + token_id)
        else:
            found += vocabulary(name).token_bytes(token_id)
    return found


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", ("", "", b"", "", b"")),
        ("<|open|>argu", ("", "", b"", "", b"")),
        ('<|open|>argument key="un', (KEY, "", b"", "", b"un")),
        ('<|open|>argument key="unit"', ("", KEY, b"unit", "", b"")),
        ('<|open|>argument key="unit" type="str', (TYPE, KEY, b"unit", "", b"str")),
        (
            '<|open|>argument key="unit" type="string"',
            ("", TYPE, b"unit", "string", b""),
        ),
        (
            '<|open|>argument key="unit" type="string"<|sep|>c',
            (VALUE, TYPE, b"unit", "string", b"c"),
        ),
    ],
)
def test_pairs(text: str, place: tuple[str, str, bytes, str, bytes]) -> None:
    found = spot(layout("kimi_k3"), symbols("kimi_k3", text))
    assert (found.field, found.behind, found.key, found.type, found.text) == place
    assert found.value == found.text


def test_a_stop_that_may_have_begun_and_one_that_has_ended() -> None:
    pair = "<parameter=unit>a</par"
    found = spot(layout("qwen3_coder"), symbols("qwen3_coder", pair))
    assert (found.value, found.text, found.matched) == (b"a", b"a</par", 5)
    whole = symbols("qwen3_coder", pair + "ameter>")
    found = spot(layout("qwen3_coder"), whole)
    assert (found.field, found.key, found.held, found.begin) == ("", b"", (), len(whole))


@pytest.mark.parametrize(
    ("text", "place", "is_open", "comma"),
    [
        ("", (KEY, b"", b""), False, False),
        ("un", (KEY, b"", b"un"), False, False),
        ("unit =", (VALUE, b"unit", b""), False, False),
        ("unit='a,", (VALUE, b"unit", b"'a,"), True, False),
        ("a=[1, 2", (VALUE, b"a", b"[1, 2"), True, False),
        ("a=[1, 2], b", (KEY, b"", b" b"), False, True),
    ],
)
def test_pythons(text: str, place: tuple[str, bytes, bytes], is_open: bool, comma: bool) -> None:
    found = spot(layout("pythonic"), symbols("pythonic", text))
    assert (found.field, found.key, found.text) == place
    assert (found.is_open, found.comma) == (is_open, comma)
