"""A followed turn as one self-contained page.

Owns: putting the trace into the page's template, safely. The template, `page.html` beside this
file, owns how it looks and behaves. Must not know: how a turn is followed.
"""

from __future__ import annotations

import json
from html import escape
from importlib import resources
from typing import TYPE_CHECKING

from enforcer.explain.table import as_json

if TYPE_CHECKING:
    from enforcer.explain.trace import Trace

_TITLE, _DATA = "<!--title-->", "/*trace*/"


def render(trace: Trace) -> str:
    """Write the page; it loads nothing, from nowhere."""
    template = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    # Within a script element only `<` could end it or begin another.
    data = json.dumps(as_json(trace), ensure_ascii=False).replace("<", "\\u003c")
    # Each part separately, for a title may look like the other placeholder.
    head, _, rest = template.partition(_TITLE)
    middle, _, tail = rest.partition(_DATA)
    return head + escape(trace.title) + middle + data + tail
