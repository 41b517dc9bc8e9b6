"""outlines-core with its own compiler of JSON Schema to a regular expression.

Owns: how it is called. Must not know: what is timed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import outlines_core

from bench.peers.engines import RefusedError, end_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from bench.peers.engines import Engine, Grammar, Matcher
    from enforcer import Vocabulary


class _Matcher:
    def __init__(self, index: outlines_core.Index) -> None:
        self._guide = outlines_core.Guide(index)

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        self._guide.write_mask_into(row.ctypes.data, row.size, row.itemsize)

    def accept(self, token_id: int) -> bool:
        if not self._guide.accepts_tokens([token_id]):
            return False
        self._guide.advance(token_id, return_tokens=False)
        return True

    def is_accepting(self) -> bool:
        return bool(self._guide.is_finished())


@dataclass(frozen=True, slots=True)
class _Grammar:
    index: outlines_core.Index

    def matcher(self) -> Matcher:
        return _Matcher(self.index)


@dataclass(frozen=True, slots=True)
class OutlinesCore:
    """outlines-core's table of a vocabulary."""

    vocabulary: outlines_core.Vocabulary

    def compile(self, schema: Any) -> Grammar:
        """Compile a schema."""
        try:
            pattern = outlines_core.json_schema.build_regex_from_schema(json.dumps(schema))
            return _Grammar(outlines_core.Index(pattern, self.vocabulary))
        except (TypeError, ValueError) as error:
            raise RefusedError(str(error)) from error


def build(vocabulary: Vocabulary) -> Engine:
    """Build outlines-core's table of a vocabulary."""
    ids: dict[bytes, list[int]] = {}
    for data, token_id in zip(*vocabulary.sorted_text, strict=True):
        ids.setdefault(data, []).append(token_id)
    return OutlinesCore(outlines_core.Vocabulary(end_of(vocabulary), ids))
