r"""Both syntaxes of patterns: alike where they share a construct, and told apart where they differ.

What Rust's patterns mean is compared with llguidance in `tests/engines/test_text_formats.py`.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.regex import RegexError, fullmatch, parse, parse_rust
from tests.languages import texts
from tests.support.cases import each_case

# Constructs of both, and of Python's `re`, that mean the same in ASCII texts without line ends.
_ATOMS = st.sampled_from(
    ["a", "b", "A", "0", ",", r"\.", r"\-", r"\x61", r"\u0062", r"\d", r"\w", r"\s", r"\D", ".",
     "[ab]", "[^ab]", "[a-c0-1]", r"[\w-]", r"[\dab,]", "[-a]", r"\t", "^", "$", "(?i:aB)",
     "(?s:.)", "(?:)", "}", "]"]
)  # fmt: skip
_COUNTS = st.sampled_from(["", "*", "+", "?", "*?", "{2}", "{1,3}", "{2,}", "{0,1}?"])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        st.builds("(?:{}|{})".format, inner, inner)
        | st.builds("{}{}".format, inner, inner)
        | st.builds("({}){}".format, inner, _COUNTS)
    )


@given(st.recursive(_ATOMS, _grown, max_leaves=8), texts("abAB01,-.\t ", 8))
def test_shared_constructs_mean_the_same(pattern: str, text: str) -> None:
    rust = parse_rust(pattern)
    assert fullmatch(rust, text) == fullmatch(parse(f"^(?:{pattern})$"), text)
    assert fullmatch(rust, text) == (re.fullmatch(pattern, text) is not None)


@each_case
def test_differences(pattern: str, ecma: bool | None, rust: bool | None) -> None:
    """None: the syntax has no such construct."""
    for build, written, holds in (
        (parse, f"^(?:{pattern})$" if ecma is not None and "(?i" not in pattern else pattern, ecma),
        (parse_rust, pattern, rust),
    ):
        if holds is None:
            with pytest.raises(RegexError):
                build(written)
        else:
            assert fullmatch(build(written), "a") == holds


@given(st.text(alphabet="ab01(){}[]|?*+^$\\.,:=!<>-&~Pdwsbxupik \n#é😀\ud800", max_size=25))
def test_any_text_parses_by_rust_or_is_refused(pattern: str) -> None:
    error = _refusal(pattern)
    if error is not None:
        assert 0 <= error.position <= len(pattern)
        assert error.reason


def _refusal(pattern: str) -> RegexError | None:
    try:
        parse_rust(pattern)
    except RegexError as error:
        return error
    return None
