"""No key twice in arguments that are pairs: every text of a few keys, and walks."""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product
from random import Random
from typing import Any

import pytest

from enforcer import kernel
from enforcer.errors import UnsupportedSchema
from enforcer.layouts import BoundLayout, Decoder, Layout
from enforcer.layouts.pattern import ID, Field
from enforcer.layouts.texts import keys
from enforcer.machine.grammar import MachineGrammar
from enforcer.regex import fullmatch
from enforcer.schema import Root
from enforcer.vocabulary import Vocabulary
from tests.laid_out import DECLARED, TABLES
from tests.laid_out import vocabulary as usual
from tests.schema_judge import is_valid
from tests.support import cases, machine

PAIRS = ("kimi_k3", *DECLARED)
# Beside those of the formats, tokens that hold a key, the end of one, or a whole pair.
_KEYS = (
    *("a>", "b>", 'a"', '"a"', "=a>", '="a">', '="b', '"b">', "=b>x", "é>", 'é"', "ab", "ba>"),
    *('a">1</parameter>\n<parameter name="a">', "b>1</parameter><parameter=b>", "=a>1</parameter>"),
    *("a>1</parameter><parameter=", "a>1</parameter>\n</function>", 'b">1</parameter>\n</in'),
    *('</parameter><parameter name="é">', "</parameter><parameter=a>", 'argument key="a" type='),
    *('key="a"', '="&quot;"', "&amp;", "&amp", 'p;"', "1</parameter>", ">1</parameter>\n"),
)
_ONE = {"const": "1"}
_CLOSED = {"additionalProperties": False}
OBJECTS = cases.listed("machine/cases/keys.toml", "objects")
_SHORT = frozenset(b'<>/-:"=ab1 \n&;_') | frozenset("é｜argumentpirykeyvsquot".encode())
_NAMES = ("a", "b", "ab", "é", '"')


ODD: dict[str, dict[str, Any]] = {
    "list": {"layout": "pairs", "pair": "- {key}: {value}\n", "close": ""},
    "wide": {"layout": "pairs", "pair": "<k｜{key}>{_}<v>{value}</v>", "close": "{_}</c>"},
}
LAYOUTS = (*PAIRS, "glm45 as text", *ODD)
NAMES = pytest.mark.parametrize("name", LAYOUTS)
NUMBERS = pytest.mark.parametrize("number", range(len(OBJECTS)))


@cache
def vocabulary() -> Vocabulary:
    names = usual().controls
    texts = [x for i, x in enumerate(usual().texts) if i not in names.values()]
    more = [*(x.encode() for x in _KEYS), "｜a>".encode()[2:]]
    texts = [*texts, *dict.fromkeys(x for x in more if x not in texts)]
    controls = {name: len(texts) + at for at, name in enumerate(names)}
    return Vocabulary([*texts, *(name.encode() for name in controls)], controls)


@cache
def layout(name: str) -> BoundLayout:
    table = ODD[name] if name in ODD else TABLES[name.split(maxsplit=1)[0]]
    return Layout.read(table).bind(vocabulary().controls.get if name in TABLES else lambda _: None)


@cache
def held(name: str, number: int) -> MachineGrammar:
    return of_schema(name, OBJECTS[number])


def of_schema(name: str, schema: dict[str, Any]) -> MachineGrammar:
    tree = machine.tree(vocabulary(), is_raw=True)
    return machine.held(schema, tree, layout(name), root=Root.OBJECT, conventions=machine.OPEN)


def pair(name: str, key: str, value: str = "1") -> list[int]:
    """Return the symbols of a pair; its value is a string."""
    found: list[int] = []
    for piece in layout(name).pair:
        if isinstance(piece, Field):
            escaped = layout(name).layout.key.write(key)
            found += {"key": escaped, "type": "string", "value": value}[piece.name].encode()
        elif isinstance(piece, int):
            found.append(piece)
    return found


def written(name: str, keys: Sequence[str]) -> list[int]:
    """Return the symbols of arguments with these keys."""
    end = [piece for piece in layout(name).close if isinstance(piece, int)]
    return [symbol for key in keys for symbol in pair(name, key)] + end


def short_ids() -> list[int]:
    """Return the tokens of which keys and values consist, and the markers."""
    found = [i for i, data in enumerate(vocabulary().texts) if data and _SHORT.issuperset(data)]
    return [*found, *vocabulary().control_ids]


def takes(text: kernel.TextMatcher, found: Iterable[int]) -> bool:
    return all(text.accept(x - ID if x >= ID else x) for x in found)


def split(random: Random, found: list[int]) -> list[int]:
    """Draw token ids of some symbols."""
    ids, at = [], 0
    while at < len(found):
        if found[at] >= ID:
            ids.append(found[at] - ID)
            at += 1
            continue
        run = bytes(x for x in found[at : at + 40] if x < ID)
        fits = [i for i, data in enumerate(vocabulary().texts) if data and run.startswith(data)]
        ids.append(random.choice(fits))
        at += len(vocabulary().token_bytes(ids[-1]))
    return ids


def can_write(name: str, keys_: Iterable[str]) -> bool:
    return all(fullmatch(keys(layout(name)), key) for key in keys_)


@pytest.mark.slow
@NAMES
@NUMBERS
def test_a_text_is_taken_if_it_is_valid_and_no_key_comes_twice(name: str, number: int) -> None:
    for count in range(4):
        for names in product(_NAMES, repeat=count):
            text = held(name, number).matcher()
            fits = is_valid(OBJECTS[number], dict.fromkeys(names, "1")) and can_write(name, names)
            is_taken = takes(text, written(name, names)) and text.is_accepting()
            assert is_taken == (fits and len({*names}) == count), names


@pytest.mark.slow
@NAMES
@NUMBERS
def test_a_row_is_what_is_accepted_wherever_keys_may_repeat(name: str, number: int) -> None:
    for seed in range(12):
        random, text = Random(seed), held(name, number).matcher()
        names = [random.choice(_NAMES[:4]) for _ in range(random.randint(2, 5))]
        for token_id in split(random, written(name, names)):
            assert machine.agreed(text, vocabulary()) == machine.mask(text, vocabulary())
            if not text.accept(token_id):
                break


@pytest.mark.slow
@NAMES
@NUMBERS
def test_no_text_gets_stuck_and_each_is_read_without_a_repeated_key(name: str, number: int) -> None:
    ended, short = 0, {*short_ids()}
    for seed in range(30):
        random, text = Random(seed), held(name, number).matcher()
        for at in range(300):
            allowed = sorted(machine.mask(text, vocabulary()))
            if text.is_accepting() and (not allowed or random.random() < 0.1 + at / 100):
                break
            assert allowed, vocabulary().decode(text.token_ids())
            few = [i for i in allowed if i in short]
            assert text.accept(random.choice(few or allowed))
        if text.is_accepting():
            ended += 1
            found = [
                x
                for i in text.token_ids()
                for x in ([ID + i] if i in vocabulary().control_ids else vocabulary().texts[i])
            ]
            decoder = Decoder(layout(name), OBJECTS[number])
            said = json.loads(decoder.feed(found) + decoder.finish(), object_pairs_hook=list)
            assert len({key for key, _ in said}) == len(said)
    assert ended > 5


@NAMES
def test_every_key_comes_once_and_then_the_text_ends(name: str) -> None:
    schema = {"patternProperties": {"^(b|a[0-9]{0,2})$": _ONE}, **_CLOSED}
    names = ["b", "a", *(f"a{n}" for n in range(10)), *(f"a{n:02}" for n in range(100))]
    for seed in range(3):
        text = of_schema(name, schema).matcher()
        for key in Random(seed).sample(names, len(names)) if seed else sorted(names):
            assert takes(text, pair(name, key)), key
        count = len(text.token_ids())
        before = (x for x in layout(name).part(None, "key") if isinstance(x, int))
        assert not takes(text, before)
        text.rollback(len(text.token_ids()) - count)
        assert takes(text, written(name, ()))
        assert text.is_accepting()


@pytest.mark.parametrize("name", ["kimi_k3", "minimax_m2", "glm45", "glm45 as text"])
@pytest.mark.parametrize("number", [0, 3])
def test_keys_are_known_after_taking_back_and_letting_go(name: str, number: int) -> None:
    found = held(name, number)
    machine.assert_known_after_going_back(found, vocabulary(), Random(number), short_ids())


@pytest.mark.parametrize("name", DECLARED)
def test_too_few_keys_that_can_be_written_are_refused(name: str) -> None:
    for more in ({"minProperties": 3}, {"not": {"additionalProperties": {"const": "x"}}}):
        schema = {"patternProperties": {"^a *$": {}}, **_CLOSED, **more}
        with pytest.raises(UnsupportedSchema, match="too few of the names"):
            of_schema(name, schema)
        of_schema("kimi_k3", schema)
