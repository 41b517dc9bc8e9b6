"""The versions of a server beside those here."""

from __future__ import annotations

from importlib import metadata

import pytest

from enforcer.diagnosis import Status
from enforcer.doctor.versions import versions

OWN = (metadata.version("kimi-enforcer"), metadata.version("llguidance"))


def shown(*of: tuple[str, str]) -> str:
    lines = [f'enforcer_version{{version="{own}",llguidance="{engine}"}} 1.0' for own, engine in of]
    return "\n".join(["vllm:up 1", *lines, 'enforcer_version{version="9",llguidance="9"} 0.0'])


@pytest.mark.parametrize(
    ("of", "status", "says"),
    [
        ([OWN], Status.OK, OWN[1]),
        (
            [(OWN[0], "1.99.0")],
            Status.NOTE,
            f"llguidance 1.99.0; installed here is kimi-enforcer {OWN[0]}",
        ),
        ([("0.0.9", OWN[1])], Status.NOTE, "the server runs kimi-enforcer 0.0.9"),
        ([OWN, ("0.0.9", OWN[1])], Status.NOTE, "the API servers run kimi-enforcer 0.0.9"),
    ],
)
def test_versions(of: list[tuple[str, str]], status: Status, says: str) -> None:
    found = versions(shown(*of))
    assert found is not None
    assert found.status is status
    assert says in found.found


@pytest.mark.parametrize("metrics", [None, "", "vllm:up 1\n", shown()])
def test_a_server_that_shows_none(metrics: str | None) -> None:
    assert versions(metrics) is None
