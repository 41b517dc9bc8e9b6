"""What every test module has: Hypothesis's profiles, and the two vocabularies.

Owns: how many examples are drawn (`HYPOTHESIS_PROFILE=thorough` for more, `quick`
for fewer). Must not
know: what is tested.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from enforcer.vllm import names
from tests import vocabularies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.vocabulary import Vocabulary


# No deadline: machines that are shared are slow now and then.
# The usual examples are the same ones every time: a change is judged by what it changed.
settings.register_profile(
    "usual",
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# For `make quick`: enough to see that a property is grossly broken.
settings.register_profile("quick", settings.get_profile("usual"), max_examples=8)
settings.register_profile(
    "thorough", settings.get_profile("usual"), max_examples=600, derandomize=False
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))


@pytest.fixture(autouse=True)
def _parser_of_its_own() -> Iterator[None]:
    """Forget what a test, as a launcher does, has told the processes that it starts."""
    before = os.environ.get(names.PARSER_VARIABLE)
    yield
    os.environ.pop(names.PARSER_VARIABLE, None)
    if before is not None:
        os.environ[names.PARSER_VARIABLE] = before


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    return vocabularies.small()


@pytest.fixture(scope="session")
def kimi_vocabulary() -> Vocabulary:
    return vocabularies.kimi()
