"""Old ways to turns that explain themselves, for one release."""

import importlib

import enforcer
from enforcer.tools import explain
from enforcer.tools.explain import turn
from tests.walks import V


def test_the_old_modules_are_the_new_ones() -> None:
    assert importlib.import_module("enforcer.explain") is explain
    assert importlib.import_module("enforcer.explain.turn") is turn


def test_matchers_of_the_library_have_words() -> None:
    served = enforcer.Enforcer(V)
    spec = served.read_request([])
    for matcher in (served.matcher([]), served.start(spec, None, explained=True)):
        assert isinstance(matcher, explain.ExplainedMatcher)
        assert matcher.expected().options
    assert not isinstance(served.start(spec, None), explain.ExplainedMatcher)
