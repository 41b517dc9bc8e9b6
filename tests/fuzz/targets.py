"""What is fuzzed: properties that Hypothesis draws for, or a fuzzer that follows coverage.

Owns: one property for each target, its invariant in its docstring. Must not know: what makes the
bytes that examples are drawn from.
"""

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from enforcer.errors import EnforcerError, UnsatisfiableSchema, UnsupportedSchema
from enforcer.request import carrier
from enforcer.turn.events import Happening
from enforcer.turn.parser import Parser
from tests import vocabularies
from tests.instance_strategies import instances
from tests.schema_judge import accepts, compiled, is_valid, walk
from tests.schema_strategies import schemas
from tests.vocabularies import bits, legal, row_of, write
from tests.walks import V, requests, served, step
from tests.walks import schemas as schemas_of

SEEDS = st.integers(0, 2**32)
HEADER = "<|im_user|>user<|im_middle|>Hi<|im_end|><|im_assistant|>assistant<|im_middle|>"
TAILS = [None, HEADER, HEADER + "<think>", HEADER + "<think></think>", HEADER + "Well, "]
_drawn = settings(deadline=None, suppress_health_check=list(HealthCheck))


def _prompt(tail: str | None) -> list[int] | None:
    return None if tail is None else write(V, tail)


@_drawn
@given(st.data(), schemas(), SEEDS)
def schema(data: st.DataObject, wanted: Any, seed: int) -> None:
    """Fuzz the compiler of schemas.

    Invariant: a schema is refused by name; or each text sampled from its masks is valid, each
    valid instance is accepted as Python writes it, and at every step the ids that the mask has
    are those that `accept` takes, also of a text that has had no mask before.
    """
    try:
        grammar = compiled(wanted)
    except UnsatisfiableSchema:
        return
    except UnsupportedSchema as error:
        problems = error.problems
        grammar = None
    if grammar is None:
        assert all(problem.path.startswith("$") for problem in problems)
        return
    random = Random(seed)
    text = walk(grammar, random)
    if text is not None:
        assert _judged(wanted, json.loads(text)), (text, json.dumps(wanted))
    value = data.draw(instances(wanted))
    spelled = json.dumps(value, ensure_ascii=False)
    if not _reads_otherwise(wanted, spelled) and _judged(wanted, value):
        assert accepts(grammar, spelled, random), (spelled, json.dumps(wanted))
    _agree(grammar, random)


def _judged(wanted: Any, value: Any) -> bool:
    """Ask the validator; skip an example on which it fails itself, at the end of its stack."""
    try:
        return is_valid(wanted, value)
    except (RecursionError, TypeError):
        assume(False)
    except BaseException as error:
        if "RecursionError" not in str(error):
            raise
        assume(False)
    return False


def _reads_otherwise(wanted: Any, spelled: str) -> bool:
    """Tell whether the validator and the standard may differ: see docs/schema-support.md."""
    text = json.dumps(wanted)
    odd_line = '"pattern' in text and re.search("[\r\u2028\u2029]|\\\\r", spelled)
    return bool(odd_line) or "multipleOf" in text or '"format"' in text


def _agree(grammar: Any, random: Random) -> None:
    masked, bare = grammar.matcher(), grammar.matcher()
    row = np.zeros(V.words, dtype=np.int32)
    for _ in range(24):
        masked.fill(row)
        allowed = bits(row)
        for token_id in random.choices(range(V.size), k=8):
            if token_id in V.control_ids or not V.token_bytes(token_id):
                continue
            for matcher in (masked, bare):
                taken = matcher.accept(token_id)
                assert taken == (token_id in allowed), token_id
                if taken:
                    matcher.rollback(1)
        if not allowed:
            assert masked.is_accepting()
            return
        chosen = random.choice(sorted(allowed))
        assert masked.accept(chosen)
        assert bare.accept(chosen)
        assert masked.is_accepting() == bare.is_accepting()


@_drawn
@given(st.data(), requests(), st.sampled_from(TAILS), SEEDS)
def matcher(data: st.DataObject, request: dict[str, Any], tail: str | None, seed: int) -> None:
    """Fuzz the matcher of a turn.

    Invariant: after any ids, drafts and ways back, the mask is that of a matcher which went
    straight there; an id is taken exactly if its bit is set; nothing is refused that a mask
    offered; every call that is completed is declared and valid.
    """
    prompt = _prompt(tail)
    start: Callable[[], Any] = lambda: served().matcher(**request, prompt_ids=prompt)  # noqa: E731
    mine, random = start(), Random(seed)
    ids: list[int] = []
    for event in data.draw(st.lists(st.sampled_from("ffffabd"), min_size=1, max_size=24)):
        if event == "f":
            for _ in range(random.randint(1, 12)):
                ids.append(step(mine, random, hurry=0.5))
                assert mine.accept(ids[-1])
        elif event == "a":
            token_id = data.draw(st.integers(-1, V.size))
            taken = token_id in legal(mine)
            assert mine.accept(token_id) == taken
            ids += [token_id] * taken
        elif event == "b":
            count = random.randint(0, len(ids))
            mine.rollback(count)
            del ids[len(ids) - count :]
        else:
            drafted = data.draw(st.lists(st.integers(0, V.size - 1), max_size=3))
            before = row_of(mine)
            straight = start()
            vocabularies.feed(straight, ids)
            kept = 0
            while kept < len(drafted) and straight.accept(drafted[kept]):
                kept += 1
            assert mine.validate(drafted) == kept
            assert (row_of(mine) == before).all()
    straight = start()
    vocabularies.feed(straight, ids)
    assert (row_of(mine) == row_of(straight)).all()
    assert mine.failure is None
    declared = schemas_of(request)
    for call in served().parse(ids, prompt).calls:
        jsonschema.Draft202012Validator(declared[call.name]).validate(json.loads(call.arguments))


@_drawn
@given(
    st.lists(st.integers(-2, V.size + 2) | st.sampled_from(sorted(V.control_ids)), max_size=60),
    st.sampled_from(TAILS),
    st.lists(st.integers(1, 9), min_size=1, max_size=8),
    st.none() | st.lists(st.sampled_from(["get", "a", "天气"]), max_size=2),
    st.tuples(requests(), SEEDS),
)
def parser(
    ids: list[int],
    tail: str | None,
    pieces: list[int],
    names: list[str] | None,
    sampling: tuple[dict[str, Any], int],
) -> None:
    """Fuzz the parser of replies.

    Invariant: any ids, in any pieces, are read without an error and to the same turn; no call is
    to a function outside the names; no text has a marker's id in it; and what the matcher
    allows is read without a stray id.
    """
    prompt = _prompt(tail)
    request, seed = sampling
    mine, random = served().matcher(**request, prompt_ids=prompt), Random(seed)
    sampled: list[int] = []
    for _ in range(random.randint(0, 40)):
        sampled.append(step(mine, random, hurry=0.6))
        assert mine.accept(sampled[-1])
    assert served().parse(sampled, prompt).stray is None
    for stream in (ids, [*sampled, *ids]):
        whole = served().parse(stream, prompt, names)
        if names is not None:
            assert {call.name for call in whole.calls} <= set(names)
        split = Parser(served().table, prompt, names)
        events, at = [], 0
        while at < len(stream):
            size = pieces[at % len(pieces)]
            events += split.feed(stream[at : at + size])
            at += size
        assert split.turn() == whole
        content = "".join(event.text for event in events if event.what is Happening.CONTENT)
        assert content == whole.content


_KEYS = (
    *("tools", "tool_choice", "parallel_tool_calls", "messages", "response_format", "stop"),
    *("structured_outputs", "vllm_xargs", "max_tokens", "stream", "stop_token_ids", "logit_bias"),
    *("type", "function", "name", "parameters", "strict", "role", "content", "tool_calls", "id"),
    *("json_schema", "schema", "json", "regex", "choice", "grammar", "structural_tag", "enforcer"),
    *("properties", "required", "enum", "$ref", "mode", "allowed_tools"),
)
_SCALARS = st.one_of(
    *(st.none(), st.booleans(), st.integers(-9, 10**9), st.floats(), st.text(max_size=6)),
    st.sampled_from(
        ["auto", "none", "required", "function", "user", "assistant", "tool", "off", "object", "{}"]
    ),
)
_ANYTHING = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(_KEYS) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=8,
)


@st.composite
def _bodies(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a chat request, right or with some fields that are anything."""
    request = draw(requests())
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    if request["tools"]:
        body |= {key: request[key] for key in ("tools", "tool_choice", "parallel_tool_calls")}
    for key in draw(st.lists(st.sampled_from(_KEYS[:12]), max_size=2)):
        body[key] = draw(_ANYTHING)
    if draw(st.booleans()) and body.get("tools") and isinstance(body["tools"], list):
        place = draw(st.sampled_from(["name", "parameters", "strict"]))
        first = body["tools"][0]
        if isinstance(first, dict) and isinstance(first.get("function"), dict):
            first["function"] = {**first["function"], place: draw(_ANYTHING)}
    return body


@_drawn
@given(_bodies(), SEEDS)
def http(body: dict[str, Any], seed: int) -> None:
    """Fuzz what the front end makes of a request's body, from its JSON on.

    Invariant: a body is refused as a client's mistake, or the request carries a spec whose turn
    can be started and sampled; it is never let through without one, and nothing else is raised.
    """
    pytest.importorskip("vllm", exc_type=ImportError)
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.exceptions import VLLMValidationError

    from enforcer.vllm.intake import settling
    from enforcer.vllm.replies.tool_parser import EnforcedParser
    from enforcer.vllm.server import runtime

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "table_for", lambda *_: served().table)
        try:
            request = ChatCompletionRequest.model_validate(json.loads(json.dumps(body)))
        except Exception:  # noqa: BLE001 - vLLM's own reading, which has errors of all kinds
            return
        try:
            EnforcedParser(None, request.tools).adjust_request(request)
            carried = carrier.find(request)
            assert carried is not None, "let through without a spec"
            spec = settling.admit(carried).spec
            served().check(spec)
        except (VLLMValidationError, EnforcerError) as error:
            assert str(error)  # noqa: PT017 - each is answered with HTTP 400
            return
    mine, random = served().start(spec, None), Random(seed)
    for _ in range(12):
        assert mine.accept(step(mine, random, hurry=0.6))


# What `given` makes of a function has more attributes than its type says.
TARGETS: dict[str, Any] = {"schema": schema, "matcher": matcher, "parser": parser, "http": http}
