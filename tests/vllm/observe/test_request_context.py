"""What a line of the log says of the request that was refused."""

import asyncio
from contextvars import copy_context
from pathlib import Path

import pytest

from enforcer.vllm.observe import request_context
from enforcer.vllm.server import bodies
from tests.support import asgi
from tests.support.cases import each_case

HTTP = {"type": "http"}


@pytest.fixture(autouse=True)
def _afresh() -> None:
    request_context.known_as("")
    request_context.change(tools=())


@each_case
def test_a_tool_is_named_by_its_place(path: str, tool: str) -> None:
    request_context.change(tools=["first", "second", 3])
    assert request_context.told(path) == {"request": "", "tool": tool}


@pytest.mark.parametrize(
    ("own_id", "known"), [("mine-7", "mine-7"), ("", ""), (None, ""), (7, ""), ({}, "")]
)
def test_the_id_is_the_one_that_the_client_gave(own_id: object, known: str) -> None:
    request_context.known_as("another's")
    request_context.begin(own_id)
    assert request_context.told()["request"] == known


@each_case
def test_a_header_counts_before_the_body(headers: list[list[str]] | None, known: str) -> None:
    seen = []
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in headers or ()]
    scope = {} if headers is None else {"headers": pairs}

    async def route(*_: object) -> None:
        request_context.begin("mine-7")
        seen.append(request_context.told()["request"])

    async def connection() -> None:
        # One of its own, on which another request came before.
        middleware = bodies.RequestMiddleware(route)
        await asgi.exchange(middleware, [], headers=[(b"x-request-id", b"before")])
        await asgi.exchange(middleware, [], **scope)

    asyncio.run(connection())
    assert seen == ["before", known]


def test_a_request_that_comes_knows_nothing_of_the_one_before() -> None:
    async def route(*_: object) -> None:
        assert request_context.told("$.tools[0]") == {"request": "", "tool": ""}
        request_context.known_as("mine-7")
        request_context.change(tools=["get"])

    async def connection() -> None:
        for _ in range(2):
            await bodies.RequestMiddleware(route)(HTTP, None, None)

    asyncio.run(connection())


def test_the_header_stands_behind_an_id_that_was_not_made_of_it() -> None:
    async def route(*_: object) -> None:
        for known, told in (
            ("resp_7_0", "resp_7_0 from-a-proxy"),
            ("chatcmpl-from-a-proxy", "chatcmpl-from-a-proxy"),
            ("", "from-a-proxy"),
        ):
            request_context.known_as(known)
            assert request_context.told()["request"] == told

    middleware = bodies.RequestMiddleware(route)
    asgi.run(middleware, headers=[(b"x-request-id", b"from-a-proxy")])


def test_what_a_client_wrote_is_cut() -> None:
    request_context.known_as("i" * 10_000)
    request_context.change(tools=["n" * 10_000])
    assert request_context.told("$.tools[0]") == {"request": "i" * 64, "tool": "n" * 64}
    assert request_context.told_of_call("m" * 10_000) == {"request": "i" * 64, "tool": "m" * 64}


def test_what_comes_after_a_completion_in_the_same_task_is_none() -> None:
    """As where no request of HTTP's begins anew: what is excepted must not outlive its request."""

    def ask() -> None:
        request_context.begin(None, is_completion=True)
        assert request_context.current().exchange.is_completion
        request_context.begin(None)
        assert not request_context.current().exchange.is_completion

    copy_context().run(ask)


def test_tasks_of_one_exchange_keep_their_own_ids() -> None:
    """As of a batch, whose dialogs are rendered and generated in tasks side by side."""

    async def serve(name: str) -> str:
        request_context.begin(None)
        request_context.known_as(name)
        await asyncio.sleep(0)
        return request_context.told()["request"]

    async def route(*_: object) -> None:
        assert list(await asyncio.gather(serve("one"), serve("two"))) == ["one", "two"]

    asyncio.run(bodies.RequestMiddleware(route)(HTTP, None, None))


def test_no_other_module_has_a_context_variable() -> None:
    """Each would be an argument that nobody sees; the reason for this one is in its docstring."""
    sources = (Path(request_context.__file__).parents[2]).rglob("*.py")
    having = [path.name for path in sources if "ContextVar(" in path.read_text("utf-8")]
    assert having == ["request_context.py"]
