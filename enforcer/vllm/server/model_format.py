"""Whether the parser that a server was started with is of its model's format.

Owns: asking so before an engine is started, so that the answer does not wait for the weights, and
saying it with the flag that is wrong; that the operator's documents are read then, too. Must not
know: what a format is, how a server is started.

vLLM's own order is the other way round: an API server picks its parser once the engine has loaded
the model. But the tokenizer, which is all that it takes to tell, is there before.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from enforcer.errors import EnforcerError, InvalidVocabulary
from enforcer.vllm.config import names
from enforcer.vllm.server import reply_lengths, runtime, served_model

if TYPE_CHECKING:
    from collections.abc import Callable


def input_processor(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap `InputProcessor.__init__`: an API server has its tokenizer then, and no engine yet."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - its name
        runtime.documents()
        original(self, *args, **kwargs)
        reply_lengths.meet(self.vllm_config)
        demand(self.tokenizer)

    return __init__


def demand(tokenizer: Any) -> None:
    """Read the vocabulary as the format of a parser of ours; it is kept for the requests.

    Without such a parser, or without a tokenizer, there is nothing to read.

    Raises:
        InvalidVocabulary: it is none of that format.

    """
    if tokenizer is None or not served_model.has_our_parser():
        return
    try:
        runtime.table_for(tokenizer)
    except InvalidVocabulary as error:
        raise blamed(error) from error


def blamed(error: EnforcerError) -> EnforcerError:
    """Name the flag that decides on the format, where the vocabulary does not fit that of ours."""
    if not isinstance(error, InvalidVocabulary) or not served_model.has_our_parser():
        return error
    parser = os.environ[names.PARSER_VARIABLE]
    formats = " or ".join(dialect.name for dialect in served_model.dialects())
    return InvalidVocabulary(
        f"--tool-call-parser {parser} is for models of the format {formats}: {error}"
    )
