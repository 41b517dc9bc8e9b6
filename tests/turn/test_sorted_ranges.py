"""The range of sorted keys that begin alike, against asking each."""

from hypothesis import given
from hypothesis import strategies as st

from enforcer.turn.sorted_ranges import alike

BYTES = st.sampled_from([0, 0x61, 0x62, 0xFE, 0xFF])
TEXTS = st.lists(BYTES, max_size=4).map(bytes)


@given(st.lists(TEXTS, max_size=12), TEXTS, st.data())
def test_ranges_hold_whole_prefixes(keys: list[bytes], prefix: bytes, data: st.DataObject) -> None:
    keys.sort()
    low = data.draw(st.integers(0, len(keys)))
    high = data.draw(st.integers(low, len(keys)))
    first, last = alike(keys, prefix, low, high)
    assert low <= first <= last <= high
    assert keys[first:last] == [key for key in keys[low:high] if key.startswith(prefix)]
