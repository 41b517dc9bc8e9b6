"""The kernel's objects where Python could break them: copies, threads, stacks; long tokens."""

import copy
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from enforcer import kernel
from enforcer.errors import ConfigurationError
from enforcer.machine import compiled
from enforcer.machine.boundary_tokens import QuotedTexts
from enforcer.machine.grammar import MachineGrammar, bound_vocabulary
from enforcer.schema import Root
from tests import vocabularies
from tests.engine_cases import closed
from tests.machine.interpreted import interpreted
from tests.schema_judge import agree_along_a_walk
from tests.support import machine
from tests.vocabularies import small

_CLASSES: list[Any] = [
    each
    for each in vars(import_module(compiled.NAME)).values()
    if isinstance(each, type) and each.__module__ == compiled.NAME
]


def grammar(schema: Any, tree: kernel.Tree) -> MachineGrammar:
    return machine.held(schema, tree, root=Root.ANY, conventions=machine.OPEN)


# Objects


def test_no_object_is_made_but_by_its_own_arguments() -> None:
    """Without them the first method called ended the process."""
    assert len(_CLASSES) >= 8
    for each in _CLASSES:
        has_methods = any(not name.startswith("_") for name in vars(each))
        if has_methods and each is not kernel.MemoryCounter:  # which takes none
            with pytest.raises(TypeError, match="argument"):
                each.__new__(each)


def test_nothing_is_copied_or_pickled() -> None:
    tree = bound_vocabulary(small())
    found = grammar({}, tree)
    trie = kernel.Trie(np.zeros(0, kernel.TRIE_NODE), np.zeros(0, np.int32), 0)
    ways: list[Callable[[object], object]] = [copy.copy, copy.deepcopy]
    ways += [partial(pickle.dumps, protocol=n) for n in range(pickle.HIGHEST_PROTOCOL + 1)]
    for each in (machine.begun(found, b"[1"), tree, found.tables, tree.free, trie):
        for way in ways:
            with pytest.raises(TypeError, match="cannot pickle"):
                way(each)


def test_an_object_is_not_begun_anew() -> None:
    tree = bound_vocabulary(small())
    found, other = grammar({}, tree), grammar({"type": "null"}, tree)
    text = machine.begun(found, b'{"a":[1')
    before = machine.agreed(text, small())
    text.__init__(tree, other.tables)
    assert (machine.agreed(text, small()), text.token_ids()) == (before, [*b'{"a":[1'])


# Threads


def test_a_second_thread_in_one_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python code that a call runs lets other threads in: they freed what it was reading."""
    text: kernel.TextMatcher
    refused: list[str] = []
    row = np.zeros(small().words, np.int32)
    calls: tuple[Callable[[], object], ...] = (
        lambda: text.fill(row),
        lambda: text.accept(ord("1")),
        lambda: text.rollback(1),
        lambda: text.keep(0),
        lambda: text.open_values(),  # noqa: PLW0108 - the text is made below
    )

    def use() -> None:
        for call in calls:
            try:
                call()
            except ConfigurationError as error:
                refused.append(str(error))

    def affects_earlier(self: QuotedTexts, name: str, exhausted: int) -> bool:
        other = threading.Thread(target=use)
        other.start()
        other.join()
        return usual(self, name, exhausted)

    usual = QuotedTexts.affects_earlier
    monkeypatch.setattr(QuotedTexts, "affects_earlier", affects_earlier)
    text = machine.begun(grammar({"type": "object"}, bound_vocabulary(small())), b'{"a')
    before = text.token_ids()
    assert text.accept(ord('"'))
    assert len(refused) == len(calls)
    assert all("one thread at a time" in each for each in refused)
    assert text.token_ids() == [*before, ord('"')]
    use()  # afterwards each may have it, and an error leaves it free
    with pytest.raises(ValueError, match="shorter"):
        text.fill(row[:1])
    text.fill(row)
    assert len(refused) == len(calls)


# Searches


def test_a_mask_is_not_made_from_what_was_found_for_another_text() -> None:
    vocabulary = machine.of_bytes([b'b":1},', b'b":1},{', b'b":1},{"'])
    item = {
        "type": "object",
        "patternProperties": {"^[ab]$": {"enum": [1, 2]}},
        "additionalProperties": False,
    }
    schema = {"type": "array", "uniqueItems": True, "items": item}
    found = grammar(schema, bound_vocabulary(vocabulary))
    text = machine.begun(found, b'[{"a":1,"b":2},{"a":2,"b":1},{"a":1,"')
    assert not machine.begun(found, b'[{"a":1,"b":1},{"a":2,"b":1},{"a":1,"').accept(256)
    assert machine.agreed(text, vocabulary) >= {256, 257, 258}


# Long tokens

_DEEP = [each.encode() for each in ("a", "é", "日", "🙂", "\\n", '"",', "[", '{"a":', "1", " ")]
_LEADS = (b"", b'"', b'["', b'a":"')
_OBJECT = ",".join(f'"p{n}":"{"x" * 20}"' for n in range(60))  # an end that is far away
_MEMBERS: dict[str, Any] = {f"p{n}": {"const": "x" * 20} for n in range(60)}
_ITEM = closed({**_MEMBERS, "q": {"enum": [1, 2]}}, *_MEMBERS, "q")
_FOLLOWED: list[tuple[Any, Sequence[bytes]]] = [
    ({}, (b"", b'"', b'["a","', b'{"', b'{"a":"', b'"\xc3', b'"\\u0')),
    ({"type": "string", "pattern": "^([aé日🙂\\n]{2})*$"}, (b"", b'"')),
    ({"type": "string", "maxLength": 300}, (b'"', b'"aaa')),
    ({"type": "array", "items": {"enum": ["", "a"]}, "uniqueItems": True}, (b"", b"[")),
    (
        {"type": "array", "items": _ITEM, "uniqueItems": True},
        (f'[{{{_OBJECT},"q":1}},{{"q":2,"'.encode(),),
    ),
]


def follow_long_tokens() -> None:
    for length in (kernel.LONGEST, kernel.LONGEST + 1, 5_000):
        _follow(length)


def _follow(length: int) -> None:
    pieces = {(lead + each * length)[:length] for lead in _LEADS for each in _DEEP}
    vocabulary = machine.of_bytes(sorted(pieces))
    tree = bound_vocabulary(vocabulary)
    for schema, begins in _FOLLOWED:
        found = grammar(schema, tree)
        for begin in begins:
            machine.agreed(machine.begun(found, begin), vocabulary)


@pytest.mark.slow
def test_tokens_of_any_length_need_little_stack() -> None:
    """In a process of its own, which a stack that is too small ends."""
    code = (
        "import sys, threading; from tests.machine.test_kernel import follow_long_tokens as follow;"
        "threading.stack_size(256 << 10);"
        "thread = threading.Thread(target=follow); thread.start(); thread.join();"
        "sys.stdout.write('followed')"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "followed", "")


@pytest.mark.parametrize("schema", [{}, _ITEM, *(schema for schema, _ in _FOLLOWED)])
def test_accepted_tokens_of_no_trie_are_legal(schema: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (kernel, import_module(compiled.NAME)):
        monkeypatch.setattr(module, "LONGEST", 2)
    found = grammar(schema, bound_vocabulary(small()))
    for seed in range(6):
        agree_along_a_walk(found.matcher(), small(), Random(seed), lambda data: len(data) > 2)


@pytest.mark.slow
def test_the_vocabulary_of_kimi_has_all_its_tokens_in_the_trie() -> None:
    assert vocabularies.kimi().longest == kernel.LONGEST == interpreted().LONGEST
