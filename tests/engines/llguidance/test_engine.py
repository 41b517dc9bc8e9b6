from __future__ import annotations

import json
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines import _beside_the_machine as load
from enforcer.engines.llguidance import grammar as grammars
from enforcer.engines.llguidance.engine import LLGuidanceEngine
from enforcer.engines.llguidance.grammar import LLGuidanceGrammar
from enforcer.errors import EnforcerError, EngineFailure
from enforcer.schema import compile_schema
from tests.engines.limits import limited

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from enforcer.engines import ArgumentEngine, ArgumentMatcher, CompiledGrammar
    from enforcer.vocabulary import Vocabulary


SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}
TEXT = '{"days": 3, "city": "Zürich"}'


@pytest.fixture(scope="module")
def engine(vocabulary: Vocabulary) -> ArgumentEngine:
    return load(vocabulary)


@pytest.fixture(scope="module")
def engines(
    engine: ArgumentEngine, vocabulary: Vocabulary, kimi_vocabulary: Vocabulary
) -> list[tuple[ArgumentEngine, Vocabulary]]:
    return [(engine, vocabulary), (load(kimi_vocabulary), kimi_vocabulary)]


@pytest.fixture(scope="module")
def grammar(engine: ArgumentEngine) -> CompiledGrammar:
    return engine.compile(compile_schema(SCHEMA))


def mask(matcher: ArgumentMatcher, vocabulary: Vocabulary) -> NDArray[np.int32]:
    row = np.full(vocabulary.words, -1, np.int32)
    matcher.fill(row)
    return row


def ids(row: NDArray[np.int32]) -> set[int]:
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


def test_a_bit_is_set_exactly_if_the_id_is_accepted(
    grammar: CompiledGrammar, vocabulary: Vocabulary
) -> None:
    matcher = grammar.matcher()
    for token in [*vocabulary.encode(TEXT), None]:
        allowed = ids(mask(matcher, vocabulary))
        for i in range(vocabulary.size):
            taken = matcher.accept(i)
            assert taken == (i in allowed), i
            if taken:
                matcher.rollback(1)
        if token is not None:
            assert matcher.accept(token)


def test_control_ids_and_holes_are_never_legal(
    grammar: CompiledGrammar, vocabulary: Vocabulary
) -> None:
    matcher = grammar.matcher()
    for token in vocabulary.encode(TEXT):
        assert not ids(mask(matcher, vocabulary)) & vocabulary.control_ids
        assert not any(matcher.accept(i) for i in vocabulary.control_ids)
        assert matcher.accept(token)
    assert matcher.is_accepting()


@pytest.mark.parametrize("token", [-1, 10**9])
def test_an_id_outside_the_vocabulary_is_illegal(grammar: CompiledGrammar, token: int) -> None:
    assert not grammar.matcher().accept(token)


@given(data=st.data())
def test_rollback_restores_the_mask(
    grammar: CompiledGrammar, vocabulary: Vocabulary, data: st.DataObject
) -> None:
    matcher, tokens = grammar.matcher(), vocabulary.encode(TEXT)
    masks = [mask(matcher, vocabulary)]
    for token in tokens:
        assert matcher.accept(token)
        masks.append(mask(matcher, vocabulary))
    at = len(tokens)
    for _ in range(4):
        back = data.draw(st.integers(0, at))
        matcher.rollback(back)
        at -= back
        assert np.array_equal(mask(matcher, vocabulary), masks[at])
        assert matcher.is_accepting() == (at == len(tokens))
        for token in tokens[at : at + data.draw(st.integers(0, 3))]:
            assert matcher.accept(token)
            at += 1


def test_texts_do_not_share_state(grammar: CompiledGrammar, vocabulary: Vocabulary) -> None:
    first, second = grammar.matcher(), grammar.matcher()
    for token in vocabulary.encode(TEXT):
        assert first.accept(token)
    assert first.is_accepting()
    assert not second.is_accepting()


def test_check_refuses_what_compile_refuses(engine: ArgumentEngine) -> None:
    grammar = compile_schema({"anyOf": [{"required": [f"n{i}"]} for i in range(70)]})
    for attempt in (engine.check, engine.compile):
        with pytest.raises(EnforcerError, match="required"):
            attempt(grammar)


def test_endless_white_space_and_digits_end(engine: ArgumentEngine, vocabulary: Vocabulary) -> None:
    matcher = engine.compile(compile_schema({"type": "integer"})).matcher()
    taken = 0
    while taken < 200 and matcher.accept(vocabulary.encode("7")[0]):
        taken += 1
    assert 15 <= taken < 200
    matcher = engine.compile(compile_schema({})).matcher()
    assert all(map(matcher.accept, vocabulary.encode("[")))
    taken = 0
    while taken < 200 and matcher.accept(vocabulary.encode(" ")[0]):
        taken += 1
    assert taken <= 2


def test_a_long_array_of_objects_stays_within_the_limits(
    engine: ArgumentEngine, vocabulary: Vocabulary
) -> None:
    items = {"type": "array", "items": SCHEMA}
    matcher = engine.compile(compile_schema(items)).matcher()
    text = json.dumps([{"city": "x", "days": 1}] * 800)
    assert all(map(matcher.accept, vocabulary.encode(text)))
    assert matcher.is_accepting()


# Before such complements were written out, llguidance gave up at the first mask of each.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"maxLength": 4000, "not": {"pattern": "--"}}, "DROP -; DROP", "DROP --; DROP"),
        ({"maxLength": 4000, "not": {"pattern": r"^\s|\s$"}}, "a b", " a b"),
        ({"format": "hostname", "not": {"pattern": "--"}}, "a-b.example", "a--b.example"),
        ({"minLength": 30, "not": {"pattern": "admin|root"}}, "adm1n" * 9, "radmin" * 9),
        (
            {"maxLength": 2000, "not": {"pattern": r"(?i)<script|javascript:|on\w+="}},
            "on érable = <scrip",
            "onÉrable=",
        ),
        (
            {"maxLength": 4096, "pattern": r"^[^\0]+$", "not": {"pattern": r"(^|/)\.\.(/|$)"}},
            "a/..b/c..",
            "a/../b",
        ),
    ],
)
def test_what_must_not_match_stands_beside_a_length(
    engines: list[tuple[ArgumentEngine, Vocabulary]], schema: dict[str, Any], good: str, bad: str
) -> None:
    for engine, vocabulary in engines:
        grammar = engine.compile(compile_schema({"type": "string", **schema}))
        for text, fits in ((good, True), (bad, False)):
            for spelled in (json.dumps(text), json.dumps(text, ensure_ascii=False)):
                matcher = grammar.matcher()
                taken = [
                    token in ids(mask(matcher, vocabulary)) and matcher.accept(token)
                    for token in vocabulary.encode(spelled)
                ]
                assert all(taken) == fits, spelled
                assert not fits or matcher.is_accepting()


# Which of the last 20 characters were an `a` is what a lexer has to know within such a string.
MANY_STATES = {
    "type": "object",
    "properties": {"deep": {"type": "string", "pattern": "a.{20}b.{3}c"}, "n": {"type": "integer"}},
}


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    return partial(limited, monkeypatch)


def consumed(matcher: ArgumentMatcher, vocabulary: Vocabulary, wanted: str) -> None:
    """Compute a mask before each token, as a host does."""
    row = np.zeros(vocabulary.words, np.int32)
    for token in vocabulary.encode(wanted):
        matcher.fill(row)
        assert token in ids(row)
        assert matcher.accept(token)


def text(random: Random) -> str:
    return " ".join(random.choice(["alpha", "banana", "cat", "a"]) for _ in range(40))


def test_a_lexer_that_has_grown_too_large_is_replaced_within_a_text(
    engine: ArgumentEngine, vocabulary: Vocabulary, limits: Callable[..., None]
) -> None:
    limits(max_lexer_states=20_000)
    grammar, random = engine.compile(compile_schema(MANY_STATES)), Random(1)
    starts: set[Any] = set()
    assert isinstance(grammar, LLGuidanceGrammar)
    for _ in range(12):
        matcher = grammar.matcher()
        starts.add(grammar.start())
        consumed(matcher, vocabulary, '{"n": 1, "deep": "' + text(random))
        matcher.rollback(2)
        consumed(matcher, vocabulary, "a" + 20 * "-" + 'b123c"}')
        assert matcher.is_accepting()
    assert len(starts) > 1


def test_a_text_that_no_lexer_bears_is_the_only_one_to_end(
    engine: ArgumentEngine, vocabulary: Vocabulary, limits: Callable[..., None]
) -> None:
    limits(max_lexer_states=200)
    grammar, random = engine.compile(compile_schema(MANY_STATES)), Random(2)
    neighbour, heavy = grammar.matcher(), grammar.matcher()
    consumed(neighbour, vocabulary, '{"n":')
    assert all(map(heavy.accept, vocabulary.encode('{"deep": "')))
    for _ in range(2):
        with pytest.raises(EngineFailure, match="too many states"):
            consumed(heavy, vocabulary, text(random))
    consumed(neighbour, vocabulary, " 12}")
    assert neighbour.is_accepting()
    consumed(grammar.matcher(), vocabulary, '{"n": 3}')


def test_a_text_can_go_on_without_the_ids_that_were_too_much(
    engine: ArgumentEngine, vocabulary: Vocabulary, limits: Callable[..., None]
) -> None:
    limits(max_lexer_states=200)
    matcher = engine.compile(compile_schema(MANY_STATES)).matcher()
    consumed(matcher, vocabulary, '{"n": 1,')
    row, taken = np.zeros(vocabulary.words, np.int32), 0
    with pytest.raises(EngineFailure):  # noqa: PT012 - how many were taken is what is wanted
        for token in vocabulary.encode(' "deep": "' + text(Random(3))):
            assert matcher.accept(token)
            taken += 1
            matcher.fill(row)
    matcher.rollback(taken)
    consumed(matcher, vocabulary, ' "m": 2}')
    assert matcher.is_accepting()


def test_a_mask_that_takes_more_than_a_step_may_ends_its_text_at_once(
    engines: list[tuple[ArgumentEngine, Vocabulary]],
    limits: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits(step_lexer_fuel=60_000)
    engine, vocabulary = engines[1]
    grammar = engine.compile(compile_schema(MANY_STATES))
    assert isinstance(grammar, LLGuidanceGrammar)
    matcher, neighbour = grammar.matcher(), grammar.matcher()
    consumed(neighbour, vocabulary, '{"n":')
    built: list[object] = []
    build = LLGuidanceGrammar.new_lexer

    def counted(grammar: LLGuidanceGrammar) -> Any:
        built.append(grammar)
        return build(grammar)

    monkeypatch.setattr(LLGuidanceGrammar, "new_lexer", counted)
    with pytest.raises(EngineFailure, match="too many expressions"):
        consumed(matcher, vocabulary, '{"deep": "' + "".join(Random(3).choices("ab", k=200)))
    assert not built
    consumed(neighbour, vocabulary, " 12}")  # with another lexer
    assert neighbour.is_accepting()
    assert built


def test_a_large_grammar_whose_lexer_is_lost_is_renewed_before_the_next_text(
    engine: ArgumentEngine,
    vocabulary: Vocabulary,
    limits: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits(max_lexer_states=200)
    grammar = engine.compile(compile_schema(MANY_STATES))
    monkeypatch.setattr("enforcer.engines.llguidance.grammar._REBUILT", 10)
    grammar.renew()
    assert grammar.is_ready
    with pytest.raises(EngineFailure, match="too many states"):
        consumed(grammar.matcher(), vocabulary, '{"deep": "' + text(Random(2)))
    assert not grammar.is_ready
    with pytest.raises(EngineFailure, match="too many states"):
        grammar.matcher()
    grammar.renew()
    consumed(grammar.matcher(), vocabulary, '{"n": 3}')


def _timed(monkeypatch: pytest.MonkeyPatch, *milliseconds: int) -> None:
    """Let masks take so long of the processor, one after the other; the last for ever."""
    spent = [each * 1_000_000 for each in milliseconds]
    now = [0, False]

    def clock() -> int:
        now[1] = not now[1]
        if not now[1]:
            now[0] += spent.pop(0) if len(spent) > 1 else spent[0]
        return now[0]

    for name in ("thread_time_ns", "perf_counter_ns"):
        monkeypatch.setattr(f"enforcer.engines.llguidance.grammar.time.{name}", clock)


def _masks_until_it_ends(
    matcher: ArgumentMatcher, vocabulary: Vocabulary, most: int = 30
) -> int | None:
    for done, byte in enumerate(b'{"city": "' + b"x" * most):
        assert matcher.accept(byte)
        try:
            mask(matcher, vocabulary)
        except EngineFailure:
            return done
    return None


def test_a_machine_that_stood_still_ends_no_text(
    grammar: CompiledGrammar, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    _timed(monkeypatch, 0, 5_000, 0, 300, 0)
    assert _masks_until_it_ends(grammar.matcher(), vocabulary) is None


def test_a_text_of_slow_masks_is_ended(
    grammar: CompiledGrammar, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    _timed(monkeypatch, 40)
    assert _masks_until_it_ends(grammar.matcher(), vocabulary) == 3
    _timed(monkeypatch, 12)
    assert _masks_until_it_ends(grammar.matcher(), vocabulary) == 8
    _timed(monkeypatch, 5)
    assert _masks_until_it_ends(grammar.matcher(), vocabulary) is None


def test_a_long_text_may_have_more_slow_masks_than_a_short_one(
    grammar: CompiledGrammar, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grammars, "PATIENCE", 2_000_000)
    monkeypatch.setattr(grammars, "_REGAINED", 1_000_000)
    _timed(monkeypatch, 6)
    assert _masks_until_it_ends(grammar.matcher(), vocabulary, most=90) is None
    _timed(monkeypatch, 7)
    assert _masks_until_it_ends(grammar.matcher(), vocabulary, most=90) == 1
    # What fast masks have left is not saved up: slow ones end it as soon as at the beginning.
    _timed(monkeypatch, *[0] * 60, 40)
    assert _masks_until_it_ends(grammar.matcher(), vocabulary, most=90) == 60


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "is_tried"),
    [
        ({"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}, False),
        ({"properties": {"a": {"type": "string", "pattern": "^https://"}}}, True),
        ({"properties": {"a": {"type": "integer", "multipleOf": 7}}}, True),
        ({"properties": {f"name{i}": {"enum": [i]} for i in range(300)}}, True),
    ],
)
def test_what_is_plain_and_small_is_compiled_without_trying_texts(
    schema: dict[str, Any], is_tried: bool, vocabulary: Vocabulary
) -> None:
    written = LLGuidanceEngine(vocabulary).write(compile_schema({"type": "object", **schema}))
    assert bool(json.loads(written)[2:]) == is_tried


@pytest.mark.parametrize("bounds", [{}, {"minLength": 1}, {"maxLength": 30}, {"maxLength": 300}])
def test_masks_are_the_same_whichever_slices_a_grammar_is_given(
    bounds: dict[str, int],
    engines: list[tuple[ArgumentEngine, Vocabulary]],
    vocabulary: Vocabulary,
) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", **bounds}}}
    grammar = compile_schema(schema)
    bare = LLGuidanceEngine(vocabulary)
    quick, tried = (bare.read(bare.write(grammar, quick=x)) for x in (True, False))
    # Where strings end somewhere, those for strings of any length would leave all to be tried.
    assert (quick.table is tried.table) == ("maxLength" in bounds)
    for engine, known in engines:
        ways = [engine.read(engine.write(grammar, quick=x)).matcher() for x in (True, False)]
        for token_id in known.encode('{"a": "some text, \\u00e9 "}'):
            first, second = (mask(matcher, known) for matcher in ways)
            assert (first == second).all()
            assert all(matcher.accept(token_id) for matcher in ways)
