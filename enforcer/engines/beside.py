"""An engine around another one, which keeps what no grammar tells well.

The engine within masks a grammar that allows more; a *keeper* follows the text beside it and leaves
out of each mask what is too much. A grammar of which nothing is to be kept passes through
unchanged.

Owns: the engine of `enforcer.engines` around another engine. Must not know: which engine it is
around, and what is kept or followed (each subclass does).
"""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from enforcer.engines import ArgumentEngine, pairs
from enforcer.engines.kept_texts import KeptMatcher
from enforcer.engines.pairs_follower import no_raw
from enforcer.engines.pairs_keeper import PairsKeeper
from enforcer.layouts import LayoutKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.engines import ArgumentMatcher, CompiledGrammar
    from enforcer.engines.capacity import Capacity
    from enforcer.engines.keeper import Keeper
    from enforcer.engines.pairs_follower import Raw
    from enforcer.layouts import BoundLayout
    from enforcer.request.response_format import FormatKind, ResponseFormat
    from enforcer.schema import ArgumentGrammar
    from enforcer.vocabulary import Vocabulary


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
    def around(
        self, inner: CompiledGrammar, kept: Any, laid_out: pairs.Pairs | None
    ) -> CompiledGrammar:
        """Give the grammar around that of the engine within; None is a text of JSON."""

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
        found = None if laid_out is None else pairs.read(laid_out)
        return self.around(self.engine.read(text), kept, found)

    def crossing(self, stop: bytes, opens: bytes) -> pairs.Crossing:
        """Give the ids that cross such borders of values; all engines here share them."""
        if isinstance(self.engine, BesideEngine):
            return self.engine.crossing(stop, opens)
        if (stop, opens) not in self._crossings:
            self._crossings[stop, opens] = pairs.Crossing(self.vocabulary, stop, opens)
        return self._crossings[stop, opens]

    def compile(
        self, grammar: ArgumentGrammar, layout: BoundLayout | None = None, *, quick: bool = False
    ) -> CompiledGrammar:
        """Compile a grammar in this process, without writing it where nothing is to be kept."""
        masked, kept = self.divide(grammar, layout)
        if kept:
            return self.read(self.write(grammar, layout, quick=quick))
        return self.engine.compile(masked, layout, quick=quick)

    def check_text(self, wanted: ResponseFormat) -> None:
        """Refuse a format of text that is no JSON Schema if it cannot be held."""
        self.engine.check_text(wanted)

    @property
    def written_formats(self) -> frozenset[FormatKind]:
        """Formats of text that `write_text` writes."""
        return self.engine.written_formats

    def write_text(self, wanted: ResponseFormat) -> str:
        """Write a format of text that is no JSON Schema."""
        return self.engine.write_text(wanted)

    def compile_text(self, wanted: ResponseFormat) -> CompiledGrammar:
        """Compile a format of text that is no JSON Schema."""
        return self.engine.compile_text(wanted)


class AroundGrammar:
    """A compiled grammar around that of the engine within.

    Args:
        inner: that of the engine within.
        around: gives the matcher around one of the engine within.
        weight: bytes beside the grammar within, roughly.

    """

    def __init__(
        self,
        inner: CompiledGrammar,
        around: Callable[[ArgumentMatcher], ArgumentMatcher],
        weight: int,
    ) -> None:
        self._inner = inner
        self._around = around
        self._weight = weight

    @property
    def weight(self) -> int:
        """Bytes that this may hold now."""
        return self._inner.weight + self._weight

    @property
    def is_ready(self) -> bool:
        """Whether a text can begin without compiling anything."""
        return self._inner.is_ready

    def renew(self) -> None:
        """Compile again what is lost."""
        self._inner.renew()

    def matcher(self) -> ArgumentMatcher:
        """Start a new text."""
        return self._around(self._inner.matcher())


class KeeperEngine(BesideEngine):
    """Leaves out of the masks of another engine what is too much."""

    @abstractmethod
    def keepers(self, kept: Any) -> tuple[Callable[[], Keeper], int]:
        """Give what makes a keeper for each text, and the bytes that they share, roughly."""

    def raw(self, kept: Any) -> tuple[Raw, int]:  # noqa: ARG002 - nothing is kept of them
        """Give what keeps strings that stand as they are, by the name of their property.

        And the bytes that these keepers share, roughly.
        """
        return no_raw, 0

    def around(
        self, inner: CompiledGrammar, kept: Any, laid_out: pairs.Pairs | None
    ) -> CompiledGrammar:
        """Give the grammar whose masks keepers see."""
        keepers, weight = self.keepers(kept)
        vocabulary = self.vocabulary
        if laid_out is None:
            return AroundGrammar(
                inner, lambda m: KeptMatcher(m, _JsonKeeper(keepers(), vocabulary)), weight
            )
        raw, more = self.raw(kept)
        crossing = self.crossing(laid_out.stop, laid_out.opens)
        return AroundGrammar(
            inner,
            lambda m: KeptMatcher(m, PairsKeeper(laid_out, crossing, vocabulary, keepers(), raw)),
            weight + more,
        )


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
