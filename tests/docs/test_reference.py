"""The reference names what is public, and every name leads to a docstring that can be shown.

Owns: the pages whose text is made when the site is built. Sources are read, as its generator reads
them, so that no host is imported.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import enforcer
from enforcer import errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    Documented = ast.ClassDef | ast.FunctionDef


ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs/reference").glob("*.md"))
_SHOWN = re.compile(
    r"^::: ([\w.]+)\n(?:    options:\n"
    r"(?:      (?!members)\w+: .*\n)*(?:      members: \[(.*)\]\n)?)?",
    re.MULTILINE,
)
_SECTION = re.compile(r"^( *)(Args|Attributes|Raises):\n((?:\1    .*\n|\n)+)", re.MULTILINE)


def shown() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give each name on the pages, with the members that are listed for it."""
    for page in PAGES:
        for name, members in _SHOWN.findall(page.read_text()):
            yield name, tuple(each.strip() for each in members.split(",") if each.strip())


SHOWN = dict(shown())


@cache
def _module(dotted: str) -> ast.Module | None:
    path = ROOT / Path(*dotted.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return ast.parse(file.read_text())
    return None


def source(dotted: str) -> Documented:
    """Find what a name stands for, along the imports of the package."""
    where, _, name = dotted.rpartition(".")
    module = _module(where)
    assert module is not None, f"{dotted}: no module {where}"
    for node in module.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return node
        if isinstance(node, ast.ImportFrom) and name in [each.name for each in node.names]:
            return source(f"{node.module}.{name}")
    pytest.fail(f"{dotted}: {where} has no {name}")


def _members(node: Documented) -> dict[str, ast.FunctionDef]:
    return {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}


def _documented() -> Iterator[tuple[str, Documented]]:
    for name, members in SHOWN.items():
        node = source(name)
        yield name, node
        for member in members:
            yield f"{name}.{member}", _members(node)[member]


def _described(node: Documented, section: str) -> set[str]:
    """Give the names that a section of a docstring describes."""
    text = ast.get_docstring(node) or ""
    return {
        name
        for _, title, lines in _SECTION.findall(text + "\n")
        if title == section
        for name in re.findall(r"^ {4}(\S[^:]*):", lines, re.MULTILINE)
    }


def test_every_public_name_is_on_one_page_once() -> None:
    names = [name for name, _ in shown()]
    assert len(set(names)) == len(names)
    assert {f"enforcer.{name}" for name in enforcer.__all__} <= set(names)


def test_every_error_is_on_a_page() -> None:
    listed = {name.rpartition(".")[2] for name in SHOWN}
    raised = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.EnforcerError)
    }
    assert raised <= listed


def test_names_are_as_short_as_they_are_imported() -> None:
    lasts = {name: name.rpartition(".")[2] for name in SHOWN}
    public = {name for name, last in lasts.items() if last in enforcer.__all__}
    assert public == {f"enforcer.{name}" for name in enforcer.__all__}


def test_every_name_leads_to_a_docstring() -> None:
    found = list(_documented())
    assert len(found) > len(SHOWN)
    assert not [name for name, node in found if not ast.get_docstring(node)]


def test_what_is_described_are_parameters() -> None:
    """The generator shows neither type nor default of one that is not, nor of several at once."""
    wrong = []
    for name, node in _documented():
        made = _members(node).get("__init__") if isinstance(node, ast.ClassDef) else node
        given = set() if made is None else _arguments(made)
        wrong += [f"{name}: {each}" for each in _described(node, "Args") - given]
    assert not wrong


def _arguments(node: ast.FunctionDef) -> set[str]:
    given, words = node.args, node.args.kwarg
    named = {each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    return named if words is None else named | {f"**{words.arg}"}


def test_errors_that_are_told_of_have_a_page() -> None:
    listed = {name.rpartition(".")[2] for name in SHOWN}
    told = {each for _, node in _documented() for each in _described(node, "Raises")}
    assert told <= listed | {"ValueError", "VLLMValidationError"}
    assert len(told) > 5
