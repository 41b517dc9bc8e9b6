"""How the arguments of a call are laid out as text: as JSON, or as pairs of a key and a value.

`layout` is what a dialect file says about it, bound to a tokenizer; `pattern` the literal parts,
ids among them; `scanning` tells where such a text ends; `decoding` reads it as JSON.

A text is a sequence of *symbols*: a byte is itself, a control id `i` is `ID + i`. Owns: the form
of the text. Must not know: how tools are declared, any engine, the turn around a call.
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
