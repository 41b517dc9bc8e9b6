"""What is checked of a request, what is remembered, and what never waits."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, deque
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from enforcer.cache import Cache
from enforcer.checking.task import TaskVerdict
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
from enforcer.vllm.config import settings
from enforcer.vllm.intake import checks
from enforcer.vllm.observe import metrics, request_context
from enforcer.vllm.observe.metric_defs import CheckOutcome
from enforcer.vllm.server import runtime
from tests.spec_cases import settled as settle

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.checking.work import SchemaCheck
    from enforcer.request.spec import Spec


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


def spec(*schemas: dict[str, Any], response_format: dict[str, Any] | None = None) -> Spec:
    tools = [
        {"type": "function", "function": {"name": f"tool_{at}", "parameters": schema}}
        for at, schema in enumerate(schemas)
    ]
    return spec_text.read(spec_text.write(tools, None, True, 0, response_format))


def pattern(number: int) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": {"pattern": f"^a{number}$"}}}


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Callable[..., Any]:
    if request.param == "sync":
        return lambda wanted: checks.run(checks.schemas(wanted))
    return lambda wanted: asyncio.run(checks.run_async(checks.schemas(wanted)))


def test_plain_schemas_ask_no_worker(run: Callable[..., Any], workers: Callable[..., Any]) -> None:
    fake = workers(Fake())
    run(spec(PLAIN, {}, PLAIN, response_format={"type": "json_object"}))
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
        (
            spec(
                response_format={"type": "json_schema", "json_schema": {"schema": {"pattern": "x"}}}
            ),
            "$.response_format.json_schema.schema.properties.a",
        ),
    ],
)
def test_a_refusal_names_its_place_in_the_request_again_and_again(
    run: Any, workers: Any, wanted: Spec, path: str
) -> None:
    fake = workers(Fake(UnsupportedSchema((Problem("$.properties.a", "pattern", "cannot"),))))
    for _ in range(3):
        with pytest.raises(UnsupportedSchema) as refused:
            run(wanted)
        assert refused.value.path == path
        assert (
            refused.value.__context__ is None
        )  # kept errors gather nothing from request to request
    assert len(fake.asked) == 1


def test_a_format_of_text_is_never_compiled_here(run: Any, workers: Any) -> None:
    fake = workers(Fake(InvalidSchema((Problem("$.response_format.regex", "regex", "no"),))))
    with pytest.raises(InvalidSchema) as refused:
        run(spec(response_format={"type": "regex", "regex": "("}))
    assert refused.value.path == "$.response_format.regex"
    assert [asked.wanted.source for asked in fake.asked] == ["("]


def test_a_request_ends_when_its_schemas_have_taken_too_long_together(
    run: Any, workers: Any
) -> None:
    fake = workers(Fake(seconds=1.5))
    wanted = spec(*(pattern(n) for n in range(5)))
    with pytest.raises(Busy, match="sending it again helps"):
        run(wanted)
    assert len(fake.asked) == 2
    with pytest.raises(Busy):
        run(wanted)
    run(wanted)  # all have been remembered by now
    assert len(fake.asked) == 5


def test_what_held_others_up_has_a_line_once(
    run: Any, workers: Any, caplog: pytest.LogCaptureFixture
) -> None:
    request_context.read_header({})  # what other tests left
    request_context.known_as("order-7")
    request_context.change(tools=["tool_0"])
    fake = workers(Fake(seconds=0.26))
    own = {"type": "json_schema", "json_schema": {"name": "x", "schema": pattern(2)}}
    wanted = spec(pattern(1), response_format=own)
    for _ in range(2):
        run(wanted)
    fake.seconds = 0.24
    run(spec(pattern(3)))
    path = "$.response_format.json_schema.schema"
    assert [each.getMessage() for each in caplog.records] == [
        'enforcer: slow check seconds="0.3" request="order-7" tool="tool_0"',
        f'enforcer: slow check seconds="0.3" path="{path}" request="order-7"',
    ]


def test_of_many_who_wait_for_one_check_one_tells_of_it(
    workers: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    chosen = settings.read({"ENFORCER_ON_UNSUPPORTED": "isolate"})
    counted: Counter[CheckOutcome] = Counter()
    monkeypatch.setattr(settings, "current", lambda: chosen)
    monkeypatch.setattr(metrics, "count", lambda _, how: counted.update([how]))
    cannot = UnsupportedSchema((Problem("$.properties.a", "pattern", "cannot"),))
    workers(Fake(cannot, seconds=0.26))

    async def all_at_once() -> list[Any]:
        alike = [checks.schemas(spec(pattern(1))) for _ in range(5)]
        return await asyncio.gather(*map(checks.run_async, alike))

    found = asyncio.run(all_at_once())
    assert sorted(one.is_new for (one,) in found) == [False] * 4 + [True]
    assert sum("slow check" in each.getMessage() for each in caplog.records) == 1
    assert counted == {CheckOutcome.REFUSED: 1, CheckOutcome.KEPT: 4}


def test_where_tools_are_isolated_none_is_told_to_come_again_for_its_own_schemas(
    run: Any, workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has not been looked at takes any object this time, and is looked at the next."""
    chosen = settings.read({"ENFORCER_ON_UNSUPPORTED": "isolate"})
    monkeypatch.setattr(settings, "current", lambda: chosen)
    workers(Fake(seconds=1.5))
    wanted = spec(*(pattern(n) for n in range(5)))
    found = [[(one.tool, one.error) for one in run(wanted)] for _ in range(3)]
    assert [len(one) for one in found] == [3, 1, 0]
    assert found[1] == [("tool_4", "SchemaLimit")]
    own = {"type": "json_schema", "json_schema": {"name": "x", "schema": pattern(9)}}
    with pytest.raises(Busy) as refused:  # a format has nothing to be taken in its place
        run(spec(pattern(6), pattern(7), response_format=own))
    assert refused.value.own


@pytest.mark.parametrize("kind", [InvalidSchema, UnsatisfiableSchema, SchemaLimit])
def test_what_is_isolated_says_which_error_it_would_be(
    run: Any, workers: Any, kind: type[SchemaError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where its check is remembered, when it is not new."""
    chosen = settings.read({"ENFORCER_ON_UNSUPPORTED": "isolate"})
    monkeypatch.setattr(settings, "current", lambda: chosen)
    workers(Fake(kind((Problem("$.properties.a", "pattern", "cannot"),))))
    found = [one for _ in range(2) for one in run(spec(PLAIN, pattern(1)))]
    assert [(one.tool, one.error, one.is_new) for one in found] == [
        ("tool_1", kind.__name__, True),
        ("tool_1", kind.__name__, False),
    ]


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


def test_another_limit_is_another_question(workers: Callable[..., Any]) -> None:
    fake = workers(Fake())
    text = spec_text.write(
        [{"type": "function", "function": {"name": "f", "parameters": PLAIN}}], None, True, 0
    )
    for most in (None, 7):
        options = settings.current().options
        if most is not None:
            limits = replace(options.limits, properties=most)
            options = replace(options, limits=limits)
        settled = specs.Settled("kimi_k2", "machine", options)
        checks.run(checks.schemas(spec_text.read(settle(text, settled))))
    assert [asked.options.limits.properties for asked in fake.asked] == [7]  # plain by default only


@pytest.mark.slow
def test_what_is_kept_stays_within_the_budget(workers: Callable[..., Any], kept: Cache) -> None:
    workers(Fake())
    for number in range(5_000):
        checks.run(checks.schemas(spec(pattern(number))))
    assert kept.weight <= kept.budget
    assert 100 < len(kept) < 5_000


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.slow
def test_large_schemas_leave_no_trace_in_this_process(workers: Any) -> None:
    # 3,000 schemas of 100 KB each: 300 MB, were they kept.
    workers(Fake()).asked = deque(maxlen=1)

    def large(number: int) -> dict[str, Any]:
        return {"type": "object", "properties": {"a": {"enum": [f"{number}-{'x' * 100_000}"]}}}

    for number in range(100):
        checks.run(checks.schemas(spec(large(number))))
    before = _resident()
    for number in range(3_000):
        checks.run(checks.schemas(spec(large(number))))
    assert _resident() - before < 30 << 20


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


def test_the_schemas_of_a_settled_spec_that_have_passed_are_looked_up_once(
    monkeypatch: pytest.MonkeyPatch, workers: Any
) -> None:
    """Each prompt of a list brings the same spec."""
    workers(Fake())
    settled = specs.Settled("kimi_k2", "machine", Options())
    wanted = replace(spec(PLAIN, pattern(1)), settled=settled)
    looked: list[Any] = []
    known = checks._known

    def counted(asked: SchemaCheck) -> TaskVerdict | None:
        looked.append(asked)
        return known(asked)

    monkeypatch.setattr(checks, "_known", counted)
    for _ in range(3):
        assert checks.run(checks.schemas(wanted)) == []
        assert asyncio.run(checks.run_async(checks.schemas(wanted))) == []
    assert len(looked) == 2
