"""What a process has once."""

import json
import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import ANY, Mock

import numpy as np
import pytest

from enforcer import engines
from enforcer.cache import Cache
from enforcer.checking import pool as pools
from enforcer.checking.process import Forker
from enforcer.errors import ConfigurationError
from enforcer.request import spec as specs
from enforcer.request import spec_text
from enforcer.request.options import Options
from enforcer.schema.bundling import Documents
from enforcer.turn.table import Table
from enforcer.vllm.server import runtime, served_model
from enforcer.vocabulary import Vocabulary
from tests import checking_cases, vocabularies
from tests.spec_cases import settled as settle

TOOL = {"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "_known", {})
    monkeypatch.setattr(runtime, "kept", cache(lambda: Cache(1 << 20)))


@pytest.fixture
def tokenizers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Give what reads tokenizers, each time anew, and counts it."""
    read = []

    def from_transformers(tokenizer: list[str]) -> Vocabulary:
        read.append(tokenizer)
        like = vocabularies.small() if tokenizer != ["other"] else vocabularies.small("[BOS]")
        tokens = [like.token_bytes(at) for at in range(like.size)]
        return Vocabulary(tokens, like.controls)

    monkeypatch.setattr(Vocabulary, "from_transformers", from_transformers)
    return read


def test_replies_are_read_without_an_engine(tokenizers: list[Any], monkeypatch: Any) -> None:
    monkeypatch.setattr(engines, "load", Mock(side_effect=AssertionError("an engine was built")))
    tokenizer = ["one"]
    table = runtime.table_for(tokenizer)
    assert runtime.table_for(tokenizer) is table
    assert len(tokenizers) == 1


def test_two_tokenizers_with_the_same_ids_share_all_that_is_built(tokenizers: list[Any]) -> None:
    one, same, other = ["one"], ["one"], ["other"]
    enforcer = runtime.enforcer_for(one)
    assert runtime.enforcer_for(same) is enforcer
    assert runtime.table_for(same) is runtime.table_for(one)
    assert runtime.enforcer_for(other) is not enforcer
    assert tokenizers == [one, same, other]


def test_embedding_ids_are_extra(tokenizers: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from vllm.renderers import chat_utils

    known = vocabularies.small()
    tokens = [known.token_bytes(at) for at in range(known.size)]
    name = chat_utils.PROMPT_EMBEDS_PLACEHOLDER_TOKEN
    added = Vocabulary([*tokens, name.encode()], {**known.controls, name: known.size})
    enforcer = runtime.enforcer_for(["one"])
    monkeypatch.setattr(Vocabulary, "from_transformers", lambda _: added)
    assert runtime.enforcer_for(["with embeddings"]) is enforcer
    assert tokenizers == [["one"]]


CALL = vocabularies.call("get", 0, "{}")
SECTION = "<|tool_calls_section_begin|>"


def _settled(engine: str = "machine", tool: Any = TOOL, **options: Any) -> specs.Spec:
    settled = specs.Settled("kimi_k2", engine, Options(**options))
    return spec_text.read(settle(spec_text.write([tool], "auto", True, 0), settled))


def test_a_turn_runs_with_settings_and_no_environment(tokenizers: list[Any], use: Any) -> None:
    use(engine="outlines-core")
    spec = _settled(max_calls=1)
    enforcer = runtime.enforcer_for(["one"], spec)
    assert enforcer.engine.name == "machine"
    matcher = enforcer.start(spec, None)
    assert len(tokenizers) == 1
    call = vocabularies.write(enforcer.vocabulary, SECTION + CALL)
    assert matcher.validate(call) == len(call)
    vocabularies.feed(matcher, call)
    # The one call was it.
    assert not matcher.accept(enforcer.vocabulary.control("<|tool_call_begin|>"))


def test_an_engine_of_another_release_is_refused_in_words(tokenizers: list[Any]) -> None:
    with pytest.raises(ConfigurationError, match=r"'engine-of-2027'.*the same version"):
        runtime.enforcer_for(["one"], _settled("engine-of-2027"))
    assert len(tokenizers) == 0


def test_a_forked_child_begins_anew() -> None:
    pool = runtime.pool()
    read, write = os.pipe()
    runtime._building.acquire()  # as another thread of the parent's may hold it
    try:
        if not (child := os.fork()):
            ok = runtime.pool() is not pool and not runtime._building.locked()
            os.write(write, b"y" if ok else b"n")
            os._exit(0)
    finally:
        runtime._building.release()
    os.waitpid(child, 0)
    assert os.read(read, 1) == b"y"
    assert runtime.pool() is pool


CITY = "https://schemas.example.com/city"
REFERS = json.dumps({"$ref": CITY})


@pytest.fixture
def provided(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, use: Any) -> Callable[..., None]:
    """Give what says where documents are, once it has written one."""
    monkeypatch.setattr(runtime, "documents", cache(runtime.documents.__wrapped__))

    def provide(text: str) -> None:
        (tmp_path / "city.json").write_text(text)
        use(documents=str(tmp_path))

    return provide


def test_documents_are_put_in_and_what_comes_of_it_is_kept(provided: Any, monkeypatch: Any) -> None:
    provided(json.dumps({"$id": CITY, "const": "Rome"}))
    bundled = runtime.bundle(REFERS)
    assert json.loads(bundled)["$defs"] == {CITY: {"$id": CITY, "const": "Rome"}}
    monkeypatch.setattr(Documents, "bundle", None)  # is not asked again
    assert runtime.bundle(REFERS) == bundled


def test_without_documents_a_schema_is_what_it_is() -> None:
    assert runtime.bundle(REFERS) is REFERS
    assert len(runtime.kept()) == 0


def test_broken_documents_end_startup(provided: Any, tokenizers: list[Any], tmp_path: Path) -> None:
    provided("{")
    with pytest.raises(ConfigurationError, match=f"{tmp_path}.city.json is not JSON"):
        runtime.warm(["one"])
    assert tokenizers


def test_workers_are_ready_for_what_may_be_asked(tokenizers: list[Any], monkeypatch: Any) -> None:
    runtime.table_for(["one"])
    pool = runtime.pool.__wrapped__()
    forker = Mock()
    monkeypatch.setattr(pools, "Forker", forker)
    pool._fork()
    forker.assert_called_once_with("machine", ANY, "kimi_k2", modules=())
    assert tokenizers


def test_warm_servers_build_nothing(tokenizers: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A server is healthy only after that, in its front end as in its engine."""
    monkeypatch.setattr(runtime, "pool", cache(runtime.pool.__wrapped__))
    tokenizer = ["one"]
    runtime.warm(tokenizer)
    host = runtime.enforcer_for(tokenizer)
    host.warm()
    pool, patience = runtime.pool(), time.monotonic() + 60
    while pool._forker is None:  # a thread of its own starts it
        assert time.monotonic() < patience
        time.sleep(0.01)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("built after the server was healthy")

    monkeypatch.setattr(engines, "load", refuse)
    for built in (Table, Forker, Documents):
        monkeypatch.setattr(built, "__init__", refuse)
    pattern = {"properties": {"v": {"type": "string", "pattern": "^a{3}$"}}, "required": ["v"]}
    assert pool.check(checking_cases.check(pattern)).error is None
    tool = {"type": "function", "function": {"name": "get", "parameters": pattern}}
    spec = _settled(tool=tool)
    matcher = runtime.enforcer_for(tokenizer, spec).start(spec, None)
    row = np.zeros((1, host.vocabulary.words), dtype=np.int32)
    call = SECTION + vocabularies.call("get", 0, '{"v":"aaa"}')
    for token_id in vocabularies.write(host.vocabulary, call):
        matcher.fill(row)
        assert matcher.accept(token_id)
    assert len(tokenizers) == 1


@pytest.mark.parametrize("ours", [True, False])
def test_a_server_of_ours_does_not_start_with_an_engine_that_cannot_follow_its_format(
    ours: bool, monkeypatch: Any, use: Any
) -> None:
    use(engine="xgrammar")
    table = Mock(dialect=Mock(is_simple=True))
    table.refuse_engine.side_effect = ConfigurationError("the engine xgrammar cannot tell")
    monkeypatch.setattr(runtime, "table_for", lambda _: table)
    monkeypatch.setattr(runtime, "pool", Mock)
    monkeypatch.setattr(served_model, "has_our_parser", lambda: ours)
    refused = pytest.raises(ConfigurationError, match="cannot tell") if ours else nullcontext()
    with refused:
        runtime.warm(["one"])
