"""The fields of vLLM's requests, each under the part that it plays for an enforced reply.

Owns: which fields have been considered: `request_fields.toml` lists them. Must not know: how any of
them is handled. `compat` names those of a version that stand in no list there: whoever adds one
looks first whether it can end a reply inside a call, forbid what a reply must have, or replace the
constraint.
"""

import tomllib
from pathlib import Path

PARTS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
CLASSES = tuple(PARTS.pop("classes"))
REJECTED = frozenset(PARTS["rejected"])
CONSIDERED = frozenset().union(*PARTS.values())
