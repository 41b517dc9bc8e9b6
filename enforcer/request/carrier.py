"""Carrier of a spec: the fields of vLLM's requests that hold its text, and that vLLM does not read.

A client sends the spec's text inside a structural tag. The API server moves it: the tag keeps the
text's digest, and the extra arguments of the sampling parameters (`vllm_xargs` of a request's body)
hold the text once. The tag's own format is a token that no vocabulary has: xgrammar reads it, and
fails to compile it, so that an engine without the plugin fails closed. Specs for the logits
processor are in the extra arguments alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from enforcer.errors import InvalidTools
from enforcer.request import spec_text

KEY = "enforcer"
BESIDE = "enforcer_spec"  # the extra argument with the text whose digest is in the tag
# The beginning of the 400 of a server that serves no request without a spec.
REQUIRES = "this server serves enforced requests only"
# The reason for which streaming input sessions are rejected.
SESSION = (
    "streaming input sessions cannot be enforced, as the prompt changes during generation: send "
    "whole requests"
)
# The operator's setting that the error of a forbidden option names.
ALLOW = "ENFORCER_ALLOW_CLIENT"
_IMPOSSIBLE = {"type": "token", "token": 2**31 - 1}
_DIGEST = "sha256:"
# Every body with a spec has one of these: the key, or the beginning of an escape of one of its
# letters. A body in UTF-16 or UTF-32, which vLLM reads as well, has a zero among its first bytes.
_MARKS = (KEY.encode(), rb"\u006", rb"\u007")


class Carried(NamedTuple):
    """A spec as found in a request, unchecked.

    Attributes:
        text: the spec's text; any JSON value, if a client wrote it.
        digest: the digest in the tag, if the text is beside it; empty if the text is inside.

    """

    text: object
    digest: str = ""

    def checked(self) -> object:
        """Return the text.

        Raises:
            InvalidTools: the text does not have the tag's digest.

        """
        if self.digest and not (isinstance(self.text, str) and digest_of(self.text) == self.digest):
            raise InvalidTools(
                spec_text.HERE,
                f"the extra argument `{BESIDE}` is not the text that the structural tag was made "
                "for: send what `enforcer.extra_body` builds, and hand on both as they are",
            )
        return self.text


class _Tag(msgspec.Struct):
    enforcer: Any = None


_TAG = msgspec.json.Decoder(_Tag)


def may_be_in(body: bytes) -> bool:
    """Return whether the body of a request may carry a spec, without parsing it."""
    return b"\0" in body[:4] or any(mark in body for mark in _MARKS)


def digest_of(text: str) -> str:
    """Return the digest by which a tag refers to the text beside it."""
    return _DIGEST + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def structural_tag(spec: str) -> str:
    """Return the JSON text of a structural tag that holds a spec's text, or its digest."""
    tag = {"type": "structural_tag", "format": _IMPOSSIBLE, KEY: spec}
    return msgspec.json.encode(tag).decode()


def from_structural_tag(tag: object) -> Any:
    """Return the spec's text or digest in a structural tag; None if it has neither."""
    if not isinstance(tag, str) or f'"{KEY}"' not in tag:
        return None
    try:
        return _TAG.decode(tag).enforcer
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None  # vLLM reports the error


def find(params: Any) -> Carried | None:
    """Return the spec of a request, or of sampling parameters; None if they carry none."""
    own = declared(params, "structured_outputs")
    found = None if own is None else from_structural_tag(own.structural_tag)
    if found is None:
        return None
    if isinstance(found, str) and found.startswith(_DIGEST):
        return Carried(extra_of(params).get(BESIDE), found)
    return Carried(found)


def declared(body: Any, name: str) -> Any:
    """Return a field of a request, or of sampling parameters; None if its class declares none.

    vLLM's requests keep fields that their class does not declare: a plain `getattr` would return
    whatever a client wrote under the name.
    """
    fields = getattr(type(body), "model_fields", None)
    return getattr(body, name, None) if fields is None or name in fields else None


def put(params: Any, text: str, digest: str) -> None:
    """Move a text beside the structural tag of a request or sampling parameters, in place."""
    params.structured_outputs.structural_tag = structural_tag(digest)
    setattr(params, _extra_name(params), {**extra_of(params), BESIDE: text})


def without(params: Any) -> Any:
    """Return a copy of sampling parameters without their spec."""
    copy = params.clone()
    copy.structured_outputs = None
    rest = {name: value for name, value in extra_of(params).items() if name != BESIDE}
    copy.extra_args = rest or None
    return copy


def extra_of(params: Any) -> Mapping[str, Any]:
    """Return the extra arguments of a request, or of sampling parameters."""
    return declared(params, _extra_name(params)) or {}


def _extra_name(params: Any) -> str:
    return "extra_args" if hasattr(type(params), "extra_args") else "vllm_xargs"


def from_extra(extra: object) -> str | None:
    """Return the spec's text in `vllm_xargs`; None if there is none, or another value."""
    found = extra.get(KEY) if isinstance(extra, Mapping) else None
    return found if isinstance(found, str) and found.lstrip().startswith("{") else None
