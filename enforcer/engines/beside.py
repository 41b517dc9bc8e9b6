"""An engine around another one, which keeps what no grammar tells well.

The engine within masks a grammar that allows more; a *keeper* follows the text beside it and leaves
out of each mask what is too much. A grammar of which nothing is to be kept passes through
unchanged.

Owns: the engine, grammar and matcher of `enforcer.engines`, around those of another engine. Must
not know: which engine it is around, and what is kept (each subclass does).
"""

from __future__ import annotations

import json
from abc import abstractmethod
from array import array
from typing import TYPE_CHECKING, Any, ClassVar

from enforcer.engines import ArgumentEngine, pairs, pairs_keeper
from enforcer.errors import EngineFailure
from enforcer.layouts import LayoutKind

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    from enforcer.engines import ArgumentMatcher, CompiledGrammar
    from enforcer.engines.capacity import Capacity
    from enforcer.engines.keeper import Keeper, TextKeeper
    from enforcer.layouts import BoundLayout
    from enforcer.request.response_format import ResponseFormat
    from enforcer.schema import ArgumentGrammar
    from enforcer.vocabulary import Vocabulary

_PLACES = 64  # more than drafts take back


class BesideEngine(ArgumentEngine):
    """Keeps something beside another engine; see `enforcer.engines.ArgumentEngine`.

    Attributes:
        engine: the engine within.
        vocabulary: what its ids stand for.
        mark: what the text of a grammar begins with of which something is to be kept.

    """

    mark: ClassVar[str]

    def __init__(self, engine: ArgumentEngine, vocabulary: Vocabulary) -> None:
        self.engine = engine
        self.vocabulary = vocabulary
        self._crossings: dict[tuple[bytes, bytes], pairs.Crossing] = {}

    @abstractmethod
    def divide(
        self, grammar: ArgumentGrammar, layout: BoundLayout | None
    ) -> tuple[ArgumentGrammar, Any]:
        """Give what the engine within is to mask, and what is to be kept as JSON's values.

        Nothing is to be kept where these are empty. Something is only in layouts that can be
        followed (`pairs.can_follow`).

        Raises:
            UnsupportedSchema: something can neither be masked nor kept.

        """

    @abstractmethod
    def keepers(self, kept: Any) -> tuple[Callable[[], Keeper], int]:
        """Give what makes a keeper for each text, and the bytes that they share, roughly."""

    def raw(self, kept: Any) -> tuple[pairs_keeper.Raw, int]:  # noqa: ARG002 - nothing is kept of them
        """Give what keeps strings that stand as they are, by the name of their property.

        And the bytes that these keepers share, roughly.
        """
        return pairs_keeper.no_raw, 0

    def warm(self, layout: BoundLayout | None = None) -> None:
        """Build what the engine within needs, and what cannot wait of pairs.

        What keepers share, each subclass builds.
        """
        if layout is not None and layout.layout.kind is LayoutKind.PAIRS:
            self.crossing(*pairs.borders(layout.pair))
        self.engine.warm(layout)

    @property
    def name(self) -> str:
        """The name of the engine within."""
        return self.engine.name

    @property
    def capacity(self) -> Capacity:
        """What the engine within holds; what is kept is not its to bear."""
        return self.engine.capacity

    def check(self, grammar: ArgumentGrammar, layout: BoundLayout | None = None) -> None:
        """Raise what `write` or `read` would."""
        self.engine.check(self.divide(grammar, layout)[0], layout)

    def write(
        self, grammar: ArgumentGrammar, layout: BoundLayout | None = None, *, quick: bool = False
    ) -> str:
        """Write a grammar, and what is to be kept of its texts if anything is."""
        masked, kept = self.divide(grammar, layout)
        text = self.engine.write(masked, layout, quick=quick)
        if not kept:
            return text
        return self.mark + json.dumps([text, kept, pairs.written(layout, grammar)])

    def read(self, written: str) -> CompiledGrammar:
        """Compile what `write` has given."""
        if not written.startswith(self.mark):
            return self.engine.read(written)
        text, kept, laid_out = json.loads(written.removeprefix(self.mark))
        inner = self.engine.read(text)
        keepers, weight = self.keepers(kept)
        if laid_out is None:
            return _Grammar(inner, lambda: _JsonKeeper(keepers(), self.vocabulary), weight)
        found = pairs.read(laid_out)
        raw, more = self.raw(kept)
        crossing = self.crossing(found.stop, found.opens)
        vocabulary = self.vocabulary
        return _Grammar(
            inner,
            lambda: pairs_keeper.PairsKeeper(found, crossing, vocabulary, keepers(), raw),
            weight + more,
        )

    def crossing(self, stop: bytes, opens: bytes) -> pairs.Crossing:
        """Give the ids that cross such borders of values; all engines here share them."""
        if isinstance(self.engine, BesideEngine):
            return self.engine.crossing(stop, opens)
        if (stop, opens) not in self._crossings:
            self._crossings[stop, opens] = pairs.Crossing(self.vocabulary, stop, opens)
        return self._crossings[stop, opens]

    def check_text(self, wanted: ResponseFormat) -> None:
        """Refuse a format of text that is no JSON Schema if it cannot be held."""
        self.engine.check_text(wanted)

    def compile_text(self, wanted: ResponseFormat) -> CompiledGrammar:
        """Compile a format of text that is no JSON Schema."""
        return self.engine.compile_text(wanted)


class _JsonKeeper:
    """A keeper of JSON that goes on by ids."""

    def __init__(self, keeper: Keeper, vocabulary: Vocabulary) -> None:
        self.keeper = keeper
        self.start = keeper.start
        self.forbid = keeper.forbid
        self._read = keeper.read
        self._bytes = vocabulary.token_bytes

    def after(self, place: Any, token_id: int) -> Any:
        return self._read(place, self._bytes(token_id))


class _Grammar:
    """A compiled grammar of which something is kept."""

    def __init__(
        self, inner: CompiledGrammar, keepers: Callable[[], TextKeeper], weight: int
    ) -> None:
        self._inner = inner
        self._keepers = keepers
        self._weight = weight

    @property
    def weight(self) -> int:
        return self._inner.weight + self._weight

    @property
    def is_ready(self) -> bool:
        return self._inner.is_ready

    def renew(self) -> None:
        self._inner.renew()

    def matcher(self) -> ArgumentMatcher:
        return KeptMatcher(self._inner.matcher(), self._keepers())


class KeptMatcher:
    """One text: what the engine allows, less what is too much."""

    def __init__(self, inner: ArgumentMatcher, keeper: TextKeeper) -> None:
        self._inner = inner
        self._keeper = keeper
        self._ids = array("I")
        # After the last ids; those before are read again if need be.
        self._places: list[Any] = [keeper.start]

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        """Write the mask of the ids that may come next."""
        self._inner.fill(row)
        self._keeper.forbid(self._places[-1], row)

    def accept(self, token_id: int) -> bool:
        """Advance by one id; False if it is illegal, the state being unchanged then."""
        if not self._inner.accept(token_id):
            return False
        try:
            place = self._keeper.after(self._places[-1], token_id)
        except EngineFailure:
            self._inner.rollback(1)
            raise
        if place is None:
            self._inner.rollback(1)
            return False
        self._ids.append(token_id)
        self._places.append(place)
        if len(self._places) > 2 * _PLACES:
            del self._places[:_PLACES]
        return True

    def rollback(self, count: int) -> None:
        """Take back the last `count` accepted ids."""
        self._inner.rollback(count)
        del self._ids[len(self._ids) - count :]
        del self._places[max(len(self._places) - count, 0) :]
        if self._places:
            return
        self._places = [self._keeper.start]
        for token_id in self._ids:
            place = self._keeper.after(self._places[-1], token_id)
            if place is None:
                raise EngineFailure("a text that was taken cannot be read again")
            self._places[0] = place

    def is_accepting(self) -> bool:
        """Tell whether the text so far is complete."""
        return self._inner.is_accepting()
