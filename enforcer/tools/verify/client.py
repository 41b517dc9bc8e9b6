"""A client of OpenAI-compatible servers: many chat requests at a time, models, metrics.

The only importer of `httpx`. Nothing is sent twice: a retry would hide what is measured.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from enforcer.errors import ConfigurationError
from enforcer.judging import replies
from enforcer.judging.replies import ChatReply
from enforcer.tools.verify import KEY_VARIABLE

_ROUTES = ("/chat/completions", "/completions", "/responses", "/messages", "/models")
_JSON = {"Content-Type": "application/json"}
_REQUEST_ID = "X-Request-Id"
_SENDABLE = re.compile("[!-~]([ -~]*[!-~])?")  # what a header may have behind `Bearer`
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_QUOTED = 10_000  # characters of a server's error that are kept


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible server.

    Attributes:
        url: base of its routes, as OpenAI's clients take it (it ends in `/v1`, mostly).
        key: API key; None sends none.
        timeout: seconds that a server may stay silent.
        concurrency: requests in flight.

    """

    url: str
    key: str | None = None
    timeout: float = 300
    concurrency: int = 16

    @classmethod
    def at(cls, url: str, **more: Any) -> Endpoint:
        """Read a base URL as people type it: without `/v1`, with a slash or a route at the end.

        Raises:
            ConfigurationError: not an http or https URL, or a key that cannot be sent.

        """
        try:
            parts = httpx.URL(url)
            _ = urlsplit(url).port  # httpx takes a port that is none
        except (ValueError, httpx.InvalidURL) as error:
            raise ConfigurationError(f"{url!r} is not a URL: {error}") from error
        if (key := more.get("key")) and not _SENDABLE.fullmatch(key):  # it is nobody's to print
            raise ConfigurationError(
                f"the API key (--key or ${KEY_VARIABLE}) has a character that no header may have "
                "there, as a line feed, a space at an end, or one that is not ASCII: give the key "
                "alone"
            )
        if parts.scheme not in ("http", "https") or not parts.host:
            meant = "" if "://" in url or not url.strip("/") else f": do you mean http://{url}?"
            raise ConfigurationError(f"{url!r} is not an http or https URL{meant}")
        base = url.rstrip("/")
        for route in _ROUTES:
            base = base.removesuffix(route)
        return cls(base if parts.path.strip("/") else f"{base}/v1", **more)

    def client(self) -> httpx.AsyncClient:
        """Open a client; close it after use."""
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        limits = httpx.Limits(max_connections=self.concurrency)
        return httpx.AsyncClient(
            base_url=self.url, headers=headers, timeout=self.timeout, limits=limits
        )


class Unanswered(ConfigurationError):  # noqa: N818 - named for what is wrong
    """A server did not say which models it serves.

    The message ends in what to do about it, behind the last semicolon.

    Attributes:
        is_listless: whether it answers, but has no list of models, as a gateway may have none.

    """

    def __init__(self, message: str, *, is_listless: bool = False) -> None:
        super().__init__(message)
        self.is_listless = is_listless


async def models(endpoint: Endpoint) -> list[str]:
    """Ask which models are served; empty where the server does not say.

    Raises:
        Unanswered: no server answers there, or it wants another key, protocol or path.

    """
    response = await _ask(endpoint, "/models")
    if response.status_code in (401, 403):
        does, one = ("refuses the key", "another one") if endpoint.key else ("wants a key", "it")
        raise Unanswered(
            f"{endpoint.url} {does} (HTTP {response.status_code}); give {one} with --key or "
            f"${KEY_VARIABLE}"
        )
    if response.status_code in (404, 405):
        raise Unanswered(
            f"{endpoint.url} has no list of models (HTTP {response.status_code} at "
            f"{endpoint.url}/models); mend the path in --url, which mostly ends in /v1, or name "
            "the model of a gateway",
            is_listless=True,
        )
    try:
        listed = response.json()["data"]
        return [str(each["id"]) for each in listed]
    except (LookupError, TypeError, ValueError, RecursionError):
        return []


async def only_model(endpoint: Endpoint, where: str) -> str:
    """Return the model that a server serves.

    Raises:
        ConfigurationError: it serves several, or does not say; `where` tells how to name one.

    """
    served = await models(endpoint)
    if len(served) == 1:
        return served[0]
    known = f"one of {', '.join(served)}" if served else "it does not say which it serves"
    raise ConfigurationError(f"name the model of {endpoint.url} {where}: {known}")


async def metrics(endpoint: Endpoint) -> str | None:
    """Read the server's `/metrics`, which vLLM serves beside `/v1`; None if it shows none."""
    try:
        response = await _ask(endpoint, endpoint.url.removesuffix("/v1") + "/metrics")
    except Unanswered:
        return None  # a gateway may let nothing but `/v1` through
    return response.text if response.is_success else None


def dialect_told(metrics: str | None) -> str | None:
    """Return the dialect that a server's metrics name; None if they name none, or several."""
    found = {labels["dialect"] for labels, count in samples(metrics, "enforcer_dialect") if count}
    return found.pop() if len(found) == 1 else None


def samples(metrics: str | None, family: str) -> list[tuple[dict[str, str], float]]:
    """Return the labels and the value of each sample of a metric family."""
    found = re.findall(rf"^{family}\{{(.*)\}} (\S+)$", metrics or "", re.MULTILINE)
    return [(dict(_LABEL.findall(labels)), float(value)) for labels, value in found]


async def post(endpoint: Endpoint, route: str, body: Mapping[str, Any]) -> Any:
    """Post one body, and return the JSON of the response.

    Raises:
        ConfigurationError: no server answers there, or with an error, which the message quotes.

    """
    response = await _ask(endpoint, route, _written(body))
    if not response.is_success:
        raise ConfigurationError(
            f"{endpoint.url}{route} answers with HTTP {response.status_code}: {_said(response)}"
        )
    try:
        return response.json()
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{endpoint.url}{route} sends what is not JSON") from error


async def _ask(endpoint: Endpoint, route: str, content: bytes | None = None) -> httpx.Response:
    """Get a route, or post JSON to it.

    Raises:
        Unanswered: no server answers there, or in another protocol.

    """
    try:
        async with endpoint.client() as client:
            if content is None:
                return await client.get(route)
            return await client.post(route, content=content, headers=_JSON)
    except httpx.HTTPError as error:
        raise _unanswered(endpoint, error) from error


def _unanswered(endpoint: Endpoint, error: httpx.HTTPError) -> Unanswered:
    """Return the error of a failed connection, with its likely cause and cure."""
    scheme, _, rest = endpoint.url.partition("://")
    meant = ""
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        said = f"the certificate of {endpoint.url} is not trusted here"
    elif scheme == "https" and "[SSL" in str(error):
        said, meant = f"{endpoint.url} answers, but not in https", f": do you mean http://{rest}?"
    elif isinstance(error, httpx.RemoteProtocolError | httpx.ReadError | httpx.WriteError):
        said = f"{endpoint.url} answers, but not in {scheme}"
        meant = "" if scheme == "https" else f": do you mean https://{rest}, or another port?"
    else:
        return Unanswered(
            f"no server answers at {endpoint.url}: {error!r}; start it, or mend --url"
        )
    return Unanswered(f"{said}: {error!r}{meant}; mend --url, or what answers there")


async def send_all(
    endpoint: Endpoint,
    bodies: Sequence[Mapping[str, Any]],
    done: Callable[[int, ChatReply], None] = lambda _at, _reply: None,
    ids: Sequence[str] | None = None,
) -> list[ChatReply]:
    """Send every body to `/chat/completions`.

    Args:
        endpoint: where to.
        bodies: chat completion requests; one with `"stream": true` is read as a stream.
        done: called with each reply and its body's place, in the order of arrival.
        ids: the requests' ids, by which the server's log names them.

    Returns:
        Replies in the order of the bodies. An error is a reply too.

    """
    gate = asyncio.Semaphore(endpoint.concurrency)
    async with endpoint.client() as client:

        async def send(at: int, body: Mapping[str, Any]) -> ChatReply:
            async with gate:
                reply = await _send(client, body, {_REQUEST_ID: ids[at]} if ids else {})
            done(at, reply)
            return reply

        return await asyncio.gather(*(send(at, body) for at, body in enumerate(bodies)))


def _said(response: httpx.Response) -> str:
    """Return the message of an error's JSON, else the whole text."""
    text = response.text or response.reason_phrase
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text[:_QUOTED]
    error = value.get("error", value) if isinstance(value, dict) else None
    said = error.get("message") if isinstance(error, dict) else None
    return (said if isinstance(said, str) and said else text)[:_QUOTED]


async def _send(
    client: httpx.AsyncClient, body: Mapping[str, Any], headers: Mapping[str, str]
) -> ChatReply:
    try:
        async with client.stream(
            "POST", "/chat/completions", content=_written(body), headers={**_JSON, **headers}
        ) as response:
            if not response.is_success:
                await response.aread()
                return ChatReply(response.status_code, _said(response))
            if not body.get("stream"):
                return replies.whole(json.loads(await response.aread()))
            lines = [line async for line in response.aiter_lines()]
            return replies.joined(replies.events(lines))
    except ConfigurationError as error:
        return ChatReply(0, f"not sent: {error}")
    except httpx.HTTPError as error:
        return ChatReply(0, repr(error))
    except RecursionError:
        return ChatReply(replies.OK, "the server sent JSON that is nested too deeply to be read")
    except ValueError as error:
        return ChatReply(replies.OK, f"the server sent what is not JSON: {error}")


def _written(body: Mapping[str, Any]) -> bytes:
    """Write a body as ASCII, which can escape halves of surrogate pairs.

    Raises:
        ConfigurationError: JSON has no way to write it.

    """
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"the request cannot be written as JSON: {error}") from error
