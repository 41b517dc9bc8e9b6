"""Layouts of a call's arguments as text: JSON, pairs of key and value, or Python's keywords.

`layout` is a dialect file's table, bound to a tokenizer; `pattern` reads its literal parts;
`scanning` finds where a text of arguments ends; `decoding` reads one as JSON; `texts` has the
languages of raw keys and values. A text is a sequence of *symbols*: a byte is itself, a special
token with id `i` is `ID + i`. Must not know: how tools are declared, engines, the turn around a
call.
"""

from enforcer.layouts.decoding import Decoder
from enforcer.layouts.layout import (
    COMPACT,
    JSON,
    BoundLayout,
    Escape,
    Layout,
    LayoutKind,
    Trim,
    Types,
    WhiteSpace,
)
from enforcer.layouts.pattern import ID
from enforcer.layouts.scanning import Scan

__all__ = [
    "COMPACT",
    "ID",
    "JSON",
    "BoundLayout",
    "Decoder",
    "Escape",
    "Layout",
    "LayoutKind",
    "Scan",
    "Trim",
    "Types",
    "WhiteSpace",
]
