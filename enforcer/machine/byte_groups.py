"""Groups of bytes that masks handle at once, and the groups that are safe in an automaton state.

A *group* is a bit for some characters. A mask adds the tokens of a subtree of the vocabulary's trie
together if all their groups are *safe* in the state: some number of these characters, whichever
they are, loses no language.

Owns: the groups, and which of them each state takes. Must not know: tokens, grammars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from enforcer.regex.automata.minimizing import FAR

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from enforcer.regex.charset import CharSet

# Printable ASCII in groups, a bit each: bit `n` stands for the characters of `ASCII_GROUPS[n]`.
# Most tokens have small letters: a pattern that tells one letter apart looks at few tokens more.
ASCII_GROUPS = (
    *("abcdef", "g", "ABCDEF", "GHIJKLMNOPQRSTUVWXYZ", "0123456789"),
    *" !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\x7f",
    *"hijklmnopqrstuvwxyz",
)
# Groups of characters beyond ASCII, by their first byte: U+4000 to U+9FFF, which are most tokens
# beyond ASCII; first bytes that some white space has; U+2000 to U+2FFF, of which `.` leaves out
# two; all other characters. The last group has control characters, and bytes that UTF-8 does not
# allow where they stand: no automaton state takes it as a whole.
CJK = 1 << 58
AS_WHITE_SPACE = 1 << 59
U_2000 = 1 << 60
BEYOND_ASCII = 1 << 61
IN_NO_STATE = 1 << 62

# The last characters of spans beyond ASCII, and their groups.
_SPANS = (
    *((0xBF, AS_WHITE_SPACE), (0xFFF, BEYOND_ASCII), (0x1FFF, AS_WHITE_SPACE), (0x2FFF, U_2000)),
    *((0x3FFF, AS_WHITE_SPACE), (0x9FFF, CJK), (0xEFFF, BEYOND_ASCII), (0xFFFF, AS_WHITE_SPACE)),
    (0x10FFFF, BEYOND_ASCII),
)

# int64, shape `(256,)`: the group of each byte.
BYTE_GROUPS = np.full(256, IN_NO_STATE, np.int64)
for _bit, _characters in enumerate(ASCII_GROUPS):
    BYTE_GROUPS[[*_characters.encode()]] = 1 << _bit
BYTE_GROUPS[0xC2:0xF5] = BEYOND_ASCII
BYTE_GROUPS[0xE2] = U_2000
BYTE_GROUPS[0xE4:0xEA] = CJK
BYTE_GROUPS[[0xC2, 0xE1, 0xE3, 0xEF]] = AS_WHITE_SPACE

# uint8, shape `(256,)`: the number of each byte's group, if a character begins with it.
GROUP_NUMBERS = np.log2(BYTE_GROUPS.astype(np.float64)).astype(np.uint8)
GROUP_NUMBERS[0x80:0xC2] = GROUP_NUMBERS[0xF5:] = 61

ASCII = 128  # characters
_STEPS = 32  # characters; few tokens have more
_SETS = 4  # sets of groups
_LARGE = 50_000  # transitions; of more, safe groups are looked for less far
_FEW_STEPS, _FEW_SETS = 8, 1
_EVERY = -1
_DIGITS = 1 << ASCII_GROUPS.index("0123456789")

# The codes of each group of ASCII characters, and its bit. In a JSON string a quote and a backslash
# are no characters, so no state takes them.
_RAW_GROUPS = [(1 << number, [*map(ord, group)]) for number, group in enumerate(ASCII_GROUPS)]
_JSON_GROUPS = [
    (bit, codes) for bit, codes in _RAW_GROUPS if codes not in ([ord('"')], [ord("\\")])
]


def groups_beyond_ascii(low: int, high: int) -> int:
    """Return the groups, as bits, that have some character of a span beyond ASCII."""
    found = 0
    for last, group in _SPANS:
        if low <= last:
            found |= group
            if high <= last:
                break
    return found


class ByteGroups:
    """The groups of bytes that each class of an automaton's characters belongs to.

    Args:
        ascii_: int32, shape `(128,)`: the class of each character; -1 for none.
        atoms: disjoint sets of characters.
        classes: the class of each atom; -1 for none.
        is_raw: whether texts are raw, so that quotes and backslashes are characters.

    """

    def __init__(
        self,
        ascii_: npt.NDArray[np.int32],
        atoms: Sequence[CharSet],
        classes: Sequence[int],
        *,
        is_raw: bool,
    ) -> None:
        self.is_raw = is_raw
        of_ascii = ascii_.tolist()
        self._classes = {
            group: {of_ascii[code] for code in codes}
            for group, codes in (_RAW_GROUPS if is_raw else _JSON_GROUPS)
        }
        beyond: dict[int, set[int]] = {
            group: set() for group in (CJK, AS_WHITE_SPACE, U_2000, BEYOND_ASCII)
        }
        # The ASCII characters of each class.
        self._sizes = np.bincount(ascii_[ascii_ >= 0], minlength=max([0, *classes]) + 1)
        of_class = [0] * (len(self._sizes) + 1)  # the last: characters of no class
        for group, within in self._classes.items():
            for each in within:
                of_class[each] |= group
        for atom, each in zip(atoms, classes, strict=True):
            for low, high in atom.ranges:
                some = groups_beyond_ascii(max(low, ASCII), high) if high >= ASCII else 0
                of_class[each] |= some
                for group, within in beyond.items():
                    if group & some and not atom.is_marker:
                        within.add(each)
        self._of_class = np.array(of_class[:-1], np.int64)
        self._every = [*set(of_ascii).union(*beyond.values())]
        self._classes |= beyond
        # Most groups are within one class: each class's own groups, as bits, then all other groups.
        self._alone = np.zeros(len(self._sizes), np.int64)
        self._several: list[tuple[int, list[int]]] = []
        for group, found in self._classes.items():
            if len(found) != 1:
                self._several.append((group, [*found]))
            elif (one := min(found)) >= 0:
                self._alone[one] |= group

    def opens(self, transitions: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Return for each state the groups of which some character has a transition.

        Args:
            transitions: int32, shape `(states, classes)`; -1 for none.

        """
        found: npt.NDArray[np.int64]
        found = np.bitwise_or.reduce(np.where(transitions >= 0, self._of_class, 0), axis=1)
        return found

    def within(self, holds: npt.NDArray[np.bool_], groups: int = _EVERY) -> npt.NDArray[np.int64]:
        """Return for each state the groups all of whose classes meet a condition.

        Args:
            holds: shape `(states, classes)`: whether a class meets it in a state.
            groups: the groups to look at.

        """
        if not holds.any():
            return np.zeros(len(holds), np.int64)
        alone = np.where(holds, self._alone & groups, 0)
        found: npt.NDArray[np.int64] = np.bitwise_or.reduce(alone, axis=1)
        for group, classes in self._several:
            if group & groups and -1 not in classes:
                found |= np.where(holds[:, classes].all(axis=1), group, 0)
        return found

    def are_all(self, holds: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return for each state whether every character meets a condition; see `within`."""
        if -1 in self._every:
            return np.zeros(len(holds), np.bool_)
        every: npt.NDArray[np.bool_] = np.logical_and.reduce(holds[:, self._every], axis=1)
        return every

    def safe_arrays(
        self,
        transitions: npt.NDArray[np.int32],
        accepts: npt.NDArray[np.int64],
        lasting: npt.NDArray[np.int64],
        is_wide: npt.NDArray[np.bool_],
    ) -> dict[str, Any]:
        """Return the arrays `safe`, `safe_steps` and `cjk_steps` of an `Automaton`.

        Args:
            transitions: int32, shape `(states, classes)`.
            accepts: see `Automaton`.
            lasting: see `Automaton`. A transition that loses a lasting language is not safe.
            is_wide: states for which all groups matter; for others only digits do, in numbers.

        """
        loops = self.within(transitions == np.arange(len(transitions))[:, None])
        keeps = (transitions >= 0) & (lasting[transitions] & lasting[:, None] == lasting[:, None])
        keeps &= (lasting != 0)[:, None]
        if self.is_raw:  # raw text is looked at where it may end: what follows may be illegal
            keeps &= ~(accepts != 0)[transitions]
        safe, steps = self._safe(transitions, keeps, np.where(lasting != 0, loops, 0), is_wide)
        cjk_steps = self._cjk_steps(transitions, keeps, safe, steps)
        return {"safe": safe, "safe_steps": steps, "cjk_steps": cjk_steps}

    def _safe(
        self,
        transitions: npt.NDArray[np.int32],
        keeps: npt.NDArray[np.bool_],
        loops: npt.NDArray[np.int64],
        is_wide: npt.NDArray[np.bool_],
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Return safe groups of each state, and how many characters; of one in a loop, the loop's.

        Args:
            transitions, is_wide: see `safe_arrays`.
            keeps: shape `(states, classes)`: the transitions that lose no language, and end none.
            loops: the groups that leave each state as it is.

        """
        steps = np.where(loops != 0, FAR, 0).astype(np.int32)
        safe = loops.copy()
        wanted = loops == 0
        # Behind a character that leads elsewhere than most do, other groups may be safe, or none.
        most = np.where(keeps, self._sizes, -1).argmax(axis=1)[:, None]
        leads_with_most = transitions == np.take_along_axis(transitions, most, 1)
        most_sets = _SETS if transitions.size <= _LARGE else _FEW_SETS
        for kept in (keeps, keeps & leads_with_most):
            if not (wanted & (steps < _STEPS)).any():
                break
            open_ = self.within(kept, _EVERY if (wanted & is_wide).any() else _DIGITS)
            open_ = np.where(is_wide, open_, open_ & _DIGITS)
            is_open = wanted & (open_ != 0)
            sets, counts = np.unique(open_[is_open], return_counts=True)
            for chosen in sets[np.argsort(-counts)][:most_sets].tolist():
                begun = np.where(loops & chosen == chosen, _STEPS, 0)
                further = self._steps(transitions, keeps, chosen, begun)
                mine = is_open & (open_ == chosen) & (further > steps)
                safe[mine], steps[mine] = chosen, further[mine]
        return safe, steps

    def _cjk_steps(
        self,
        transitions: npt.NDArray[np.int32],
        keeps: npt.NDArray[np.bool_],
        safe: npt.NDArray[np.int64],
        safe_steps: npt.NDArray[np.int32],
    ) -> npt.NDArray[np.int32]:
        """Return how many characters of the group `CJK` are safe in each state; see `_safe`.

        Most tokens beyond ASCII have no other characters, and few patterns tell CJK characters
        apart: more of them in a row are safe than of all groups in `safe` together.
        """
        begun = np.where(safe & CJK != 0, safe_steps, 0).astype(np.int32)
        if not ((self.within(keeps, CJK) != 0) & (begun < _STEPS)).any():
            return begun
        further = self._steps(transitions, keeps, CJK, np.minimum(begun, _STEPS))
        return np.maximum(begun, further)

    def _steps(
        self,
        transitions: npt.NDArray[np.int32],
        keeps: npt.NDArray[np.bool_],
        groups: int,
        begun: npt.NDArray[np.int32],
    ) -> npt.NDArray[np.int32]:
        """Return how many characters of some groups are kept from each state on, up to `_STEPS`.

        Args:
            transitions, keeps: see `_safe`.
            groups: the groups, as bits.
            begun: for each state a number of characters that is known to be kept.

        """
        classes = [*{c for bit, found in self._classes.items() if bit & groups for c in found}]
        is_open = keeps[:, classes].all(axis=1)
        after = transitions[:, classes]
        for _ in range(_STEPS if transitions.size <= _LARGE else _FEW_STEPS):
            further = np.minimum(np.where(is_open, 1 + begun[after].min(axis=1), 0), _STEPS)
            if np.array_equal(further, begun):
                break
            begun = further
        return begun.astype(np.int32)
