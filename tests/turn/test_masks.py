"""Which tokens may come where borders are spelled, and what is kept of that."""

from collections.abc import Callable
from typing import Any, Never

import pytest

import enforcer
from enforcer.request.spec import Spec
from enforcer.request.tools import parse
from enforcer.turn.matcher import Matcher
from enforcer.turn.reader import TokenReader
from tests.dialect_cases import CLOSED, TOOLS, at, knowing, opening, served, vocabulary
from tests.engine_cases import closed
from tests.support import cases
from tests.support.tools import tool
from tests.vocabularies import feed, legal, row_of, write


def test_where_text_leads_to_no_call_a_demanded_one_has_to_begin() -> None:
    matcher, find = at("llama3_json", "", tool_choice="required")
    assert find(b"x") not in legal(matcher)
    assert find(b"{") in legal(matcher)
    assert find(b"{x") not in legal(matcher)


def test_a_mask_looks_no_farther_than_tokens_reach(calls_of: Callable[..., list[Any]]) -> None:
    """Each call could be followed by another in the same token, as often as calls are allowed."""
    found = knowing("pythonic", b"a()", b"a(), a", b", a", b", a(), a(")
    many = enforcer.Enforcer(found, "pythonic", options=enforcer.Options(max_calls=5000))
    matcher = many.matcher([tool("a")])
    started = calls_of(matcher._transitions, "begin_arguments")
    for token in (b"[", b"a(), a", b"(", b")", b", a(), a(", b")"):
        token_id = many.vocabulary.find(token)
        assert token_id in legal(matcher)
        assert matcher.accept(token_id)
    assert len(started) < 60
    assert matcher.failure is None


def started(made: enforcer.Enforcer, *tools: Any, parallel: bool = True) -> Matcher:
    """Start a turn as a server does."""
    return made.start(Spec(parse([*tools], "auto", parallel), 0), None)


def two_sets(*tokens: bytes) -> list[set[bytes]]:
    """Return what may follow `[a` beside one other tool and then beside another, of one schema."""
    made = enforcer.Enforcer(knowing("pythonic", *tokens), "pythonic")
    ways = list[set[bytes]]()
    for other in "bc":
        matcher = started(made, tool("a"), tool(other))
        feed(matcher, [*b"[a"])
        ways.append({made.vocabulary.token_bytes(i) for i in legal(matcher)} & {*tokens})
    return ways


def test_tokens_over_whole_arguments_are_legal_beside_any_other_tool() -> None:
    assert two_sets(b"(x", b"()", b"(),", b"(), ", b"(]") == [{b"(x", b"()", b"(),", b"(), "}] * 2


def test_tokens_that_reach_the_next_name_are_found_for_each_set_of_tools() -> None:
    assert two_sets(b"(x", b"(), b", b"(),c", b"(), d") == [{b"(x", b"(), b"}, {b"(x", b"(),c"}]


def test_what_depends_on_names_does_so_also_where_it_was_kept() -> None:
    """A token over a whole call into the next depends on the schema of one and the name of both."""
    one, other = ({"properties": {key: {"type": "integer"}}} for key in "pq")
    tokens = [b"get()", b"get(), a", b"get(), b", b"), a", b"), b", b", a", b", b", b" a", b" b"]
    made = enforcer.Enforcer(knowing("pythonic", *tokens), "pythonic")
    ways = list[set[bytes]]()
    for schemas in ({"get": one, "a": one}, {"get": other, "a": one}, {"get": other, "b": other}):
        matcher = started(made, *(tool(name, schema) for name, schema in schemas.items()))
        feed(matcher, [*b"["])
        ways.append({made.vocabulary.token_bytes(i) for i in legal(matcher)} & {*tokens[:3]})
    assert ways == [{b"get()", b"get(), a"}, {b"get()", b"get(), a"}, {b"get()", b"get(), b"}]


ANSWER = {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["granite", "llama3_json", "pythonic", "granite_20b_fc", "hermes"])
def test_text_with_a_format_spells_no_calls(name: str) -> None:
    found, text = vocabulary(name), '{"a": "<tool_call> [get(x=1)] <function_call>"}'
    matcher = served(name).matcher([], response_format=ANSWER)
    for byte in text.encode():
        assert byte in legal(matcher)
        for token in legal(matcher):
            assert matcher.validate([token]) == 1, found.token_bytes(token)
        assert matcher.accept(byte)
    end = next(iter(matcher.envelope.table.turn_end_ids))
    assert matcher.accept(end)
    turn = served(name).parse([*text.encode(), end], names=())
    assert (turn.content, turn.calls, turn.stray) == (text, (), None)


@pytest.mark.parametrize("name", ["granite", "llama3_json", "pythonic", "qwen3_coder"])
def test_text_with_a_format_beside_calls_that_look_like_text_is_refused(name: str) -> None:
    with pytest.raises(enforcer.RequestError, match="begins with ordinary text") as caught:
        served(name).matcher(TOOLS, response_format=ANSWER)
    assert caught.value.path == "$.response_format"
    served(name).matcher(TOOLS, "none", response_format=ANSWER)


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        *(("kimi_k3", "<|close|>"), ("mistral", "[TOOL_CALLS]")),
        ("deepseek_v3", "<｜tool▁calls▁begin｜>"),
    ],
)
def test_text_with_a_format_or_calls_where_tokens_tell_them_apart(name: str, begin: str) -> None:
    matcher = served(name).matcher(TOOLS, response_format=ANSWER)
    assert ord("{") in legal(matcher)
    assert ord("x") not in legal(matcher)
    assert vocabulary(name).control(begin) in legal(matcher)
    feed(matcher, list(b'{"a": 1'))
    for control in vocabulary(name).controls.values():  # drafts are accepted without a mask
        assert control not in legal(matcher)
        assert not matcher.accept(control)
    feed(matcher, list(b"}"))
    assert any(matcher.accept(control) for control in vocabulary(name).controls.values())


def regex(pattern: str) -> dict[str, Any]:
    return {"type": "regex", "regex": pattern}


SILENCE = "<|open|>response<|sep|>{}<|close|>response<|sep|>"
REST = "<|close|>message<|sep|><|end_of_msg|>"


def silent(said: str, text_format: dict[str, Any] | None, choice: str, **options: Any) -> Any:
    """Give a turn of Kimi K3's behind a response of white space, every id of it in its mask."""
    made = enforcer.Enforcer(
        vocabulary("kimi_k3"), "kimi_k3", options=enforcer.Options(max_calls=3, **options)
    )
    found = made.matcher(TOOLS, choice, prompt_ids=opening("kimi_k3"), response_format=text_format)
    for token in write(vocabulary("kimi_k3"), SILENCE.format(said)):
        if token not in legal(found):
            assert not found.accept(token)
            return None
        assert found.accept(token)
    assert found.state == "SAID_NOTHING"
    return found


def ways(found: Any) -> set[str]:
    return {vocabulary("kimi_k3").token_bytes(token).decode() for token in legal(found)}


FITTED: list[tuple[str, dict[str, Any]]] = [
    *(("", regex(".*")), ("", regex(" ?(yes)?")), (" ", regex(" ?(yes)?"))),
    ("", {"type": "choice", "choice": ["", "yes"]}),
    ("", {"type": "grammar", "grammar": 'start: "x"?'}),
]
UNFITTED: list[dict[str, Any]] = [
    *(regex("yes"), regex(" (yes)?"), {"type": "choice", "choice": [" ", "yes"]}),
    {"type": "grammar", "grammar": 'start: "x"'},
]


@pytest.mark.parametrize(("said", "text_format"), FITTED)
@pytest.mark.parametrize("choice", ["none", "auto"])
def test_an_empty_response_that_fits(said: str, text_format: dict[str, Any], choice: str) -> None:
    found = silent(said, text_format, choice)
    assert ways(found) == {"<|close|>"} | ({"<|open|>"} if choice == "auto" else set())
    rest = write(vocabulary("kimi_k3"), REST)
    assert found.validate(rest) == len(rest)
    for token in rest:
        assert token in legal(found)
        feed(found, [token])
    assert (found.state, found.failure) == ("END", None)
    found.rollback(len(rest))
    assert found.validate(rest) == len(rest)
    whole = write(vocabulary("kimi_k3"), SILENCE.format(said) + REST)
    for names in ((), None):
        turn = served("kimi_k3").parse(whole, opening("kimi_k3"), names=names)
        assert (turn.content, turn.calls, turn.ended, turn.stray) == (said, (), True, None)


@pytest.mark.slow
@pytest.mark.parametrize("allow_empty_turns", [False, True])
@pytest.mark.parametrize("text_format", UNFITTED)
def test_empty_response_before_calls(text_format: dict[str, Any], allow_empty_turns: bool) -> None:
    options = {"allow_empty_turns": allow_empty_turns}
    assert ways(silent("", text_format, "auto", **options)) == {"<|open|>"}
    assert silent("", text_format, "none", **options) is None
    assert silent(" ", regex(" ?yes"), "auto", **options) is None


def test_a_response_without_a_word_is_no_end_where_a_call_is_demanded_or_text_is_free() -> None:
    for _, text_format in FITTED:
        assert ways(silent("", text_format, "required")) == {"<|open|>"}
    for said in ("", " "):
        assert ways(silent(said, None, "auto")) == {"<|open|>"}
        assert silent(said, None, "none") is None
        assert ways(silent(said, None, "auto", allow_empty_turns=True)) == {"<|open|>", "<|close|>"}


def broken(matcher: Matcher, only: set[str]) -> Matcher:
    """Let the arguments of some tools fail to start."""
    start = matcher._transitions._arguments

    def refuses(name: str) -> Any:
        if name in only:
            raise enforcer.EnforcerError("a limit of the engine")
        return start(name)

    matcher._transitions._arguments = refuses
    return matcher


@pytest.mark.parametrize(
    ("name", "text"), cases.params("turn/cases/whole_calls.toml", "format, text")
)
def test_arguments_that_cannot_be_followed_are_no_call(name: str, text: str) -> None:
    matcher = broken(served(name).matcher(TOOLS), {"get"})
    for token in write(vocabulary(name), text):
        allowed = legal(matcher)
        accepted = matcher.accept(token)
        assert accepted == (token in allowed)
        if not accepted:
            break
    assert matcher.position.calls == 0
    assert not accepted
    # Whatever the mask permits, a call to it is never completed.
    ends = matcher.envelope.table.turn_end_ids
    assert matcher.failure is None or legal(matcher) == set(ends)


def test_a_text_that_was_left_for_one_that_fails_goes_back_to_where_it_stood() -> None:
    """Two calls in one token, of which the second cannot be started."""
    both = enforcer.Enforcer(knowing("pythonic", b"), a("), "pythonic")
    matcher = broken(both.matcher([TOOLS[0], tool("a", CLOSED)]), {"a"})
    feed(matcher, list(b"[get(a=1"))
    before = row_of(matcher)
    assert matcher.accept(both.vocabulary.find(b"), a("))
    assert matcher.failure is not None
    matcher.rollback(1)
    assert matcher.failure is None
    assert (row_of(matcher) == before).all()
    feed(matcher, list(b"2)]"))
    assert matcher.state == "CLOSED"


@pytest.mark.parametrize("keys", [("x", "y"), ("y", "x")])
def test_masks_of_one_tool_are_not_shared_with_another_next_schema(keys: tuple[str, str]) -> None:
    """A token from the end of one header, over a whole call, into the arguments of the next."""
    long = [b"(), b(x", b"), b(x", b"(), b(y", b"), b(y"]
    parts = [b", b(x", b" b(x", b"(x", b", b(y", b" b(y", b"(y"]
    both = enforcer.Enforcer(knowing("pythonic", *long, *parts), "pythonic")
    for key in keys:
        own = closed({key: {"type": "integer"}})
        crossing = {both.vocabulary.find(token) for token in long}
        for _ in range(3):
            matcher = started(both, tool("a", CLOSED), tool("b", own), tool("c", CLOSED))
            # Behind a call to the first, the second may use what was asked for the first.
            for text, token in (("[c", "(), b("), ("(), a", "(), b("), ("(", "), b(")):
                feed(matcher, list(text.encode()))
                masked = legal(matcher) & crossing
                assert masked == {i for i in crossing if matcher.validate([i])}
                assert masked == {both.vocabulary.find(f"{token}{key}".encode())}


@pytest.mark.parametrize("name", ["pythonic", "llama3_json", "granite", "hermes"])
def test_the_first_mask_is_computed_at_the_start_where_it_depends_on_tools(name: str) -> None:
    matcher = served(name).matcher(TOOLS)
    shared = matcher.position.shared
    assert shared.row is not None or shared.kept is not None
    first = row_of(matcher)
    shared.kept = shared.row = None
    matcher.envelope.table.around.rows.clear()
    assert (row_of(matcher) == first).all()
    matcher.begin()
    assert matcher.accept(ord("x"))
    behind = row_of(matcher)
    assert (behind != first).any()
    matcher.begin()
    assert (row_of(matcher) == behind).all()
    matcher.rollback(1)
    assert (row_of(matcher) == first).all()


def test_what_fails_at_the_start_closes_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Never:
        raise enforcer.EnforcerError("a limit")

    monkeypatch.setattr("enforcer.turn.reader.TokenReader.fill", fails)
    matcher = enforcer.Enforcer(vocabulary("pythonic"), "pythonic").matcher(TOOLS)
    assert "a limit" in str(matcher.failure)
    assert legal(matcher) == set(matcher.envelope.table.turn_end_ids)


@pytest.mark.parametrize("name", ["pythonic", "llama3_json"])
def test_masks_between_texts_are_kept_by_tools(
    name: str, calls_of: Callable[..., list[Any]]
) -> None:
    fresh = enforcer.Enforcer(vocabulary(name), name)
    computed = calls_of(TokenReader, "made")
    spec, rows, counts = Spec(parse(TOOLS, "auto", True), 0), [], []
    for _ in range(2):
        computed.clear()
        rows.append(row_of(fresh.start(spec, None)))
        counts.append(len(computed))
    assert (rows[0] == rows[1]).all()
    assert counts[0] > 0 == counts[1]
    assert fresh.table.alike.weight > 0


def test_what_is_kept_for_all_requests_is_not_what_depends_on_names_or_on_what_is_open() -> None:
    """Requests by turns, with tokens that end a header, a call, or both, and may begin the next."""
    long = [b"()", b"(), b", b"), b", b"(), ", b"), ", b"(),\n", b"()]", b")]"]
    many = enforcer.Enforcer(knowing("pythonic", *long, b", b", b" b", b",\n"), "pythonic")
    crossing = {token: many.vocabulary.find(token) for token in long}
    permitted: dict[tuple[str, bool], set[bytes]] = {}
    for _ in range(2):
        for other, parallel in (("b", True), ("c", True), ("b", False), ("c", False)):
            tools = tool("a", CLOSED), tool(other, CLOSED)
            matcher = started(many, *tools, parallel=parallel)
            masked: set[bytes] = set()
            for text in ("[a", "("):
                feed(matcher, list(text.encode()))
                mask = legal(matcher)
                now = {token for token, i in crossing.items() if i in mask}
                assert now == {token for token, i in crossing.items() if matcher.validate([i])}
                masked |= now
            assert permitted.setdefault((other, parallel), masked) == masked
    assert permitted["b", True] == set(long)
    assert permitted["c", True] == set(long) - {b"(), b", b"), b"}
    assert permitted["b", False] == permitted["c", False] == {b"()", b"()]", b")]"}


def test_a_call_in_one_token_is_read_by_each_requests_own_schema() -> None:
    """A header, whole arguments, and the border behind them: both ends are of no text."""
    found = vocabulary("mistral")
    whole = found.find(b"{}")
    both = enforcer.Enforcer(found, "mistral")
    needed = closed({"x": {"type": "integer"}}, "x")
    for schema in (CLOSED, needed, CLOSED):
        for _ in range(2):
            matcher = started(both, tool("get", schema))
            feed(matcher, write(found, "[TOOL_CALLS]get"))
            assert (whole in legal(matcher)) == (schema is not needed)
            assert matcher.accept(whole) == (schema is not needed)
