"""Tables as a text that another process reads.

Owns: the form of that text. Must not know: how tables are made.
"""

from __future__ import annotations

import base64
import json

import numpy as np

from enforcer.machine.tables import Tables

VERSION = 1


def write(tables: Tables) -> str:
    """Write tables."""
    arrays = {
        name: [array.dtype.str, base64.b64encode(array.tobytes()).decode()]
        for name, array in tables.arrays.items()
    }
    return json.dumps([VERSION, tables.wide_rows, tables.has_line_breaks, arrays])


def read(written: str) -> Tables:
    """Read what `write` has written."""
    _, wide_rows, has_line_breaks, arrays = json.loads(written)
    found = {
        name: np.frombuffer(bytearray(base64.b64decode(data)), np.dtype(kind))
        for name, (kind, data) in arrays.items()
    }
    return Tables(found, wide_rows, has_line_breaks)
