"""A server with a parser of vLLM's own: requests that bring a spec are read by the enforcer's.

Owns: who prepares and reads a chat request on a server that was not started with a parser of ours.
Must not know: how either of them does.

A request that brings a spec of `enforcer.extra_body` is treated as on a server that enforces all:
vLLM's parsers read text, change arguments after the schema (`5` becomes `"5"` where a `$ref` says
what it is), and report calls that were cut off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vllm.parser.abstract_parser import Parser as VllmParser

from enforcer.request import carrier
from enforcer.turn import dialects

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class EitherParser(VllmParser):  # type: ignore[misc]
    """One request's parser: vLLM's, which a subclass of `beside` has behind it, or ours.

    Ours from the first look at a request with a spec: once it is prepared, each has one or none.
    """

    make_own: Callable[[Any], Any]

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(tokenizer, *args, **kwargs)
        self._own_tokenizer = tokenizer
        self._prompt_ids: Sequence[int] | None = None
        self._own: Any = None
        self._decided = False

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        """Say where the turn starts."""
        self._prompt_ids = prompt_token_ids
        super().set_prompt_token_ids(prompt_token_ids)

    def parse(self, model_output: str, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Read a whole reply."""
        own = self._for(request)
        if own is None:
            return super().parse(model_output, request, *args, **kwargs)
        return own.parse(model_output, request, *args, **kwargs)

    def parse_delta(
        self, delta_text: str, delta_token_ids: list[int], request: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """Read the next ids of a streamed reply."""
        own = self._for(request)
        if own is None:
            return super().parse_delta(delta_text, delta_token_ids, request, *args, **kwargs)
        return own.parse_delta(delta_text, delta_token_ids, request, *args, **kwargs)

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """Count the ids inside a think, for vLLM's usage statistics."""
        if self._own is None:
            return int(super().count_reasoning_tokens(token_ids))
        return int(self._own.count_reasoning_tokens(token_ids))

    def _for(self, request: Any) -> Any:
        if self._decided:  # not at each token: a tag of vLLM's own may be long
            return self._own
        self._decided = True
        if brings_spec(request):
            self._own = type(self).make_own(self._own_tokenizer)
            if self._prompt_ids is not None:
                self._own.set_prompt_token_ids(self._prompt_ids)
        return self._own


def beside(parser: Any, name: str | None, own: Callable[[Any], Any]) -> Any:
    """Give a class that reads as `parser` does, and as ours where a request brings a spec.

    Args:
        parser: vLLM's class; None where the server has none.
        name: what the command line calls its tool parser. Ours is for the formats that are known
            by that name; of any other, vLLM's parser reads all.
        own: makes ours of a tokenizer.

    """
    if parser is None or parser.tool_parser_cls is None or not dialects.of_parser(name or ""):
        return parser
    return type(parser.__name__, (EitherParser, parser), {"make_own": staticmethod(own)})


def reads(parser: Any, request: Any) -> bool:
    """Tell whether ours prepares and reads a request to a server with a class of `beside`."""
    return isinstance(parser, type) and issubclass(parser, EitherParser) and brings_spec(request)


def brings_spec(request: Any) -> bool:
    """Tell whether a request has a spec of ours in its `structured_outputs`."""
    return carrier.from_params(request) is not None
