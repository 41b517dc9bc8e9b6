"""What every test module has: Hypothesis's profiles, and the two vocabularies.

Owns: how many examples are drawn (`HYPOTHESIS_PROFILE=thorough` for more, `quick`
for fewer). Must not
know: what is tested.
"""

from __future__ import annotations

import os

import pytest
import vocabularies
from hypothesis import HealthCheck, settings

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
settings.register_profile("quick", settings.get_profile("usual"), max_examples=12)
settings.register_profile(
    "thorough", settings.get_profile("usual"), max_examples=600, derandomize=False
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))


@pytest.fixture(scope="session")
def vocabulary():
    return vocabularies.small()


@pytest.fixture(scope="session")
def kimi_vocabulary():
    return vocabularies.kimi()
