"""What is asked of a worker arrives as it was sent."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.checking import message

texts = st.text(st.characters())  # lone surrogates, line breaks and NUL among them
heads = st.dictionaries(texts, st.none() | st.booleans() | st.integers() | texts)


@pytest.mark.slow
@given(heads, texts)
def test_a_message_is_read_as_it_was_written(head: dict[str, Any], text: str) -> None:
    assert message.read(message.write(head, text)) == (head, text)
