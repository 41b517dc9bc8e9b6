"""What every test module has: Hypothesis's profiles, the two vocabularies, and its company.

Owns: how many examples are drawn (`HYPOTHESIS_PROFILE=thorough` for more, `quick`
for fewer); which tests run in one process where there are several, and that each has a context of
its own. Must not know: what is tested.
"""

import os
from collections.abc import Callable, Iterator
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from enforcer.vllm.config import names
from enforcer.vocabulary import Vocabulary
from tests import vocabularies

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

# A server is started once, so that what asks for it, or for it and another, stays together; and
# so do the tests of formats, whose vocabularies are dear.
_TOGETHER = {
    "tiny_server": "tiny",
    "free_server": "tiny",
    "random_server": "random",
    "processor_server": "processor",
}
_FORMATS = Path(__file__).parent / "formats"


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks, for `--dist loadgroup`
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what shares something dear by its name, everything else by its file."""
    for item in items:
        shared = {
            _TOGETHER[name] for name in getattr(item, "fixturenames", ()) if name in _TOGETHER
        }
        if len(shared) > 1:
            raise pytest.UsageError(f"{item.nodeid} joins {shared}: say so in {__file__}")
        own = _FORMATS if item.path.parent == _FORMATS else item.path
        name = shared.pop() if shared else str(own.relative_to(Path(__file__).parent))
        item.add_marker(pytest.mark.xdist_group(name))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Run each test in a context of its own, as a server does each request, in a task.

    What a request leaves there (its id, its tools, its paths) is none of the next one's, which may
    be another file's: vLLM's side is used by tests of formats and of stock failures as well.
    """
    test = pyfuncitem.obj
    pyfuncitem.obj = lambda **given: copy_context().run(test, **given)


@pytest.fixture(autouse=True)
def _parser_of_its_own() -> Iterator[None]:
    """Forget what a test, as a launcher does, has told the processes that it starts."""
    before = os.environ.get(names.PARSER_VARIABLE)
    yield
    os.environ.pop(names.PARSER_VARIABLE, None)
    if before is not None:
        os.environ[names.PARSER_VARIABLE] = before


@pytest.fixture
def calls_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Record the calls of a function of an owner: `calls_of(Matcher, "accept")`.

    Returns the list that will have the positional arguments of each. A third argument is called
    in place of the function.
    """

    def record(owner: Any, name: str, instead: Callable[..., Any] | None = None) -> list[Any]:
        calls: list[Any] = []
        called = instead or getattr(owner, name)

        def recorded(*arguments: Any, **named: Any) -> Any:
            calls.append(arguments)
            return called(*arguments, **named)

        monkeypatch.setattr(owner, name, recorded)
        return calls

    return record


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    return vocabularies.small()


@pytest.fixture(scope="session")
def kimi_vocabulary() -> Vocabulary:
    return vocabularies.kimi()
