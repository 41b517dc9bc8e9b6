"""The versions of a server beside those here."""

from importlib import metadata

import pytest

from enforcer.tools.doctor import CheckStatus
from enforcer.tools.doctor.answers import versions

OWN = metadata.version("kimi-enforcer")


def shown(*of: str) -> str:
    lines = [f'enforcer_version{{version="{version}"}} 1.0' for version in of]
    return "\n".join(["vllm:up 1", *lines, 'enforcer_version{version="9"} 0.0'])


@pytest.mark.parametrize(
    ("of", "status", "says"),
    [
        ([OWN], CheckStatus.OK, OWN),
        (["1.99.0"], CheckStatus.NOTE, f"enforcer 1.99.0; installed here is kimi-enforcer {OWN}"),
        (["0.0.9"], CheckStatus.NOTE, "the server runs kimi-enforcer 0.0.9"),
        ([OWN, "0.0.9"], CheckStatus.NOTE, "the API servers run kimi-enforcer 0.0.9"),
    ],
)
def test_versions(of: list[str], status: CheckStatus, says: str) -> None:
    [found] = versions(shown(*of))
    assert found.status is status
    assert says in found.found


@pytest.mark.parametrize("metrics", [None, "", "vllm:up 1\n", shown()])
def test_a_server_that_shows_none(metrics: str | None) -> None:
    assert not list(versions(metrics))
