"""The mutation command: what it changes, and what it leaves alone."""

from random import Random

import pytest

pytest.importorskip("cosmic_ray", reason="needs the dependency group `mutants`")

from cosmic_ray.mutating import mutate_code

from tests.mutants.__main__ import mirror
from tests.mutants.mutants import ROOT, Site, mutant, mutants, sites
from tests.mutants.operators import RemoveStatement, SwapBuiltin

MODULE = "enforcer/schema/algebra/arrays.py"


@pytest.mark.parametrize("operator", [RemoveStatement, SwapBuiltin])
def test_operators_do_as_their_examples_say(operator: type[RemoveStatement | SwapBuiltin]) -> None:
    for example in operator.examples():
        assert mutate_code(example.pre_mutation_code, operator(), 0) == example.post_mutation_code


@pytest.mark.parametrize("source", ["x = 1\n", '"""Text."""\n', "y = x.any\n", "return f(x)\n"])
def test_operators_of_our_own_leave_others_alone(source: str) -> None:
    assert mutate_code(source, RemoveStatement(), 0) is None
    assert mutate_code(source, SwapBuiltin(), 0) is None


@pytest.mark.slow
def test_a_seed_chooses_the_same_changes_and_each_changes_something() -> None:
    places = sites(MODULE)
    one, other = ([site.mutant(Random(7)) for site in places] for _ in range(2))
    assert one == other
    found = [each for each in one if each is not None]
    assert len(found) > 0.9 * len(places) > 30
    source = (ROOT / MODULE).read_text(encoding="utf-8")
    for each in found:
        assert each.code != source
        assert each.before != each.after
        assert source.splitlines()[each.line - 1].strip() == each.before.split("\n")[0]


@pytest.mark.slow
def test_every_place_comes_once_and_then_no_more() -> None:
    found = list(mutants([MODULE], Random(3)))
    assert len(found) <= len(sites(MODULE)) < len(found) * 1.1
    assert found != list(mutants([MODULE], Random(4)))


def test_types_decorators_and_bounds_are_left_alone() -> None:
    for path in (MODULE, "enforcer/schema/lowering/arrays.py"):
        source = (ROOT / path).read_text(encoding="utf-8").splitlines()
        changed = {source[site.position[0] - 1] for site in sites(path)}
        assert not any("->" in line and "lambda" not in line for line in changed)
        assert not any(line.startswith(("@", "_FEW", "_MOST", "if TYPE")) for line in changed)


def test_the_lines_that_differ_are_named() -> None:
    found = mutant("x.py", "a = 1\nb = 2\nc = 3\n", "a = 1\nb = 5\nc = 3\n")
    assert (found.line, found.before, found.after) == (2, "b = 2", "b = 5")


def test_what_python_warns_of_is_no_mutant() -> None:
    (site,) = [
        each
        for each in sites("enforcer/request/history.py")
        if any("Eq_Is" in type(operator).__name__ for operator, _ in each.ways)
    ][:1]
    ways = tuple(way for way in site.ways if type(way[0]).__name__.endswith("Eq_Is"))
    assert Site(site.path, site.position, ways).mutant(Random(0)) is None


def test_a_module_has_tests_of_its_own() -> None:
    assert mirror(MODULE) == "tests/schema/algebra/test_arrays.py"
    assert (ROOT / mirror(MODULE)).exists()
