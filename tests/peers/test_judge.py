"""The judge, of engines that are wrong in one way each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from bench.peers import worker
from bench.peers.cases import Case
from bench.peers.engines import RefusedError
from bench.peers.judge import Verdict, judge
from tests.vocabularies import small

if TYPE_CHECKING:
    from numpy.typing import NDArray


V = small()
CASE = Case(
    "case",
    {"type": "object"},
    ('{"a": 1, "b": 2}',),
    ('{"a": "x"}', "{"),
    (('{"b": 2, "a": 1}', True), ('{"a": "x"}', False)),
)
RIGHT = frozenset(('{"a": 1, "b": 2}', '{"b": 2, "a": 1}'))
ALL = RIGHT | {'{"a": "x"}', "{"}


class Fake:
    """An engine that takes some texts, and is its own grammar and matcher."""

    unenforced = ()

    def __init__(
        self,
        texts: frozenset[str] | set[str],
        *,
        masks: frozenset[Any] | None = None,
        ends: bool = True,
        refuses: bool = False,
        crashes: bool = False,
    ) -> None:
        self.texts, self.ends, self.masks = texts, ends, texts if masks is None else masks
        self.refuses, self.crashes = refuses, crashes
        self.text = b""

    def compile(self, _: dict[str, Any]) -> Fake:
        if self.refuses:
            raise RefusedError("not this one")
        return self

    def matcher(self) -> Fake:
        self.text = b""
        return self

    def _begin(self, texts: frozenset[str] | set[str], token_id: int) -> bool:
        said = self.text + V.token_bytes(token_id)
        return any(text.encode().startswith(said) for text in texts)

    def fill(self, row: NDArray[np.int32]) -> None:
        ids = [i for i in range(V.size) if V.token_bytes(i) and self._begin(self.masks, i)]
        row[:] = V.row(ids) if ids else np.zeros_like(row)

    def accept(self, token_id: int) -> bool:
        if self.crashes:
            raise MemoryError("too much")
        if not self._begin(self.texts, token_id):
            return False
        self.text += V.token_bytes(token_id)
        return True

    def is_accepting(self) -> bool:
        return self.ends and self.text.decode() in self.texts


@pytest.mark.parametrize(
    ("engine", "verdict"),
    [
        (Fake(RIGHT), Verdict.RIGHT),
        (Fake(ALL), Verdict.WRONG_ACCEPT),
        (Fake(frozenset()), Verdict.WRONG_REJECT),
        (Fake({'{"b": 2, "a": 1}'}), Verdict.WRONG_REJECT),
        (Fake(RIGHT, ends=False), Verdict.WRONG_REJECT),
        # It accepts what no mask of its has: a sampler would never come there.
        (Fake(RIGHT, masks=frozenset()), Verdict.WRONG_REJECT),
        # What is wrong both ways counts as the worse.
        (Fake({'{"a": "x"}'}), Verdict.WRONG_ACCEPT),
        (Fake(RIGHT, refuses=True), Verdict.REFUSED),
    ],
)
def test_a_verdict(engine: Fake, verdict: Verdict) -> None:
    assert judge(engine, V, CASE).verdict is verdict


def test_the_order_of_properties_is_counted_by_itself() -> None:
    in_order = judge(Fake({'{"a": 1, "b": 2}'}), V, CASE)
    assert (in_order.verdict, in_order.in_any_order) == (Verdict.RIGHT, False)
    assert judge(Fake(RIGHT), V, CASE).in_any_order


def test_a_wrong_accept_tells_the_text() -> None:
    assert judge(Fake(ALL), V, CASE).detail in CASE.invalid


def test_each_mask_after_the_first_has_a_time() -> None:
    outcome = judge(Fake(RIGHT), V, CASE)
    assert len(outcome.masks) == len(V.encode(CASE.valid[0]))
    assert outcome.first_mask > 0
    assert all(seconds >= 0 for seconds in outcome.masks)


def test_a_crash_is_no_refusal() -> None:
    with pytest.raises(MemoryError):
        judge(Fake(RIGHT, crashes=True), V, CASE)
    found = worker.outcome(Fake(RIGHT, crashes=True), V, CASE)
    assert found["verdict"] == "crashed"
    assert "too much" in found["detail"]


def test_an_outcome_goes_through_a_pipe() -> None:
    assert json.loads(json.dumps(worker.outcome(Fake(RIGHT), V, CASE)))["verdict"] == "right"
