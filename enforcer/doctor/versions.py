"""Whether a server runs what is installed here.

Owns: reading the versions that a server shows, and what a difference means. Must not know: how a
server is asked.
"""

from __future__ import annotations

from enforcer.diagnosis import Check, note, ok
from enforcer.verify.expected import samples
from enforcer.vllm.observe import families

_TITLE = "versions"


def versions(shown: str | None) -> Check | None:
    """Compare the versions on `/metrics` with those here; None where the server shows none.

    `enforcer check` asks the version that is installed here.
    """
    told = samples(shown, families.VERSION.name)
    found = sorted({f"kimi-enforcer {labels['version']}" for labels, count in told if count})
    if not found:
        return None
    if len(found) > 1:
        return note(_TITLE, f"the API servers run {'; '.join(found)}", "finish the upgrade")
    here = f"kimi-enforcer {families.installed('kimi-enforcer')}"
    if found == [here]:
        return ok(_TITLE, f"the server runs {here}, as installed here")
    mend = "before you rely on `enforcer check` here, install what the server runs"
    return note(_TITLE, f"the server runs {found[0]}; installed here is {here}", mend)
