"""Finds what can be changed in a module, one place at a time, by Cosmic Ray's operators.

Owns: which changes are worth a run of the tests. Must not know: how tests are run, or which
changes are known to change nothing (`known`).

Left out are changes that say nothing about tests: in annotations, under `TYPE_CHECKING`, of
decorators (without one, a module either does not load or is only slower) and of numbers that
are constants of a module, which are bounds: one more or less moves a refusal, nothing else. Nor
is `is` made `==`: it stands between members of enumerations and markers, equal if the same.
"""

import ast
import difflib
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

from tests.mutants.operators import RemoveStatement, SwapBuiltin

ROOT = Path(__file__).resolve().parents[2]
_UNUSED = (
    *("VariableReplacer", "VariableInserter"),  # they take names
    *("RemoveDecorator", "Operator_Is_Eq", "Operator_IsNot_NotEq"),
)
_Position = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module with one change.

    Attributes:
        path: of the module, relative to the repository.
        line: number of the first line that is changed.
        before, after: the lines that differ, without indentation.
        code: the whole module, changed.

    """

    path: str
    line: int
    before: str
    after: str
    code: str


@dataclass(frozen=True, slots=True)
class Site:
    """One place of a module, and the ways to change it: operators and their occurrences."""

    path: str
    position: _Position
    ways: tuple[tuple[Any, int], ...]

    def mutant(self, random: Random) -> Mutant | None:
        """Change the place in one of the ways; None if that is no Python any more, or warned of.

        Such as `is` beside a constant, which no lint lets in.
        """
        operator, occurrence = random.choice(self.ways)
        source = (ROOT / self.path).read_text(encoding="utf-8")
        code = mutate_code(source, operator, occurrence)
        try:
            with warnings.catch_warnings(action="error", category=SyntaxWarning):
                compile(code, self.path, "exec")
        except SyntaxError:
            return None
        return mutant(self.path, source, code)


def mutant(path: str, source: str, code: str) -> Mutant:
    """Name the lines in which a changed module differs."""
    lines, changed = source.splitlines(), code.splitlines()
    matcher = difflib.SequenceMatcher(None, lines, changed, autojunk=False)
    differing = [each for each in matcher.get_opcodes() if each[0] != "equal"]
    (_, start, _, into, _), (_, _, end, _, to) = differing[0], differing[-1]
    before = "\n".join(each.strip() for each in lines[start:end])
    return Mutant(
        path, start + 1, before, "\n".join(each.strip() for each in changed[into:to]), code
    )


def sites(path: str) -> list[Site]:
    """List the places of a module that can be changed, in order."""
    source = (ROOT / path).read_text(encoding="utf-8")
    skipped, bounds = _skipped(ast.parse(source))
    nodes = list(ast_nodes(get_ast(source)))
    found: dict[tuple[_Position, str], list[tuple[Any, int]]] = defaultdict(list)
    for operator in _operators():
        family = type(operator).__name__.split("_")[0]
        occurrence = -1
        for node in nodes:
            for start, _ in operator.mutation_positions(node):
                occurrence += 1
                if any(low <= start < high for low, high in skipped):
                    continue
                if not isinstance(operator, SwapBuiltin) and any(
                    low <= start < high for low, high in bounds
                ):
                    continue
                found[start, family].append((operator, occurrence))
    return [
        Site(path, position, tuple(ways))
        for (position, _), ways in sorted(found.items(), key=lambda each: each[0])
    ]


def mutants(paths: list[str], random: Random) -> Iterator[Mutant]:
    """Yield a change of one place after another, at random, until there are no more.

    A module is as likely as it is long: finding its places takes seconds, so not all are looked at.
    """
    lengths = {path: len((ROOT / path).read_text(encoding="utf-8")) for path in paths}
    left: dict[str, list[Site]] = {}
    while lengths:
        (path,) = random.choices(list(lengths), list(lengths.values()))
        if path not in left:
            left[path] = sites(path)
            random.shuffle(left[path])
        if not left[path]:
            del lengths[path]
            continue
        found = left[path].pop().mutant(random)
        if found is not None:
            yield found


@cache
def _operators() -> tuple[Any, ...]:
    names = (name for name in plugins.operator_names() if not name.endswith(_UNUSED))
    return (*(plugins.get_operator(name)() for name in names), RemoveStatement(), SwapBuiltin())


_Spans = list[tuple[_Position, _Position]]


def _skipped(tree: ast.Module) -> tuple[_Spans, _Spans]:
    """Return the spans where nothing is changed, and those of a module's constants."""
    skipped: list[ast.expr | ast.stmt] = []
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                skipped += node.decorator_list
                skipped += [node.returns] if node.returns else []
            case ast.ClassDef():
                skipped += node.decorator_list
            case ast.arg() | ast.AnnAssign():
                skipped += [node.annotation] if node.annotation else []
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                skipped.append(node)
    constants = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    return [_span(node) for node in skipped], [_span(node) for node in constants]


def _span(node: ast.expr | ast.stmt) -> tuple[_Position, _Position]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
