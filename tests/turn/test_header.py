"""Headers: exactly the strings that are allowed, in any split into tokens."""

from hypothesis import given
from hypothesis import strategies as st

from enforcer.turn import dialects
from enforcer.turn.header import HeaderForm, HeaderNode, HeaderTrie
from tests.vocabularies import small, splits

V = small()
KIMI = dialects.load("kimi_k2")


def around(index: int) -> tuple[str, str]:
    return "functions.", f":{index}"


FORM = HeaderForm(around, V)
NAMES = st.lists(
    # Short names over few letters, so that many are prefixes of one another.
    st.one_of(
        st.text(alphabet="ab", min_size=1, max_size=4),
        st.sampled_from(
            ["get", "get_", "get_weather", "functions.get", "é", "日", "日本", "a/b-c.d"]
        ),
    ),
    unique=True,
    max_size=6,
).map(tuple)


def walk(trie: HeaderTrie, ids: list[int]) -> HeaderNode | None:
    node = trie.root
    for token_id in ids:
        node = node.advance(token_id)
        if node is None:
            return None
    return node


@given(NAMES, st.integers(0, 120), st.data())
def test_masks_lead_to_a_header(names: tuple[str, ...], index: int, data: st.DataObject) -> None:
    trie = HeaderTrie(FORM, names, (index,))
    headers = [KIMI.header_text(name, index).encode() for name in names]
    node, read = trie.root, b""
    while True:
        expected = {
            i
            for i in range(V.size)
            if i not in V.control_ids
            and (token := V.token_bytes(i))
            and any(header.startswith(read + token) for header in headers)
        }
        assert {i for i in range(V.size) if node.advance(i) is not None} == expected
        assert (node.name is not None) == (read in headers)
        if not expected:
            break
        token_id = data.draw(st.sampled_from(sorted(expected)))
        node, read = node.advance(token_id), read + V.token_bytes(token_id)
    if names:
        assert KIMI.header_text(node.name, index).encode() == read


@given(NAMES.filter(bool), st.integers(0, 10**6), st.data())
def test_any_header_split_is_read(names: tuple[str, ...], index: int, data: st.DataObject) -> None:
    trie = HeaderTrie(FORM, names, (index,))
    name = data.draw(st.sampled_from(names))
    assert walk(trie, data.draw(splits(V, KIMI.header_text(name, index)))).name == name


def test_control_ids_are_no_text_even_where_their_names_would_fit() -> None:
    trie = HeaderTrie(FORM, ("a",), (0,))
    trie.texts = [b"<|tool_call_end|>"]
    control, text = V.control("<|tool_call_end|>"), V.encode("<|tool_call_end|>")
    assert trie.root.advance(control) is None
    assert walk(trie, text).depth == len(b"<|tool_call_end|>")


def test_nodes_are_shared() -> None:
    trie = HeaderTrie(FORM, ("ab", "ac"), (0,))
    whole, by_bytes = V.encode("functions."), list(b"functions.")
    assert len(whole) < len(by_bytes)
    assert walk(trie, whole) is walk(trie, by_bytes)
