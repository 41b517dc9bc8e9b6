"""How much work one mask, or one id, may take.

A host fills the masks of all its texts in one thread. So a text that asks for too much ends, alone,
as it does where an engine gives up (decision 0010). What is counted is the same on every machine.

Owns: that count. Must not know: what the work is.
"""

from __future__ import annotations

from enforcer.errors import EngineFailure

STEP = 10  # what one byte more of a text costs, where it may become what is there already
_FULL = 6_000  # some 6 ms


class Fuel:
    """What is left to one text; a unit is about as much as a value that is compared.

    Args:
        full: what each mask and each id begin with, if not the usual.

    """

    __slots__ = ("_full", "_left")

    def __init__(self, full: int | None = None) -> None:
        self._full = self._left = _FULL if full is None else full

    def fill(self) -> None:
        """Begin a mask or an id."""
        self._left = self._full

    @property
    def burned(self) -> int:
        """What has been used since."""
        return self._full - self._left

    def burn(self, count: int) -> None:
        """Use some of it.

        Raises:
            EngineFailure: there is not that much left.

        """
        self._left -= count
        if self._left < 0:
            raise EngineFailure(
                "gave up keeping the elements of an array distinct: it has become too long "
                "to tell what may still follow; allow fewer elements (`maxItems`) or "
                "levels, or drop `uniqueItems`"
            )


def unlimited() -> Fuel:
    """Give fuel that never runs out, for what is prepared before any text is followed."""
    return Fuel(1 << 62)
