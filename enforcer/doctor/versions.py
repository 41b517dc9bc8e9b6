"""Whether a server runs what is installed here.

Owns: reading the versions that a server shows, and what a difference means. Must not know: how a
server is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.diagnosis import Check, note, ok
from enforcer.verify.expected import samples
from enforcer.vllm.observe import families

if TYPE_CHECKING:
    from collections.abc import Iterator

_TITLE = "versions"


def versions(shown: str | None) -> Iterator[Check]:
    """Compare the versions on `/metrics` with those here; no check where the server shows none.

    `enforcer check` asks the version that is installed here.
    """
    told = samples(shown, families.VERSION.name)
    found = sorted({f"kimi-enforcer {labels['version']}" for labels, count in told if count})
    here = f"kimi-enforcer {families.installed('kimi-enforcer')}"
    if len(found) > 1:
        yield note(_TITLE, f"the API servers run {'; '.join(found)}", "finish the upgrade")
    elif found == [here]:
        yield ok(_TITLE, f"the server runs {here}, as installed here")
    elif found:
        mend = "before you rely on `enforcer check` here, install what the server runs"
        yield note(_TITLE, f"the server runs {found[0]}; installed here is {here}", mend)
