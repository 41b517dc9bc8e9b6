"""Random histories through vLLM's own engine loop: drafts, late ids, preemption, failures."""

import json
import logging
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import settings

from bench.matrix import workload
from enforcer.machine.grammar import MachineGrammar
from enforcer.request import spec_text
from tests.vllm_engine import Engine, Mode, Sent, beside, drive, enforcers, is_engine

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("installed")]

MODES = {
    "plain": Mode(drafts=0, queued=False),
    "queued": Mode(drafts=0, queued=True),
    "drafts": Mode(drafts=3, queued=False),
    "drafts, queued": Mode(drafts=4, queued=True),
    "drafts by the grammar": Mode(drafts=8, queued=False, ours=True),
}
_USUAL = 60  # examples of the usual profile
_LEAST = 150  # with fewer, some turns that the test is about would often not come
REQUESTS = max(300 * settings().max_examples // _USUAL, _LEAST)
HEADER = ("<|im_user|>", "user", "<|im_middle|>", "Hi", "<|im_end|>")
TURN = ("<|im_assistant|>", "assistant", "<|im_middle|>")
THINKING = ((), ("<think>",), ("<think>", "</think>"), ("<think>", "hm"))
TEXT = (("Well, ",),)  # does not fit the format
OWN = json.dumps({"type": "object", "properties": {"a": {"enum": [1]}}})
FORMAT = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"enum": [1, 2, "three"]}}}


def prompt(random: Random, openings: Sequence[Sequence[str]]) -> list[int]:
    vocabulary = enforcers().vocabulary
    ids = []
    for piece in (*HEADER * random.randint(1, 4), *TURN, *random.choice(openings)):
        known = vocabulary.controls.get(piece)
        ids += vocabulary.encode(piece) if known is None else [known]
    return ids


def requests(random: Random, count: int) -> Iterator[Any]:
    """Draw enforced requests, and some that are constrained by vLLM or by nothing."""
    pool = [workload.tools(random) for _ in range(count // 4)]
    for at in range(count):
        kind = random.random()
        spec = constraint = None
        openings: Sequence[Sequence[str]] = THINKING + TEXT
        if kind < 0.8:
            tools = random.choice(pool) if random.random() < 0.95 else None
            choice = random.choice(["auto", "required", "required", "none"]) if tools else None
            text_format = None
            if random.random() < 0.1:
                text_format, openings = FORMAT, THINKING
            first = random.choice([0, 0, 1, 10])
            parallel = random.random() < 0.7
            spec = spec_text.write(tools, choice, parallel, first, text_format)
        elif kind < 0.9:
            constraint = {"json": OWN}
        yield Sent(f"r{at}", spec, prompt(random, openings)), random.randint(1, 90), constraint


def run(mode: Mode, seed: object, count: int, *, strict: bool = True) -> Engine:
    random = Random(f"scheduler {seed}")
    engine = Engine(mode, random, strict=strict)
    wanted = requests(random, count)

    def new() -> bool:
        one = next(wanted, None)
        if one is not None:
            engine.send(*one)
        return one is not None

    try:
        drive(engine, new, random)
    finally:
        engine.close()
    return engine


@pytest.mark.parametrize("name", MODES)
def test_what_becomes_of_a_turn_does_not_depend_on_its_drafts(
    name: str, failed: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    mode = MODES[name]
    with caplog.at_level(logging.ERROR, logger="vllm"):
        engine = run(mode, name, REQUESTS)
    assert failed == []
    enforced = [sent for sent in engine.sent.values() if sent.spec is not None]
    ended = [sent for sent in enforced if sent.finish == "stop"]
    for sent in enforced:
        fresh = sent.matcher()
        assert fresh.validate(sent.ids) == len(sent.ids), sent
        assert sent.finish in ("stop", "length", "abort"), sent
    # What the test would otherwise not have tried.
    assert len(ended) > len(enforced) // 4
    assert any(enforcers().parse(sent.ids, sent.prompt).calls for sent in ended)
    assert engine.preempted > 0
    assert engine.runner.rows > 5 * len(enforced)
    if mode.drafts:
        assert engine.runner.kept > len(enforced) // 4
        assert engine.runner.refused > len(enforced) // 4


class Panic(BaseException):
    """What a panic in Rust is raised as: no `Exception`."""


class Fault:
    """Raises when one of the argument engine's methods is called for the nth time."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, owner: type, method: str, error: BaseException
    ) -> None:
        self.calls, self.at = 0, -1
        original = getattr(owner, method)

        def called(this: Any, *args: Any) -> Any:
            if is_engine():
                self.calls += 1
                if self.calls == self.at:
                    raise error
            return original(this, *args)

        monkeypatch.setattr(owner, method, called)


class Text:
    """A text of the machine whose methods can be replaced, as those of a compiled class cannot."""

    def __init__(self, text: Any) -> None:
        self._text = self.engine = text  # `engine` is what the kernel's turn goes on with

    def __getattr__(self, name: str) -> Any:
        return getattr(self._text, name)

    def fill(self, row: Any) -> None:
        self._text.fill(row)

    def accept(self, token_id: int) -> bool:
        return bool(self._text.accept(token_id))

    def rollback(self, count: int) -> None:
        self._text.rollback(count)

    def is_accepting(self) -> bool:
        return bool(self._text.is_accepting())


PLACES = [
    (MachineGrammar, "matcher"),
    *((Text, method) for method in ("fill", "accept", "rollback", "is_accepting")),
]


@pytest.mark.parametrize("error", [RuntimeError("of a library"), Panic("panic")])
@pytest.mark.parametrize("place", PLACES, ids=[method for _, method in PLACES])
@pytest.mark.parametrize("queued", [False, True])
def test_an_engine_that_raises_ends_the_request_that_it_served(
    monkeypatch: Any, failed: list[Any], place: tuple[type, str], error: BaseException, queued: bool
) -> None:
    mode = Mode(drafts=3, queued=queued)
    start: Any = MachineGrammar.matcher
    monkeypatch.setattr(MachineGrammar, "matcher", lambda grammar: Text(start(grammar)))
    owner, method = place
    fault = Fault(monkeypatch, owner, method, error)
    # How often the engine calls depends on threads, and so do the positions that end a turn:
    # histories are drawn until one has enough calls, positions are tried until one does.
    for _ in range(20):
        fault.calls = 0
        run(mode, "faults", 24)
        if fault.calls > 5:
            break
    every, hit, raised = fault.calls, 0, 0
    assert every > 5
    for tried, share in enumerate((0.05, 0.4, 0.8, *(at / 31 for at in range(1, 31)))):
        if tried >= 3 and (hit or place[1] == "matcher"):
            break
        fault.calls, fault.at = 0, max(1, int(share * every))
        failed.clear()
        engine = run(mode, "faults", 24, strict=False)
        ended = {sent.name for sent in engine.sent.values() if sent.finish == "error"}
        # It may have been a draft's, or the request given up before it could be told.
        assert len(ended) <= 1
        assert ended <= {request_id for _, request_id, _ in failed}
        hit += len(ended)
        raised += fault.calls >= fault.at
        for name, sent in engine.sent.items():
            if sent.spec is not None and name not in ended:
                assert sent.finish in ("stop", "length", "abort"), sent
                if engine.runner.followers[name].lost and sent.finish != "abort":
                    # It was hit in the mask behind a draft that was not taken then.
                    fault.at = -1
                    assert sent.matcher().validate(sent.ids) == len(sent.ids), sent
                with beside():
                    assert sent.matcher().validate(sent.ids) == len(sent.ids), sent
    assert raised
    # What fails while it is compiled ahead of a call is compiled again by the call.
    assert hit or place[1] == "matcher"
