"""Bitmask rows of a case, one hash each, and how its turn ended."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.demo.byte_pairs import kimi_folder
from bench.formats.catalogue import FORMATS
from bench.formats.masks import _write as spelled
from bench.formats.masks import vocabulary_of
from enforcer import Conventions, Enforcer, Options
from enforcer.errors import EnforcerError
from enforcer.turn import dialects
from enforcer.turn.dialect import Segment
from enforcer.turn.lexer import BLANK_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from bench.reference.cases import Case
    from enforcer.turn.matcher import Matcher
    from enforcer.vocabulary import Vocabulary

_LONGEST = 64  # token ids of a text that are followed
_WALK = 40  # token ids of a walk before it prefers those that end something
_PATIENCE = 16  # further ones until it stops
_SHORT = ('"', "}", "]", ", ", ",", ":", '"}', '":', '",', "a", "b", "1", "0", " ", "[", "{", "-")
_ENDS = ('"', "}", "]", ")", "'", '"}', "}}", "</", "\n")
_ENDED = "end"


@dataclass(frozen=True, slots=True)
class Rows:
    """What a case gave.

    Attributes:
        hashes: CRC-32 of each bitmask row (uint32), one before each token id and one behind the
            last.
        ids: the token ids that were accepted.
        outcome: `end`, `cut`, the class of the error that refused the request or ended the turn,
            or `refused N` for a text whose token id number N is illegal.

    """

    hashes: list[int]
    ids: list[int]
    outcome: str


@lru_cache(maxsize=1)
def enforcer_for(name: str) -> Enforcer:
    """Return the enforcer of a format over Kimi's byte pairs and the format's own markers."""
    folder = kimi_folder()
    if folder is None:
        raise FileNotFoundError("Kimi's tokenizer files are not there; set $KIMI_TOKENIZER")
    vocabulary = vocabulary_of(folder, dialects.load(name))
    options = Options(conventions=Conventions(closed_objects=False), preamble_ids=0)
    return Enforcer(vocabulary, name, options=options)


def follow(case: Case, walked: Sequence[int] | None = None) -> Rows:
    """Follow a case's text, its recorded walk, or a walk that is drawn now."""
    enforcer = enforcer_for(case.format)
    vocabulary = enforcer.vocabulary
    opening = FORMATS[case.format].opening.partition("<think>")[0]
    prompt_ids = [*spelled(vocabulary, enforcer.dialect, opening)]
    try:
        matcher = enforcer.matcher(**case.request(), prompt_ids=prompt_ids, messages=None)
    except EnforcerError as error:
        return Rows([], [], type(error).__name__)
    row = np.zeros((1, vocabulary.words), dtype=np.int32)
    ids: Iterator[int]
    if case.text is not None:
        ids = spelled(vocabulary, enforcer.dialect, case.text)
    elif walked is not None:
        ids = iter(walked)
    else:
        ids = _Walk(vocabulary, case.seed, row[0])
    longest = None if case.text is None else _LONGEST
    return _followed(matcher, ids, row, longest)


@lru_cache(maxsize=1)
def _begins_blank(vocabulary: Vocabulary) -> Any:
    """Return the row of the tokens that begin with white space."""
    keys, ids = vocabulary.sorted_text
    return vocabulary.row(i for key, i in zip(keys, ids, strict=True) if key[0] in BLANK_BYTES)


def _followed(matcher: Matcher, ids: Iterator[int], row: Any, longest: int | None) -> Rows:
    table = matcher.envelope.table
    hashes: list[int] = []
    taken: list[int] = []
    content: list[int] = []
    while True:
        try:
            matcher.fill(row)
        except EnforcerError as error:
            return Rows(hashes, taken, type(error).__name__)
        is_content = table.segment(matcher.state) is Segment.CONTENT
        is_blank = is_content and not table.vocabulary.decode(content).strip()
        if is_blank and matcher.position.row.opening.blank:  # kept rows are older than this freedom
            row[0] &= ~_begins_blank(table.vocabulary)
        hashes.append(zlib.crc32(row))
        if matcher.is_finished:
            return Rows(hashes, taken, _ENDED)
        token_id = next(ids, None)
        if token_id is None or len(taken) == longest:
            return Rows(hashes, taken, "cut")
        if not matcher.accept(token_id):
            return Rows(hashes, taken, f"refused {len(taken)}")
        taken.append(token_id)
        content = [*content, token_id] if is_content else []


class _Walk:
    """Draws token ids from the row that was filled last; short ones and ends are preferred."""

    def __init__(self, vocabulary: Vocabulary, random: Random, row: Any) -> None:
        self._random = random
        self._row = row
        self._short = _single(vocabulary, _SHORT)
        self._ends = {*_single(vocabulary, _ENDS), *vocabulary.control_ids}
        self._count = 0

    def __iter__(self) -> _Walk:
        return self

    def __next__(self) -> int:
        self._count += 1
        if self._count > _WALK + _PATIENCE:
            raise StopIteration
        bits = np.unpackbits(self._row.view(np.uint8), bitorder="little")
        legal: list[int] = np.flatnonzero(bits).tolist()
        if not legal:
            raise StopIteration
        ends = [i for i in legal if i in self._ends] if self._count > _WALK else []
        if ends:
            return self._random.choice(ends)
        short = [i for i in self._short if self._row[i >> 5] >> (i & 31) & 1]
        if short and self._random.random() < 0.7:
            return self._random.choice(short)
        return self._random.choice(legal)


@lru_cache(maxsize=4)
def _single(vocabulary: Vocabulary, texts: tuple[str, ...]) -> list[int]:
    found = (vocabulary.find(text.encode()) for text in texts)
    return [i for i in found if i is not None]
