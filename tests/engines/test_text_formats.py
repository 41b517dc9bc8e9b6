r"""Regular expressions and choices as formats of text: the machine's rows, and llguidance's."""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from llguidance import LLMatcher

from enforcer.engines import ArgumentEngine, load
from enforcer.engines.client_grammar import ClientGrammars
from enforcer.errors import InvalidSchema, SchemaError, SchemaLimit
from enforcer.regex import fullmatch, parse_rust
from enforcer.request.response_format import FormatKind, ResponseFormat
from enforcer.vocabulary import Vocabulary
from tests.support import cases
from tests.support.machine import mask
from tests.vocabularies import small

_WORD = r"[\w&&[!-\x{2af}]]"
EXPRESSIONS = cases.load("engines/cases/expressions.toml")
_V = small()


@pytest.fixture(scope="module")
def llguidance() -> ClientGrammars:
    return ClientGrammars(_V)


@pytest.fixture(scope="module")
def machine() -> ArgumentEngine:
    return load("machine", _V)


def of(source: str, kind: FormatKind = FormatKind.REGEX) -> ResponseFormat:
    return ResponseFormat(kind, source)


def lark(wanted: ResponseFormat) -> str:
    """Write a format as a grammar; anchors at the ends say nothing, and llguidance knows none."""
    source = wanted.source
    if wanted.kind is FormatKind.CHOICE:
        choices = json.loads(source)
        start = "CHOICE?" if "" in choices else "CHOICE"
        return f"start: {start}\nCHOICE: {' | '.join(json.dumps(x) for x in choices if x)}"
    ends = source.endswith("$") and not source.endswith("\\$")
    source = source.removeprefix("^")
    wrapped = LLMatcher.grammar_from_regex(source[:-1] if ends else source)
    return str(json.loads(wrapped)["grammars"][0]["lark_grammar"])


def walk(
    machine: ArgumentEngine, llguidance: ClientGrammars, wanted: ResponseFormat, seed: object
) -> None:
    """Follow random legal ids by both; rows and answers are the same."""
    random = Random(f"{wanted.source} {seed}")
    found = machine.compile(wanted), llguidance.compile(lark(wanted))
    texts = [each.matcher() for each in found]
    for _ in range(12):
        rows = [mask(text, _V) for text in texts]
        assert rows[0] == rows[1]
        assert texts[0].is_accepting() == texts[1].is_accepting()
        # Digits and letters beyond the first plane are others in another version of Unicode.
        legal = [i for i in sorted(rows[0]) if max(_V.token_bytes(i)) < 0xF0]
        if not legal:
            break
        token_id = random.choice([*legal, random.randrange(_V.size)])
        assert len({text.accept(token_id) for text in texts}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("pattern", EXPRESSIONS["read"])
def test_rows_are_those_of_llguidance(
    machine: ArgumentEngine, llguidance: ClientGrammars, pattern: str
) -> None:
    for seed in range(5):
        walk(machine, llguidance, of(pattern), seed)


@pytest.mark.parametrize("choices", [["yes", "no"], ["", "a", "ab"], ["é", 'n"o', "\n", "日本"]])
def test_choices_have_the_same_rows(
    machine: ArgumentEngine, llguidance: ClientGrammars, choices: list[str]
) -> None:
    for seed in range(5):
        walk(machine, llguidance, of(json.dumps(choices), FormatKind.CHOICE), seed)


_ATOMS = st.sampled_from(
    [
        *("a", "b", "[ab]", "[^a]", ".", r"[\d&&[!-\x{6ff}]]", _WORD, "é", r"\n", "(?i:k)"),
        *('"', "(?s:.)", r"\s", "1"),
    ]
)
_COUNTS = ["*", "+", "?", "{1,3}", "{2}", "{0}"]


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        st.builds("(?:{}|{})".format, inner, inner)
        | st.builds("{}{}".format, inner, inner)
        | st.builds("(?:{}){}".format, inner, st.sampled_from(_COUNTS))
    )


@given(pattern=st.recursive(_ATOMS, _grown, max_leaves=8), seed=st.integers(0, 99))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_expression_has_the_same_rows(
    machine: ArgumentEngine, llguidance: ClientGrammars, pattern: str, seed: int
) -> None:
    walk(machine, llguidance, of(pattern), seed)


@pytest.mark.parametrize("pattern", EXPRESSIONS["refused"])
def test_unreadable_patterns_are_refused_in_words(machine: ArgumentEngine, pattern: str) -> None:
    with pytest.raises(InvalidSchema) as caught:
        machine.check(of(pattern))
    assert caught.value.path == "$.response_format.regex"
    with pytest.raises((SchemaError, ValueError)):
        ClientGrammars(_V).compile(lark(of(pattern)))


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [("(?R).", "of flags"), (r"(?-u)\w", "of flags"), (r"a{1,2000000}", "over 1000000")],
)
def test_llguidance_syntax_is_refused(machine: ArgumentEngine, pattern: str, reason: str) -> None:
    with pytest.raises(InvalidSchema, match=reason):
        machine.check(of(pattern))


@pytest.mark.parametrize("source", [r"[^\s\S]", r"a[^\s\S]", "a$b", "[&&]"])
def test_an_expression_that_no_text_fits_is_refused(machine: ArgumentEngine, source: str) -> None:
    with pytest.raises(InvalidSchema, match=r"no text fits it.*response_format\.regex"):
        machine.compile(of(source))


HOSTILE = [
    "(a{1000}){1000}", ".*a.{15}", "(.*a.{15}){3}", "((a{0,50}){0,50}){0,50}", "(ab){1,50000}",
    "|".join(f"[{chr(0x4E00 + i)}{chr(0x5E00 + i)}]+" for i in range(600)),
    "a" * 50_001,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("source", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_expressions_are_refused_by_counts(machine: ArgumentEngine, source: str) -> None:
    with pytest.raises(SchemaLimit) as caught:
        machine.check(of(source))
    assert caught.value.path == "$.response_format.regex"


@pytest.mark.parametrize(
    "source",
    ["(" * 65 + "a" + ")" * 65, "[" * 65 + "a" + "]" * 65, r"\p{L}" * 17, r"(\^|$a)*" * 150],
)
def test_hostile_syntax_is_refused(machine: ArgumentEngine, source: str) -> None:
    with pytest.raises(InvalidSchema):
        machine.check(of(source))


def test_tables_are_written_and_read(machine: ArgumentEngine) -> None:
    text = machine.read(machine.write(of("a+é"))).matcher()
    assert all(map(text.accept, "aé".encode()))
    assert text.is_accepting()
    assert not text.accept(ord("a"))


def test_characters_that_no_token_writes_are_left_out() -> None:
    engine = load("machine", Vocabulary([bytes([byte]) for byte in range(128)], {}))
    text = engine.compile(of("[aé]b|é")).matcher()
    assert not text.accept(0xC3)
    assert text.accept(ord("a"))
    with pytest.raises(InvalidSchema, match="no text that the model's tokenizer can write"):
        engine.compile(of("é"))
    with pytest.raises(InvalidSchema, match="no text that the model's tokenizer can write"):
        engine.compile(of('["é"]', FormatKind.CHOICE))


@given(st.text(max_size=3))
def test_classes_are_those_of_unicode(text: str) -> None:
    tests: dict[str, Any] = {
        r"\d": lambda c: c.isdecimal(),
        r"\s": lambda c: c.isspace() and c not in "\x1c\x1d\x1e\x1f",
    }
    for char in text:
        for pattern, holds in tests.items():
            assert fullmatch(parse_rust(pattern), char) == holds(char)
