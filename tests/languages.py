"""Draws patterns that ECMA-262 and Python's `re` share, texts near them, and languages.

And what an automaton accepts of a text.
"""

from typing import Any

from hypothesis import strategies as st

from enforcer.regex import ANY, both, either, inverse, length, literal, parse
from enforcer.regex.syntax import Explored

# Both readings agree on each of these; the second set adds characters on which they differ.
PLAIN = "abAB01_- .,\t\x1b\x7f€😀"
SHARP = PLAIN + "\n\r\u2028é٣\u00a0\ufeff\x1c"

_atoms = st.sampled_from(
    ["a", "b", "0", "_", " ", ",", "-", ".", r"\.", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S",
     "[ab]", "[^ab]", "[a-b0-1]", r"[\w-]", r"[^\s,]", r"[\s\S]", "€", "😀", r"\x61", r"\u0062",
     "ab", "a.b"]
)  # fmt: skip
_quantifiers = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?"])
_edges = st.sampled_from(["^", "$", r"\b", r"\B"])


def _quantified(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(inner, _quantifiers).map(lambda t: f"(?:{t[0]}){t[1]}")


def _composed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        _quantified(inner),
    )


plain_patterns = st.recursive(_atoms, _composed, max_leaves=6)


def _asserting(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    looks = st.tuples(st.sampled_from(["(?=%s)", "(?!%s)"]), inner).map(lambda t: t[0] % t[1])
    behind = st.tuples(
        st.sampled_from(["(?<=%s)", "(?<!%s)"]), st.sampled_from(["a", "[ab]", r"\w", r"\s"])
    ).map(lambda t: t[0] % t[1])
    return st.one_of(
        st.lists(st.one_of(inner, _edges, looks, behind), min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["", "?", "{2}", "{1,3}"])).map(
            lambda t: f"(?:{t[0]}){t[1]}"
        ),
    )


asserting_patterns = st.recursive(plain_patterns, _asserting, max_leaves=4)


# Assertions inside loops; lookbehinds of several characters.
looping_patterns = st.builds(
    "{}(?:{}){}{}".format,
    st.sampled_from(["", "^", "a", "(?<=ab)", "(?<!a0)"]),
    asserting_patterns,
    st.sampled_from(["*", "+", "{2,}", "*?"]),
    st.sampled_from(["", "$", "b", r"\b", "(?<=a,)", "(?<!ab)$"]),
)


def texts(alphabet: str = PLAIN, max_size: int = 6) -> st.SearchStrategy[Any]:
    return st.text(alphabet=alphabet, max_size=max_size)


languages = st.recursive(
    st.one_of(
        plain_patterns.map(lambda p: parse(f"^(?:{p})$")),
        texts(max_size=3).map(literal),
        st.tuples(st.integers(0, 3), st.integers(0, 4)).map(lambda t: length(t[0], t[0] + t[1])),
        st.just(ANY),
    ),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: both(*parts)),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: either(*parts)),
        inner.map(inverse),
    ),
    max_leaves=5,
)


def accepted(found: Explored, text: str) -> int:
    """Return a bit for each language of an automaton that has a text."""
    state = 0
    for char in text:
        atom = next(i for i, each in enumerate(found.atoms) if char in each)
        state = found.rows[state][atom] if state >= 0 else -1
    return 0 if state < 0 else found.accepts[state]
