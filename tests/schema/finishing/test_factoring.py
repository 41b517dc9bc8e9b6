from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from enforcer.schema.finishing.factoring import factored, nested

CONDITIONS = "abcdef"
_terms = st.lists(st.frozensets(st.sampled_from(CONDITIONS), max_size=4), min_size=1, max_size=9)


def holds(expression: str, values: dict[str, Any]) -> bool:
    """Evaluate an expression, which Python reads once its operators are functions."""
    if not expression:
        return True
    for name in ("and", "or"):
        expression = expression.replace(f"{name}(", f"{name}_(")
    functions = {"and_": lambda a, b: a and b, "or_": lambda a, b: a or b}
    return bool(eval(expression, functions, values))  # noqa: S307 - our own text


@given(_terms)
def test_it_says_what_the_terms_say(terms: list[frozenset[str]]) -> None:
    expression = factored(terms)
    for chosen in product([False, True], repeat=len(CONDITIONS)):
        values = dict(zip(CONDITIONS, chosen, strict=True))
        assert holds(expression, values) == any(all(values[x] for x in term) for term in terms)


def test_a_product_that_was_multiplied_out_comes_back() -> None:
    sums = [[f"{letter}{i}" for letter in "xyz"] for i in range(6)]
    expression = factored(map(frozenset, product(*sums)))
    assert sum(expression.count(each) for part in sums for each in part) == 18


def test_what_always_holds_needs_no_condition() -> None:
    assert factored([frozenset("a"), frozenset()]) == ""
    assert nested("and", ["", "a"]) == "a"
    assert nested("or", ["", "a"]) == ""
    assert nested("and", []) == ""
