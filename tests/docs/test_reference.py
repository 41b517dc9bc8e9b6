"""The reference names what is public, with its signatures, and every name leads to a docstring.

Sources are read, as the site's generator reads them, so that no host is imported.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import enforcer
from enforcer import errors
from tests.support.signatures import PAGES, Documented, methods, shown, source, written

_SECTION = re.compile(r"^( *)(Args|Attributes|Raises):\n((?:\1    .*\n|\n)+)", re.MULTILINE)
TEXTS = {page: page.read_text() for page in PAGES}
SHOWN = {each.name: each.members or () for text in TEXTS.values() for each in shown(text)}


def _documented() -> Iterator[tuple[str, Documented]]:
    for name, members in SHOWN.items():
        node = source(name)
        yield name, node
        for member in members:
            yield f"{name}.{member}", methods(node)[member]


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
    names = [each.name for text in TEXTS.values() for each in shown(text)]
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
        made = methods(node).get("__init__") if isinstance(node, ast.ClassDef) else node
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


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_signatures_are_those_of_the_code(page: Path) -> None:
    assert TEXTS[page] == written(TEXTS[page]), "python -m tests.support.signatures"


def test_a_section_gets_signatures_fields_and_first_lines() -> None:
    named = "::: enforcer.Event\n    options:\n      members: []\n\n::: enforcer.mask_logits\n"
    stubs = '''\
@dataclass
class Event:
    """A piece of a turn that reading an id has completed."""

    what: Happening  # kind of the event
    text: str  # the piece of text; for `CALL` the call's id, for `CALL_END` all its arguments
    name: str = ""  # the tool's name for `CALL`; else empty

def mask_logits(logits, bitmask) -> Logits:
    """Return a copy of logits with -inf for the token ids that a bitmask forbids."""
'''
    text = f"Text.\n\n## A\n\nText.\n\n```pyi\n{stubs}```\n\n{named}"
    assert written(f"Text.\n\n## A\n\nText.\n\n{named}") == text == written(text)
