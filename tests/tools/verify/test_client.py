import asyncio
import time
from typing import Any

import pytest

from enforcer.errors import ConfigurationError
from enforcer.judging.replies import ChatReply
from enforcer.tools.verify import client
from enforcer.tools.verify.client import Endpoint
from tests.fake_server import reply, serving
from tests.support.cases import parametrized
from tests.support.nested import nested

NOWHERE = "http://127.0.0.1:9"


def answer(body: dict[str, Any]) -> tuple[int, Any]:
    name = body["name"]
    if name == "refused":
        return 400, {"error": {"message": "no such keyword"}}
    if name == "garbage":
        return 200, "data: {" if body.get("stream") else "<html>"
    if name == "slow":
        time.sleep(1)
    return reply(body, content=name)


def ask(url: str, *bodies: dict[str, Any], **more: Any) -> list[ChatReply]:
    endpoint = Endpoint.at(url, **more)
    done = []
    replies = asyncio.run(client.send_all(endpoint, bodies, lambda *one: done.append(one)))
    assert sorted(done, key=lambda one: one[0]) == list(enumerate(replies))
    return replies


def test_replies_stand_in_the_order_of_the_requests() -> None:
    names = [f"n{n}" for n in range(100)]
    with serving(answer) as server:
        replies = ask(
            server.url,
            *({"name": name, "stream": n % 2 == 0} for n, name in enumerate(names)),
            concurrency=32,
        )
    assert [r.content for r in replies] == names
    assert all(r.answered for r in replies)


def test_errors_are_replies() -> None:
    with serving(answer) as server:
        bodies = [{"name": n, "stream": s} for n in ("refused", "garbage") for s in (False, True)]
        *refused, whole, streamed = ask(server.url, *bodies)
    assert [r.status for r in refused] == [400, 400]
    assert all("no such keyword" in r.error for r in refused)
    assert "not JSON" in whole.error
    assert "not JSON" in streamed.error


def test_silence_is_a_reply_too() -> None:
    with serving(answer) as server:
        [got] = ask(server.url, {"name": "slow"}, timeout=0.1)
    assert got.status == 0
    assert "Timeout" in got.error


def test_no_server_is_a_reply_too() -> None:
    [got] = ask(NOWHERE, {"name": "x"})
    assert got.status == 0
    assert "ConnectError" in got.error


def test_the_key_is_sent() -> None:
    with serving(answer) as server:
        ask(server.url, {"name": "x"}, key="secret")
        assert server.headers[0]["Authorization"] == "Bearer secret"


def test_requests_have_ids_where_they_are_given() -> None:
    with serving(answer) as server:
        endpoint, bodies = Endpoint.at(server.url), [{"name": "x"}, {"name": "y"}]
        asyncio.run(client.send_all(endpoint, bodies, ids=["first", "second"]))
        named = {
            (body["name"], headers["X-Request-Id"])
            for body, headers in zip(server.bodies, server.headers, strict=True)
        }
        ask(server.url, {"name": "z"})
    assert named == {("x", "first"), ("y", "second")}
    assert "X-Request-Id" not in server.headers[-1]


@parametrized("tools/verify/cases/client.toml", "urls")
def test_base_urls_are_read_as_typed(typed: str, read: str) -> None:
    assert Endpoint.at(typed).url == read


@pytest.mark.parametrize("typed", ["", "h:1", "ftp://h", "http://", "http://[::1"])
def test_what_is_no_url_is_refused(typed: str) -> None:
    with pytest.raises(ConfigurationError):
        Endpoint.at(typed)


def models(listing: tuple[int, Any], key: str | None = None) -> list[str]:
    with serving(answer, listing) as server:
        return asyncio.run(client.models(Endpoint.at(server.url, key=key)))


def test_models_are_listed() -> None:
    assert models((200, {"data": [{"id": "a"}, {"id": "b"}]})) == ["a", "b"]


@pytest.mark.parametrize(
    "listing", [(500, {}), (200, []), (200, {"data": None}), (200, {"data": 3})]
)
def test_a_server_need_not_list_its_models(listing: tuple[int, Any]) -> None:
    assert models(listing) == []


def test_a_url_that_leads_nowhere_is_told() -> None:
    with pytest.raises(client.Unanswered, match="which mostly ends in /v1") as caught:
        models((404, {}))
    assert caught.value.is_listless


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(
    ("key", "found", "mend"),
    [
        ("nope", "refuses the key", "give another one with --key or $OPENAI_API_KEY"),
        (None, "wants a key", "give it with --key or $OPENAI_API_KEY"),
    ],
)
def test_a_bad_or_missing_key_is_told(status: int, key: str | None, found: str, mend: str) -> None:
    with pytest.raises(client.Unanswered) as caught:
        models((status, {}), key)
    assert str(caught.value).endswith(f" {found} (HTTP {status}); {mend}")


def test_no_server_has_no_models() -> None:
    with pytest.raises(ConfigurationError, match="no server answers"):
        asyncio.run(client.models(Endpoint.at(NOWHERE)))


@pytest.mark.parametrize(
    "typed",
    [
        "http://h:99999",
        "http://h:-1",
        "http://h:x",
        "http://h\n",
        "http://h/\x1b[2J",
        "http://h/\ud800",
    ],
    ids=ascii,
)
def test_a_url_that_nobody_can_ask_is_refused_before_anyone_is_asked(typed: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a URL"):
        Endpoint.at(typed)


@pytest.mark.parametrize("key", ["é", "top\nsecret", "secret\r\n", " secret", "secret ", "a\udcff"])
def test_a_key_that_no_header_may_have_is_told_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigurationError, match=r"API key .* no header may have") as refused:
        Endpoint.at("http://h", key=key)
    assert "secret" not in str(refused.value)
    assert str(refused.value).isascii()


@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_that_is_nested_too_deeply_is_a_reply_too(stream: bool) -> None:
    deep = "[" * 100_000
    with serving(lambda _: (200, f"data: {deep}" if stream else deep)) as server:
        [got] = ask(server.url, {"stream": stream})
        with pytest.raises(ConfigurationError, match="not JSON"):
            asyncio.run(client.post(Endpoint.at(server.url), "/completions", {}))
    assert not got.answered
    assert "nested too deeply" in got.error


def test_an_error_that_is_nested_too_deeply_is_quoted() -> None:
    with serving(lambda _: (400, "[" * 100_000)) as server:
        [got] = ask(server.url, {})
    assert (got.status, got.error[:3]) == (400, "[[[")


DEEP = nested(100_000, lambda inner: [inner], [])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), DEEP], ids=["nan", "inf", "deep"])
def test_of_a_request_that_cannot_be_written_no_server_is_blamed(value: Any) -> None:
    with serving(answer) as server:
        [got] = ask(server.url, {"name": value})
        assert not server.bodies
        with pytest.raises(ConfigurationError, match="the request cannot be written as JSON"):
            asyncio.run(client.post(Endpoint.at(server.url), "/completions", {"prompt": value}))
    assert got.status == 0
    assert "not sent: the request cannot be written" in got.error


def test_the_half_of_a_surrogate_pair_is_sent_as_it_was_recorded() -> None:
    with serving(answer) as server:
        ask(server.url, {"name": "x", "user": "\ud800é"})
    assert server.bodies == [{"name": "x", "user": "\ud800é"}]


@parametrized("tools/verify/cases/client.toml", "metrics")
def test_a_server_tells_its_format(metrics: str | None, dialect: str | None) -> None:
    assert client.dialect_told(metrics) == dialect
