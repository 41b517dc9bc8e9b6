"""What is checked of a request, what is remembered, and what never waits."""

import asyncio
import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from enforcer.cache import Cache
from enforcer.checking.task import TaskVerdict
from enforcer.checking.work import SchemaCheck
from enforcer.errors import (
    Busy,
    IllegalPrefix,
    InvalidSchema,
    Problem,
    RequestError,
    SchemaError,
    SchemaLimit,
    UnsatisfiableSchema,
    UnsupportedSchema,
)
from enforcer.request import spec as specs
from enforcer.request import spec_text
from enforcer.request.options import Options
from enforcer.request.spec import Spec
from enforcer.vllm.config import settings
from enforcer.vllm.intake import checks
from enforcer.vllm.observe import request_context
from enforcer.vllm.observe.metric_defs import CheckOutcome
from enforcer.vllm.server import runtime
from tests.spec_cases import settled as settle
from tests.support.tools import tool

PLAIN = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


class Fake:
    """A pool of workers that answers as it is told, and says what it was asked."""

    def __init__(self, error: Busy | RequestError | None = None, seconds: float = 0.0) -> None:
        self.asked: list[Any] = []
        self.error = error
        self.seconds = seconds

    def check(self, asked: SchemaCheck) -> TaskVerdict:
        self.asked.append(asked)
        if isinstance(self.error, Busy):
            raise self.error
        return TaskVerdict(self.error, seconds=self.seconds)

    async def check_async(self, asked: SchemaCheck) -> TaskVerdict:
        await asyncio.sleep(0)
        return self.check(asked)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Cache:
    cache = Cache(1 << 20)
    monkeypatch.setattr(runtime, "kept", lambda: cache)
    return cache


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch, kept: Cache) -> Callable[..., Any]:  # noqa: ARG001 - nothing is known yet
    def use(fake: Any) -> Any:
        monkeypatch.setattr(runtime, "pool", lambda: fake)
        return fake

    return use


CANNOT = Problem("$.properties.a", "pattern", "cannot")


def spec(*schemas: dict[str, Any], wanted: dict[str, Any] | None = None) -> Spec:
    tools = [tool(f"tool_{at}", schema) for at, schema in enumerate(schemas)]
    return spec_text.read(spec_text.write(tools, None, True, 0, wanted))


def in_json(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the response format of a schema."""
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}


def pattern(number: int) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": {"pattern": f"^a{number}$"}}}


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Callable[..., Any]:
    if request.param == "sync":
        return lambda wanted: checks.run(checks.schemas(wanted))
    return lambda wanted: asyncio.run(checks.run_async(checks.schemas(wanted)))


def test_plain_schemas_ask_no_worker(run: Any, workers: Any) -> None:
    fake = workers(Fake())
    run(spec(PLAIN, {}, PLAIN, wanted={"type": "json_object"}))
    assert not fake.asked


def test_each_schema_is_asked_for_once(run: Any, workers: Any) -> None:
    fake = workers(Fake())
    wanted = spec(pattern(1), pattern(2), pattern(1))
    run(wanted)
    run(wanted)
    assert len(fake.asked) == 2


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        (spec(PLAIN, pattern(1)), "$.tools[1].function.parameters.properties.a"),
        (spec(wanted=in_json(pattern(1))), "$.response_format.json_schema.schema.properties.a"),
    ],
)
def test_refusals_always_name_their_place(run: Any, workers: Any, wanted: Spec, path: str) -> None:
    fake = workers(Fake(UnsupportedSchema((CANNOT,))))
    for _ in range(3):
        with pytest.raises(UnsupportedSchema) as refused:
            run(wanted)
        assert refused.value.path == path
        assert refused.value.__context__ is None, "kept errors gather nothing"
    assert len(fake.asked) == 1


def test_a_format_of_text_is_never_compiled_here(run: Any, workers: Any) -> None:
    fake = workers(Fake(InvalidSchema((Problem("$.response_format.regex", "regex", "no"),))))
    with pytest.raises(InvalidSchema) as refused:
        run(spec(wanted={"type": "regex", "regex": "("}))
    assert refused.value.path == "$.response_format.regex"
    assert [asked.wanted.source for asked in fake.asked] == ["("]


def test_a_request_ends_when_its_schemas_together_take_too_long(run: Any, workers: Any) -> None:
    fake = workers(Fake(seconds=1.5))
    wanted = spec(*(pattern(n) for n in range(5)))
    with pytest.raises(Busy, match="sending it again helps"):
        run(wanted)
    assert len(fake.asked) == 2
    with pytest.raises(Busy):
        run(wanted)
    run(wanted)  # all have been remembered by now
    assert len(fake.asked) == 5


def test_what_held_others_up_has_a_line_once(run: Any, workers: Any, lines: Any) -> None:
    request_context.read_header({})  # what other tests left
    request_context.known_as("order-7")
    request_context.change(tools=["tool_0"])
    fake = workers(Fake(seconds=0.26))
    wanted = spec(pattern(1), wanted=in_json(pattern(2)))
    for _ in range(2):
        run(wanted)
    fake.seconds = 0.24
    run(spec(pattern(3)))
    path = "$.response_format.json_schema.schema"
    assert lines() == [
        'enforcer: slow check seconds="0.3" request="order-7" tool="tool_0"',
        f'enforcer: slow check seconds="0.3" path="{path}" request="order-7"',
    ]


def test_of_many_who_wait_for_one_check_one_tells_of_it(
    workers: Any, counted: Counter[CheckOutcome], use: Any, lines: Any
) -> None:
    use(on_unsupported="isolate")
    workers(Fake(UnsupportedSchema((CANNOT,)), seconds=0.26))

    async def all_at_once() -> list[Any]:
        alike = [checks.schemas(spec(pattern(1))) for _ in range(5)]
        return await asyncio.gather(*map(checks.run_async, alike))

    found = asyncio.run(all_at_once())
    assert sorted(one.is_new for (one,) in found) == [False] * 4 + [True]
    assert sum("slow check" in line for line in lines()) == 1
    assert counted == {CheckOutcome.REFUSED: 1, CheckOutcome.KEPT: 4}


def test_isolated_tools_are_never_told_to_come_again(run: Any, workers: Any, use: Any) -> None:
    """What has not been looked at takes any object this time, and is looked at the next."""
    use(on_unsupported="isolate")
    workers(Fake(seconds=1.5))
    wanted = spec(*(pattern(n) for n in range(5)))
    found = [[(one.tool, one.error) for one in run(wanted)] for _ in range(3)]
    assert [len(one) for one in found] == [3, 1, 0]
    assert found[1] == [("tool_4", "SchemaLimit")]
    with pytest.raises(Busy) as refused:  # a format has nothing to be taken in its place
        run(spec(pattern(6), pattern(7), wanted=in_json(pattern(9))))
    assert refused.value.own


@pytest.mark.parametrize("kind", [InvalidSchema, UnsatisfiableSchema, SchemaLimit])
def test_isolated_tools_say_why(run: Any, workers: Any, kind: type[SchemaError], use: Any) -> None:
    """Also where its check is remembered, when it is not new."""
    use(on_unsupported="isolate")
    workers(Fake(kind((CANNOT,))))
    found = [one for _ in range(2) for one in run(spec(PLAIN, pattern(1)))]
    told = [(one.tool, one.error, one.is_new) for one in found]
    assert told == [("tool_1", kind.__name__, is_new) for is_new in (True, False)]


def test_a_beginning_that_was_tried_out_is_remembered_for_every_door(workers: Any) -> None:
    fake = workers(Fake())
    asked = ("a spec", [1, 2, 3], 1, 9)
    asyncio.run(checks.run_async(checks.beginning(*asked)))
    checks.run(checks.beginning(*asked))
    assert len(fake.asked) == 1
    fake.error = IllegalPrefix("$.prompt_token_ids[2]", "no")
    for _ in range(2):
        with pytest.raises(IllegalPrefix):
            checks.run(checks.beginning("a spec", [1, 2, 4], 1, 9))
    with pytest.raises(IllegalPrefix):
        asyncio.run(checks.run_async(checks.beginning("a spec", [1, 2, 4], 1, 9)))
    assert len(fake.asked) == 2


def test_no_room_is_not_remembered(run: Callable[..., Any], workers: Callable[..., Any]) -> None:
    fake = workers(Fake(Busy("later")))
    for _ in range(2):
        with pytest.raises(Busy):
            run(spec(pattern(1)))
    assert len(fake.asked) == 2


def test_another_limit_is_another_question(workers: Any) -> None:
    fake = workers(Fake())
    tool = {"type": "function", "function": {"name": "f", "parameters": PLAIN}}
    text = spec_text.write([tool], None, True, 0)
    usual = settings.current().options
    for limits in (usual.limits, replace(usual.limits, properties=7)):
        settled = specs.Settled("kimi_k2", "machine", replace(usual, limits=limits))
        checks.run(checks.schemas(spec_text.read(settle(text, settled))))
    assert [asked.options.limits.properties for asked in fake.asked] == [7]  # plain by default only


@pytest.mark.slow
def test_what_is_kept_stays_within_the_budget(workers: Callable[..., Any], kept: Cache) -> None:
    workers(Fake())
    for number in range(5_000):
        checks.run(checks.schemas(spec(pattern(number))))
    assert kept.weight <= kept.budget
    assert 100 < len(kept) < 5_000


@pytest.mark.slow
def test_large_schemas_leave_no_trace_in_this_process(workers: Any) -> None:
    # 3,000 schemas of 100 KB each: 300 MB, were they kept.
    workers(Fake()).asked = deque(maxlen=1)

    def after(count: int) -> int:
        for number in range(count):
            values = [f"{number}-{'x' * 100_000}"]
            wanted = spec({"type": "object", "properties": {"a": {"enum": values}}})
            checks.run(checks.schemas(wanted))
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    before = after(100)
    assert after(3_000) - before < 30 << 20


def test_a_slow_check_holds_up_neither_the_loop_nor_a_plain_request(workers: Any) -> None:
    inside, leave = threading.Event(), threading.Event()

    class Slow(Fake):
        async def check_async(self, asked: SchemaCheck) -> TaskVerdict:
            inside.set()
            while not leave.is_set():  # noqa: ASYNC110 - set from the same loop
                await asyncio.sleep(0)
            return self.check(asked)

    fake = workers(Slow())

    async def scene() -> None:
        slow = asyncio.create_task(checks.run_async(checks.schemas(spec(pattern(1)))))
        while not inside.is_set():  # noqa: ASYNC110
            await asyncio.sleep(0)
        await checks.run_async(checks.schemas(spec(PLAIN)))
        assert not slow.done()
        leave.set()
        await slow

    asyncio.run(scene())
    assert len(fake.asked) == 1


def test_passed_schemas_are_looked_up_once(monkeypatch: pytest.MonkeyPatch, workers: Any) -> None:
    """Each prompt of a list brings the same spec."""
    workers(Fake())
    settled = specs.Settled("kimi_k2", "machine", Options())
    wanted = replace(spec(PLAIN, pattern(1)), settled=settled)
    known = Mock(side_effect=checks._known)
    monkeypatch.setattr(checks, "_known", known)
    for _ in range(3):
        assert checks.run(checks.schemas(wanted)) == []
        assert asyncio.run(checks.run_async(checks.schemas(wanted))) == []
    assert known.call_count == 2
