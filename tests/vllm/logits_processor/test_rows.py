"""Masks of rows of logits."""

import time
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from enforcer.api import Enforcer
from enforcer.errors import EnforcerError
from enforcer.request import spec_text
from enforcer.vllm.logits_processor import rows
from enforcer.vllm.server import runtime
from tests import vocabularies

pytestmark = pytest.mark.slow


@given(data=st.data(), size=st.integers(1, 100))
def test_a_mask_leaves_what_its_bits_say(data: st.DataObject, size: int) -> None:
    picked = data.draw(st.lists(st.integers(0, 3), min_size=1, unique=True))
    words = -(-size // 32)
    bits = np.array(
        data.draw(
            st.lists(
                st.lists(st.integers(-(2**31), 2**31 - 1), min_size=words, max_size=words),
                min_size=len(picked),
                max_size=len(picked),
            )
        ),
        dtype=np.int32,
    )
    logits = torch.arange(4 * size, dtype=torch.float32).reshape(4, size)
    before = logits.clone()
    rows.mask(logits, picked, bits)
    for row in range(4):
        for i in range(size):
            open_ = row not in picked or bits[picked.index(row)][i // 32] >> (i % 32) & 1
            assert logits[row, i] == (before[row, i] if open_ else -torch.inf)


def text(parameters: dict[str, Any]) -> str:
    """Write a spec that has one tool."""
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    return spec_text.write([tool], "auto", True, 0)


def test_what_takes_long_is_compiled_from_the_start_on_and_not_when_a_call_begins(
    known: Any,
) -> None:
    tokenizer = known(vocabularies.small())
    written = text({"type": "object", "properties": {"a": {"not": {"type": "string"}}}})
    spec = spec_text.read(written)
    enforcer = runtime.enforcer_for(tokenizer, spec)
    (tool,) = spec.toolset.tools.values()
    turn = rows.RowTurn(tokenizer, written, [])
    begun = time.monotonic()
    while not enforcer._grammars.is_compiled(tool.arguments, enforcer.options):
        assert time.monotonic() < begun + 60
        time.sleep(0.01)
    assert turn.read == 0


@pytest.mark.parametrize("error", [EnforcerError("no"), ValueError("no"), BaseException("a panic")])
def test_whatever_a_start_raises_ends_one_turn(
    monkeypatch: Any, known: Any, error: BaseException
) -> None:
    vocabulary = vocabularies.small()
    tokenizer = known(vocabulary)
    monkeypatch.setattr(Enforcer, "start", Mock(side_effect=error))
    turn = rows.RowTurn(tokenizer, text({"type": "object"}), [])
    bitmask = np.zeros((1, vocabulary.words), dtype=np.int32)
    turn.fill(bitmask, 0)
    ends = runtime.table_for(tokenizer).turn_end_ids
    assert bitmask[0].tolist() == vocabulary.row(ends).tolist()
