"""What the ids of a vocabulary write within a string, as tables of characters.

Owns: reading an id from the beginning of a character; and following many ids at once through a
pattern, to tell after which of them the string can still end in time. Must not know: places, masks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from enforcer.partial import Partial
from enforcer.regex.charset import ALL, CharSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    from enforcer.engines.lengths.automaton import Automaton

    Ids = npt.NDArray[np.int64]
    Integers = npt.NDArray[np.int32]
    Truths = npt.NDArray[np.bool_]

_QUOTE = ord('"')
_FRESH = Partial()


class Written(NamedTuple):
    """What an id writes.

    Attributes:
        text: whole characters, up to the end of the string or of the id.
        ends: whether it ends the string.
        begun: the character that it has begun.

    """

    text: str
    ends: bool = False
    begun: Partial = _FRESH


class Alike(NamedTuple):
    """Ids that write equally many whole characters.

    Attributes:
        ids: they.
        codes: the characters, as numbers of `Characters.codes`, shape `(characters, ids)`.
        ends: of each whether it ends the string.
        begun: of each the number of the character that it has begun; 0 if none.

    """

    ids: Ids
    codes: Integers
    ends: Truths
    begun: Integers

    def some(self, where: Truths) -> Alike:
        """Give those of them where it is true."""
        return Alike(self.ids[where], self.codes[:, where], self.ends[where], self.begun[where])

    def behind(self, count: int) -> Alike:
        """Give what they write behind their first characters."""
        return self._replace(codes=self.codes[count:])


class Characters:
    """The characters of some ids.

    Args:
        written: what each id writes; nothing odd if it is a text alone.

    Attributes:
        codes: the code points that occur, in order.
        alike: the ids by how many characters they write.

    """

    def __init__(self, written: Mapping[int, str | Written]) -> None:
        by_length: dict[int, tuple[list[int], list[str]]] = {}
        for token_id, each in written.items():
            text = each if isinstance(each, str) else each.text
            ids, texts = by_length.setdefault(len(text), ([], []))
            ids.append(token_id)
            texts.append(text)
        self.codes = np.unique(_code_points(x for _, texts in by_length.values() for x in texts))
        # Which character one may become that an id has begun; of none that it has not.
        self._begun: list[CharSet] = [ALL]
        numbers = {_FRESH: 0}
        self.alike = {
            length: self._gathered(*found, written, numbers) for length, found in by_length.items()
        }

    def _gathered(
        self,
        ids: list[int],
        texts: list[str],
        written: Mapping[int, str | Written],
        numbers: dict[Partial, int],
    ) -> Alike:
        ends, begun = np.zeros(len(ids), np.bool_), np.zeros(len(ids), np.int32)
        for at, token_id in enumerate(ids):
            each = written[token_id]
            if isinstance(each, str):
                continue
            if each.begun not in numbers:
                numbers[each.begun] = len(self._begun)
                self._begun.append(each.begun.characters)
            ends[at], begun[at] = each.ends, numbers[each.begun]
        codes = self.codes.searchsorted(_code_points(texts)).astype(np.int32)
        codes = np.ascontiguousarray(codes.reshape(len(ids), len(texts[0])).T)
        return Alike(np.array(ids, np.int64), codes, ends, begun)

    def too_long(self, some: Alike, automaton: Automaton, state: int | Integers, left: int) -> Ids:
        """List the ids after which a string is, or can only become, too long.

        Args:
            some: ids of these characters.
            automaton: the pattern of the string.
            state: where it is before all of them, or before each.
            left: characters that it may still have.

        """
        left -= len(some.codes)
        if left < 0:
            return some.ids
        states = automaton.run(state, automaton.columns_of(self.codes), some.codes)
        wrong: Truths = (automaton.least_of(states) > left) & ~some.ends
        at = np.flatnonzero(some.begun)
        if len(at):
            kinds = len(self._begun)
            pairs, of = np.unique(states[at] * kinds + some.begun[at], return_inverse=True)
            least = [
                automaton.least_behind(pair // kinds, self._begun[pair % kinds])
                for pair in pairs.tolist()
            ]
            wrong[at] = (np.array(least, np.int32) >= left)[of]
        return some.ids[wrong]


def read(data: bytes, *, quoted: bool = True) -> str | Written | None:
    """Read an id from the beginning of a character; None if it stands nowhere there.

    Args:
        data: its bytes.
        quoted: whether strings are JSON's; else they stand as they are, and nothing ends them.

    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _read(data, quoted=quoted)
    if not quoted or (text.isprintable() and '"' not in text and "\\" not in text):
        return text
    return _read(data, quoted=True)


def _read(data: bytes, *, quoted: bool) -> Written | None:
    begun, text = Partial(quoted=quoted), list[str]()
    for byte in data:
        if quoted and byte == _QUOTE and not begun.pending:
            return Written("".join(text), ends=True)
        found = begun.read(byte)
        if found is None:
            return None
        begun, char = found
        if char is not None:
            text.append(char)
    return Written("".join(text), begun=begun)


def _code_points(texts: Iterable[str]) -> Integers:
    return np.frombuffer("".join(texts).encode("utf-32-le"), np.int32)
