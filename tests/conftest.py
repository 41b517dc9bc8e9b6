"""What every test module has: Hypothesis's profiles, and the two vocabularies.

Owns: how many examples are drawn (`HYPOTHESIS_PROFILE=thorough` for more, `quick`
for fewer). Must not
know: what is tested.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import vocabularies
from hypothesis import HealthCheck, settings

_HERE = Path(__file__).parent
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


_SERVERS = {"vllm", "demo"}


@pytest.hookimpl(tryfirst=True)  # before the one that reads the marks
def pytest_collection_modifyitems(items):
    """Keep tests that start servers in one process, and those of a module together.

    With several processes (`pytest -n 2 --dist loadgroup`), the servers of one test would slow
    down those of another, and a module's fixtures would be made anew for each of its tests.
    """
    for item in items:
        folder = item.path.relative_to(_HERE).parts[0]
        group = "servers" if folder in _SERVERS else str(item.path.relative_to(_HERE))
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(scope="session")
def vocabulary():
    return vocabularies.small()


@pytest.fixture(scope="session")
def kimi_vocabulary():
    return vocabularies.kimi()
