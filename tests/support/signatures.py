"""`python -m tests.support.signatures` writes the signatures on the pages of `docs/reference`.

Each section of those pages names what the site describes from the docstrings. A reader of the
checkout has a block of stubs there: signatures without the types of parameters, the first line of
each docstring, and fields; of a class that `enforcer` itself has, with the first sentence on each.
A class whose option is `merge_init_into_class: false` is not built by callers: its `__init__` is
left out. Sources are read and not imported, so that no host is needed.
"""

import ast
import copy
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

Documented = ast.ClassDef | ast.FunctionDef

ROOT = Path(__file__).resolve().parents[2]
_MOST_FIELDS = 12  # of more a page has a table
PAGES = sorted((ROOT / "docs" / "reference").glob("*.md"))
_SHOWN = re.compile(
    r"^::: (?P<name>[\w.]+)\n(?:    options:\n"
    r"(?P<unbuilt>      merge_init_into_class: false\n)?"
    r"(?:      members: \[(?P<members>.*)\]\n)?)?",
    re.MULTILINE,
)
# A tree has no comments: a string that begins so becomes the comment of the line before it.
_COMMENT = "#"
_COMMENTED = re.compile(r"\n +([\"']#.*)$", re.MULTILINE)
_BLOCK = re.compile(r"^```pyi\n.*?^```\n\n", re.DOTALL | re.MULTILINE)


class Shown(NamedTuple):
    """A name on a page.

    Attributes:
        name: as it is imported.
        members: those that the page lists; None for all.
        is_built: whether callers call the class.

    """

    name: str
    members: tuple[str, ...] | None
    is_built: bool = True


def shown(text: str) -> Iterator[Shown]:
    """Give the names of a page, or of a part of it."""
    for found in _SHOWN.finditer(text):
        listed = found["members"]
        members = None if listed is None else tuple(re.findall(r"\w+", listed))
        yield Shown(found["name"], members, found["unbuilt"] is None)


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
    for node in () if module is None else module.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return node
        if isinstance(node, ast.ImportFrom) and name in [each.name for each in node.names]:
            return source(f"{node.module}.{name}")
    raise LookupError(dotted)


def methods(node: Documented) -> dict[str, ast.FunctionDef]:
    """Give the methods of a class by name; of an overloaded one the implementation."""
    return {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}


def stub(of: Shown) -> str:
    """Write the stub of a name."""
    node = source(of.name)
    if isinstance(node, ast.FunctionDef):
        return ast.unparse(_function(node))
    wanted = set(methods(node)) if of.members is None else {"__init__", *of.members}
    wanted -= set() if of.is_built else {"__init__"}
    body: list[ast.stmt] = [*_summary(node)]
    implemented = methods(node)
    fields = [field for each in node.body for field in _field(each)]
    for each in node.body:
        if each in fields and len(fields) <= _MOST_FIELDS:
            body.append(each)
            body += _description(node, each) if of.name.count(".") == 1 else ()
        elif isinstance(each, ast.FunctionDef) and each is implemented[each.name]:
            body += [_function(each)] if each.name in wanted and _is_public(each.name) else ()
    # Of `dataclass(frozen=True, slots=True)` the name is enough.
    kept: list[ast.expr] = [ast.Name("dataclass")] if node.decorator_list else []
    made = ast.ClassDef(node.name, node.bases, node.keywords, body or [_ellipsis()], kept)
    return ast.unparse(ast.fix_missing_locations(made))


def _is_public(name: str) -> bool:
    return not name.startswith("_") or name in {"__init__", "__call__"}


def _ellipsis() -> ast.stmt:
    return ast.Expr(ast.Constant(...))


def _summary(node: Documented) -> Iterator[ast.stmt]:
    if text := ast.get_docstring(node):
        yield ast.Expr(ast.Constant(text.partition("\n")[0]))


def _field(node: ast.stmt) -> Iterator[ast.stmt]:
    if not isinstance(node, ast.AnnAssign | ast.Assign):
        return
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    if isinstance(target, ast.Name) and _is_public(target.id):
        if isinstance(node.value, ast.Call):
            node.value = ast.Constant(...)
        yield node


def _description(node: Documented, field: ast.stmt) -> Iterator[ast.stmt]:
    """Give the first sentence on a field, of the attributes in the docstring of its class."""
    if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
        return  # a member of an enum, whose value says what it is
    found = re.search(
        rf"^    {field.target.id}: (.+(?:\n {{8}}.+)*)", ast.get_docstring(node) or "", re.MULTILINE
    )
    if found is not None:
        sentence = " ".join(found[1].split()).partition(". ")[0].removesuffix(".")
        yield ast.Expr(ast.Constant(f"{_COMMENT}{sentence}"))


def _function(node: ast.FunctionDef) -> ast.FunctionDef:
    kept: list[ast.expr] = [each for each in node.decorator_list if isinstance(each, ast.Name)]
    body = [*_summary(node)] or [_ellipsis()]
    returns = None if node.name == "__init__" else node.returns
    made = ast.FunctionDef(node.name, _untyped(node.args), body, kept, returns)
    return ast.fix_missing_locations(made)


def _untyped(given: ast.arguments) -> ast.arguments:
    """Return parameters without their types."""
    untyped = copy.deepcopy(given)
    for each in ast.walk(untyped):
        if isinstance(each, ast.arg):
            each.annotation = None
    return untyped


def written(text: str) -> str:
    """Return the text of a page with the signatures of each of its sections."""
    return "".join(map(_with_signatures, re.split(r"(?m)^(?=## )", _BLOCK.sub("", text))))


def _with_signatures(part: str) -> str:
    stubs = [stub(each) for each in shown(part)]
    if not stubs:
        return part
    at = part.index("::: ")
    return f"{part[:at]}```pyi\n{_formatted(stubs)}```\n\n{part[at:]}"


def _formatted(stubs: list[str]) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--line-length", "92"]
    command += ["--stdin-filename", "stubs.pyi", "-"]
    done = subprocess.run(
        command, cwd=ROOT, input="\n".join(stubs), capture_output=True, text=True, check=True
    )
    return _COMMENTED.sub(lambda line: f"  # {ast.literal_eval(line[1])[1:]}", done.stdout)


def main() -> None:
    for page in PAGES:
        page.write_text(written(page.read_text()))


if __name__ == "__main__":
    main()
