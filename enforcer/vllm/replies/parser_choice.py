"""The choice of a parser: the server's class, and the one that prepares and reads a request.

With `--tool-call-parser NAME_enforced` it is ours for all. On any other server a request that
brings a spec of `enforcer.extra_body` is treated as on a server that enforces all: vLLM's parsers
read text, change arguments after the schema (`5` becomes `"5"` where a `$ref` says what it is), and
report calls that were cut off.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

from vllm.parser.abstract_parser import Parser as VllmParser

from enforcer.errors import InvalidVocabulary
from enforcer.request import carrier
from enforcer.turn import dialects
from enforcer.vllm.config import names
from enforcer.vllm.intake import frontend, requests, startup
from enforcer.vllm.replies.tool_parser import EnforcedParser
from enforcer.vllm.server import runtime, served_model

logger = logging.getLogger("vllm.enforcer")


class SpecKeeper:
    """Mixin for vLLM's parsers that keeps a spec where vLLM would put a tag of its own.

    vLLM does where a call is demanded or a tool is strict.
    """

    def _apply_structural_tag(self, request: Any) -> Any:
        if brings_spec(request):
            return request
        return super()._apply_structural_tag(request)  # type: ignore[misc]


class EitherParser(VllmParser):  # type: ignore[misc]
    """One request's parser: vLLM's, which a subclass of `beside` inherits, or ours.

    Decided at the first look at the request: once it is prepared, it has a spec or has none.
    """

    _own: Any = None  # False once vLLM's is known to read
    _prompt_ids: Sequence[int] | None = None

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        """Set the prompt's token ids."""
        self._prompt_ids = prompt_token_ids
        super().set_prompt_token_ids(prompt_token_ids)

    def parse(self, model_output: str, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Read a whole reply."""
        return self._decided(request).parse(model_output, request, *args, **kwargs)

    def parse_delta(
        self, delta_text: str, delta_token_ids: list[int], request: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """Read the next token ids of a streamed reply."""
        reader = self._decided(request)
        return reader.parse_delta(delta_text, delta_token_ids, request, *args, **kwargs)

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """Return how many token ids are reasoning."""
        reader: Any = self._own or super()
        return int(reader.count_reasoning_tokens(token_ids))

    def _decided(self, request: Any) -> Any:
        """Return the parser that reads; not looked for at each token, as vLLM's tags are long."""
        if self._own is None:
            self._own = brings_spec(request) and EnforcedParser(self.model_tokenizer)
            if self._own:
                self._own.set_prompt_token_ids(self._prompt_ids)
        return self._own or super()


def beside(parser: Any, name: str | None) -> Any:
    """Return a class that reads as vLLM's does, and as ours where a request brings a spec.

    Args:
        parser: vLLM's class; None where the server has none.
        name: the command line's name of its tool parser. vLLM's reads all in formats that we do not
            know by that name.

    """
    if parser is None or parser.tool_parser_cls is None:
        return parser
    mixin = EitherParser if dialects.of_parser(name or "") else SpecKeeper
    return type(parser.__name__, (mixin, parser), {})


def brings_spec(request: Any) -> bool:
    """Return whether a request has a spec of ours in its `structured_outputs`."""
    return carrier.find(request) is not None


def ours(parser: Any, request: Any) -> type[EnforcedParser] | None:
    """Return our class where it prepares a request: on a server with it, or for a spec beside."""
    known = parser or object
    is_ours = issubclass(known, EnforcedParser) or (
        issubclass(known, EitherParser) and brings_spec(request)
    )
    return EnforcedParser if is_ours else None


def compose_parser(
    original: Any, cls: Any, tool_parser_name: str | None, *args: Any, **kwargs: Any
) -> Any:
    """Wrap `ParserManager._compose_parser`, which picks the class for the command line's names."""
    served_model.tell(tool_parser_name)
    is_ours = names.is_enforced(tool_parser_name)
    # What a server has been asked before its engine was started, whoever starts it otherwise.
    served_model.demand_auto_tools(tool_parser_name, kwargs.get("enable_auto_tools"))
    tokenizer = kwargs.get("tokenizer")
    if tokenizer is not None:
        _warm(tokenizer, is_ours=is_ours)  # the server is not healthy before it
    # After it: where the vocabulary is another format's, nothing is enforced.
    formats = (runtime.dialect_for(tokenizer),) if is_ours else served_model.dialects()
    startup.say(tool_parser_name, tuple(one.name for one in formats))
    if is_ours:
        return EnforcedParser
    return beside(original(cls, tool_parser_name, *args, **kwargs), tool_parser_name)


def _warm(tokenizer: Any, *, is_ours: bool) -> None:
    """Build what enforced requests need; other models than the format's are served without."""
    try:
        runtime.warm(tokenizer)
    except InvalidVocabulary as error:
        if is_ours:
            raise
        runtime.forget(tokenizer)
        logger.info("enforcer: requests with a spec cannot be enforced for this model: %s", error)


def preprocess_chat(original: Any, *args: Any, **kwargs: Any) -> Any:
    """Wrap `OnlineRenderer.preprocess_chat`: prepare a chat request, render it, check it."""
    prepared = partial(requests.preprocess_chat, original, ours)
    return frontend.rendered(prepared, *args, **kwargs)
