"""vLLM's own manager of structured outputs, with the plugin: who gets which grammar."""

import threading
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from vllm.v1 import structured_output
from vllm.v1.structured_output import backend_outlines

from enforcer.errors import ConfigurationError
from enforcer.request import carrier
from enforcer.vllm.config import names
from enforcer.vllm.intake import settling
from enforcer.vllm.server import runtime
from tests.support.tools import tool
from tests.vllm_managers import OPENED, enforced, ready, request
from tests.vocabularies import write

pytestmark = pytest.mark.usefixtures("installed")

LARGE = {"type": "object", "properties": {"a": {"enum": [f"value {n}" for n in range(300)]}}}


GET = tool("get", {"type": "object"})


def opened(tokenizer: Any) -> list[int]:
    return write(runtime.enforcer_for(tokenizer).vocabulary, OPENED)


def test_a_request_with_a_spec_needs_no_backend(made: Any, tokenizer: Any) -> None:
    one = enforced("r", opened(tokenizer), [GET])
    made.grammar_init(one)
    grammar = ready(one)
    assert made.backend is None
    assert one.structured_output_request.reasoning_ended
    rows = made.grammar_bitmask({"r": one}, ["r"], {})
    assert rows.shape == (1, -(-len(tokenizer) // 32))
    assert 0 < int(np.unpackbits(rows.view(np.uint8)).sum()) < len(tokenizer)
    vocabulary = runtime.enforcer_for(tokenizer).vocabulary
    begun = [vocabulary.control("<|tool_calls_section_begin|>")]
    assert made.accept_tokens(one, begun)
    assert grammar.matcher.state == "SECTION"


@pytest.mark.parametrize("parser", ["xlam", "kimi_k2", "kimi_k2_enforced"])
def test_a_marker_can_be_spelled_only_where_ids_are_read(
    made: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch, parser: str
) -> None:
    monkeypatch.setenv(names.PARSER_VARIABLE, parser)
    one = enforced("r", opened(tokenizer), [GET])
    intake = settling.admit(carrier.find(one.sampling_params), tokenizer)
    carrier.put(one.sampling_params, intake.text, intake.digest)
    made.grammar_init(one)
    ready(one)
    spelled = [tokenizer.encode(x, add_special_tokens=False) for x in "<|tool_call_begin|>"]
    *most, last = [token for (token,) in spelled]
    assert made.accept_tokens(one, most)
    rows = made.grammar_bitmask({"r": one}, ["r"], {})
    legal = np.unpackbits(rows[0].view(np.uint8), bitorder="little")
    assert bool(legal[last]) == (parser != "xlam")  # which vLLM's parser reads as text
    assert made.accept_tokens(one, [last]) == (parser != "xlam")


def test_every_plain_request_has_the_backend_that_the_front_end_chose(
    made: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    backends = {name: Mock() for name in ("outlines", "guidance", "xgrammar")}
    for name, backend in backends.items():
        made_by = partial(lambda name, _kind, source, *_, **__: (name, source), name)
        backend.return_value.compile_grammar = made_by
    monkeypatch.setattr(structured_output, "XgrammarBackend", backends["xgrammar"])
    monkeypatch.setattr(structured_output, "GuidanceBackend", backends["guidance"])
    monkeypatch.setattr(backend_outlines, "OutlinesBackend", backends["outlines"])
    names = [*backends] * 5
    asked = []
    for at, name in enumerate(names):
        asked.append(request(f"p{at}", [1], {"regex": f"a{at}", "_backend": name}))
        asked.append(enforced(f"e{at}", opened(tokenizer), [GET]))
    for one in asked:
        made.grammar_init(one)
    got = [ready(one) for one in asked]
    assert got[::2] == [(name, f"a{at}") for at, name in enumerate(names)]
    assert all(grammar.matcher.state == "START" for grammar in got[1::2])
    assert [backend.call_count for backend in backends.values()] == [1, 1, 1]


def test_a_session_of_streamed_input_is_refused(made: Any, tokenizer: Any) -> None:
    one = enforced("r", opened(tokenizer), [GET], resumable=True)
    made.grammar_init(one)
    with pytest.raises(ConfigurationError, match="whole requests"):
        ready(one)


def test_a_request_that_has_gone_is_not_compiled_for(
    made: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tool("first", LARGE), tool("second", {**LARGE, "title": "another"})
    one = enforced("r", opened(tokenizer), [first, second])
    compiled = threading.Event()
    found = runtime.enforcer_for(tokenizer)
    read = found.engine.read

    def only_once(*args: bytes, **kwargs: Any) -> Any:
        assert not compiled.is_set()
        one.status = SimpleNamespace(value=99)
        one.is_finished = lambda: True
        compiled.set()
        return read(*args, **kwargs)

    monkeypatch.setattr(found.engine, "read", only_once)
    made.grammar_init(one)
    future = one.structured_output_request._grammar
    assert compiled.wait(60)
    with pytest.raises(BaseException):  # noqa: B017, PT011 - cancelled
        future.result(60)
    assert future.cancelled()
