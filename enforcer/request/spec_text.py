"""The JSON text of a spec, sent by the client or the API server to the engine.

`Wire` is the decoded text, whose tools and response format stay JSON: each is read once for all
requests that have the same. Nothing in a text is trusted.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from enforcer.errors import ConfigurationError, InvalidTools
from enforcer.request import response_format as formats
from enforcer.request import tools as tools_
from enforcer.request.json_text import UNREADABLE, dump, misfit
from enforcer.request.spec import Settled, Spec
from enforcer.schema import OnUnsupported

HERE = "$.enforcer"  # the path of a spec, in errors about it
_VERSION: Final = 3
_MOST_CALLS = 10**8  # an index of more than nine digits is not parsed from a reply


class Wire(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of a spec's text.

    Attributes:
        version: changes when an older reader would misread a text.
        tools, tool_choice, parallel_tool_calls, response_format: as in a chat request; of the
            tools only names and parameters.
        first_index, on_unsupported, finish_within_budget, closed_objects, settled: see `Spec`.

    """

    version: Literal[3]
    tools: msgspec.Raw
    tool_choice: Any
    parallel_tool_calls: Any
    first_index: Annotated[int, msgspec.Meta(ge=0, lt=_MOST_CALLS)]
    response_format: msgspec.Raw
    on_unsupported: OnUnsupported | None
    finish_within_budget: bool | None
    closed_objects: bool | None
    settled: Settled | None

    def spec(self) -> Spec:
        """Return the spec, its schemas unchecked.

        Raises:
            InvalidTools: a field is not what a chat request carries.

        """
        tools = tools_.read(bytes(self.tools))
        return Spec(
            tools_.choose(tools, self.tool_choice, self.parallel_tool_calls),
            self.first_index,
            formats.read(bytes(self.response_format)),
            self.on_unsupported,
            self.finish_within_budget,
            self.closed_objects,
            self.settled,
        )

    def text(self) -> str:
        """Return the JSON text.

        Raises:
            InvalidTools: a field is not JSON.

        """
        try:
            return msgspec.json.encode(self).decode()
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidTools("$", f"it is not JSON: {error}") from error

    def settle(self, settled: Settled) -> Wire:
        """Return a copy with the API server's decisions."""
        return msgspec.structs.replace(self, settled=settled)

    def put(self, spec: Spec) -> Wire:
        """Return a copy with the schemas of a spec that was made of this one."""
        wanted, form = spec.response_format, self.response_format
        if wanted is not None and wanted.kind is formats.FormatKind.JSON_SCHEMA:
            form = msgspec.Raw(formats.rewritten(wanted))
        tools = msgspec.Raw(tools_.rewritten(spec.toolset.tools))
        return msgspec.structs.replace(self, tools=tools, response_format=form)


_DECODER = msgspec.json.Decoder(Wire)


def wire(
    tools: object,
    tool_choice: object,
    parallel: object,
    first_index: int,
    response_format: object = None,
    *,
    on_unsupported: OnUnsupported | str | None = None,
    finish_within_budget: bool | None = None,
    closed_objects: bool | None = None,
    settled: Settled | None = None,
) -> Wire:
    """Return a spec's fields, built of those of a chat request; only `Wire.spec` checks them.

    Args:
        tools, tool_choice, parallel: as in a chat request; or tools as `msgspec.Raw`, as
            `enforcer.request.tools.encoded` writes them.
        first_index: number of calls in the dialog so far.
        response_format: as `enforcer.request.response_format.parse` takes it.
        on_unsupported: an `OnUnsupported` or its value; None for the server's option.
        finish_within_budget: see `Options`; None for the server's option.
        closed_objects: see `enforcer.schema.Conventions`; None for the server's option.
        settled: the API server's decisions; None from a client.

    Raises:
        InvalidTools: a field is not JSON; the path leads into it.

    """
    dump(tool_choice, "$.tool_choice", 1)
    dump(parallel, "$.parallel_tool_calls")
    word: Any = on_unsupported
    return Wire(
        _VERSION,
        tools if isinstance(tools, msgspec.Raw) else msgspec.Raw(tools_.encoded(tools)),
        tool_choice,
        parallel,
        first_index,
        msgspec.Raw(formats.encoded(response_format)),
        word,
        finish_within_budget,
        closed_objects,
        settled,
    )


def write(*fields: Any, **options: Any) -> str:
    """Return the JSON text of a spec; takes the arguments of `wire`, and raises as it does."""
    return wire(*fields, **options).text()


def decode(text: object) -> Wire:
    """Return the fields of a spec's text.

    Raises:
        InvalidTools: the text is no spec.

    """
    if not isinstance(text, str):
        raise InvalidTools(HERE, "not a spec; build it with `enforcer.extra_body`")
    try:
        return _DECODER.decode(text)
    except msgspec.ValidationError as error:
        raise _refused(misfit(error, HERE)) from error
    except ConfigurationError as error:  # raised by the options
        raise _refused(misfit(error, f"{HERE}.settled")) from error
    except UNREADABLE as error:
        raise InvalidTools(HERE, f"the spec is not JSON: {error}") from error


def _refused(error: InvalidTools) -> InvalidTools:
    """Return the error for a text in another form than this version's."""
    if error.path.startswith(f"{HERE}.settled"):
        reason = "only a server of the same version writes it: leave it out"
        return InvalidTools(f"{HERE}.settled", reason)
    if error.path not in (HERE, f"{HERE}.version"):
        return error
    return InvalidTools(
        HERE,
        f"not a spec of form {_VERSION}, which this server reads ({error.reason}): build it with "
        "`enforcer.extra_body`, and give client and server the same version of the Enforcer",
    )


def read(text: object) -> Spec:
    """Return the spec of a text, its schemas unchecked; raise as `decode` and `Wire.spec` do."""
    return decode(text).spec()
