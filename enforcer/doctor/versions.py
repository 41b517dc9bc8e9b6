"""Whether a server runs what is installed here.

Owns: reading the versions that a server shows, and what a difference means. Must not know: how a
server is asked.
"""

from __future__ import annotations

import re

from enforcer.diagnosis import Check, note, ok
from enforcer.vllm.observe import families

_SHOWN = re.compile(r"^enforcer_version\{(.*)\} [1-9]", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_TITLE = "versions"


def versions(shown: str | None) -> Check | None:
    """Compare the versions on `/metrics` with those here; None where the server shows none.

    `enforcer check` asks the version that is installed here.
    """
    found = sorted({tuple(sorted(_LABEL.findall(one))) for one in _SHOWN.findall(shown or "")})
    if not found:
        return None
    said = ["kimi-enforcer {version}".format(**dict(one)) for one in found]
    if len(found) > 1:
        return note(_TITLE, f"the API servers run {'; '.join(said)}", "finish the upgrade")
    theirs = dict(found[0])
    own = {label: value for label, (value,) in families.VERSION.labels}
    if theirs == own:
        return ok(_TITLE, f"the server runs {said[0]}, as installed here")
    here = "kimi-enforcer {version}".format(**own)
    mend = "before you rely on `enforcer check` here, install what the server runs"
    return note(_TITLE, f"the server runs {said[0]}; installed here is {here}", mend)
