"""Tables as bytes that another process reads.

A header, then the arrays one behind the other, those of 64-bit words first, little-endian. The
header has the version, the length of each array, and a digest of all that follows; indices are
verified. Owns: the form of the bytes. Must not know: how tables are made.
"""

from __future__ import annotations

from hashlib import blake2b
from struct import Struct
from typing import TYPE_CHECKING

import numpy as np

from enforcer.errors import ConfigurationError, EngineFailure
from enforcer.machine.parts import OWN_ROWS
from enforcer.machine.tables import Tables
from enforcer.machine.verification import verify

if TYPE_CHECKING:
    import numpy.typing as npt

# Counts up with the arrays, their order and what their numbers mean.
VERSION = 11

_WIDE = (
    *("bits", "trie_value", "trie_low", "trie_high", "trie_opens"),
    *("accepts", "leads", "rests", "safe", "opens", "many_words"),
)
_NARROW = (
    *(
        "nodes",
        "names",
        "classes",
        "item_slots",
        "arrays",
        "limits",
        "marks",
        "counts",
        "needs",
        "automata",
    ),
    *("trie_edges", "edge_character", "edge_to"),
    *("transitions", "ascii", "range_low", "range_class", "bounds", "safe_steps", "wide"),
    *("cjk_steps", "many_steps", "free_to"),
    *("pairs", "markers", "unescaped"),
)
_KINDS: dict[str, np.dtype[np.generic]] = {
    **dict.fromkeys(_WIDE, np.dtype("<i8")),
    **dict.fromkeys(_NARROW, np.dtype("<i4")),
}
_MAGIC = b"kmtables"
_DIGEST = 16
# Magic, version, the white space, wide rows; the lengths of the arrays; the digest.
_BEGINNING = Struct("<8sHBBI")
_LENGTHS = Struct(f"<{len(_KINDS)}I")
_HEAD = -(-(_BEGINNING.size + _LENGTHS.size + _DIGEST) // 8) * 8


def write(tables: Tables) -> bytes:
    """Write tables."""
    arrays = [np.ascontiguousarray(tables.arrays[name], kind) for name, kind in _KINDS.items()]
    beginning = _BEGINNING.pack(
        _MAGIC, VERSION, tables.white_space, tables.is_python, tables.wide_rows
    )
    stated = beginning + _LENGTHS.pack(*map(len, arrays))
    body = b"".join([array.tobytes() for array in arrays])
    return (stated + _digest(stated, body)).ljust(_HEAD, b"\0") + body


def read(data: bytes) -> Tables:
    """Read what `write` has written.

    Raises:
        ConfigurationError: another version has written it.
        EngineFailure: the bytes are damaged.

    """
    if len(data) < _HEAD:
        raise EngineFailure("tables of a grammar are cut off")
    magic, version, white_space, is_python, wide_rows = _BEGINNING.unpack_from(data)
    if magic != _MAGIC or version != VERSION:
        raise ConfigurationError(
            f"tables of a grammar have version {version}, and this process reads {VERSION}: run "
            "the same version of kimi-enforcer in all processes"
        )
    stated = data[: _BEGINNING.size + _LENGTHS.size]
    body = bytearray(memoryview(data)[_HEAD:])  # the kernel's records are views that could write
    if not data.startswith(_digest(stated, body), len(stated)):
        raise EngineFailure("tables of a grammar do not have the digest that they state")
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    at = 0
    lengths = _LENGTHS.unpack_from(data, _BEGINNING.size)
    for (name, kind), length in zip(_KINDS.items(), lengths, strict=True):
        if at + length * kind.itemsize > len(body):
            raise EngineFailure("tables of a grammar are cut off")
        arrays[name] = np.frombuffer(body, kind, length, at)
        at += length * kind.itemsize
    if at != len(body) or wide_rows > OWN_ROWS + len(arrays["wide"]):
        raise EngineFailure("tables of a grammar do not have the size that they state")
    tables = Tables(arrays, wide_rows, white_space, bool(is_python))
    verify(tables)
    return tables


def digest_of(data: bytes) -> bytes:
    """Return the digest of written tables: equal tables have equal ones."""
    at = _BEGINNING.size + _LENGTHS.size
    return data[at : at + _DIGEST]


def _digest(stated: bytes, body: bytes | bytearray) -> bytes:
    digest = blake2b(stated, digest_size=_DIGEST)
    digest.update(body)
    return digest.digest()
