"""The result of reading a tokenizer, and its builder from a tiktoken encoding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from enforcer.errors import InvalidVocabulary


class TokenizerParts(NamedTuple):
    """The arguments of `Vocabulary`.

    Attributes:
        tokens: the bytes of each token id: a special token has its name's, an unused one none.
        controls: name to token id of every special token.
        encode: splits text into token ids, never into a special token.

    """

    tokens: Sequence[bytes]
    controls: Mapping[str, int]
    encode: Callable[[str], list[int]]


def of_encoding(
    encoding: Any, table: Mapping[bytes, int], controls: Mapping[str, int]
) -> TokenizerParts:
    """Return the parts of a `tiktoken.Encoding`.

    Args:
        encoding: splits text.
        table: bytes to token id, of text.
        controls: name to token id, of special tokens.

    Raises:
        InvalidVocabulary: a name has a lone surrogate.

    """
    size = max(*table.values(), *controls.values()) + 1
    tokens = [b""] * size
    for data, i in table.items():
        tokens[i] = data
    for name, i in controls.items():
        try:
            tokens[i] = name.encode()
        except UnicodeEncodeError as error:
            raise InvalidVocabulary(f"the name of token {i} is no text: {name!r}") from error
    return TokenizerParts(tokens, controls, encoding.encode_ordinary)
