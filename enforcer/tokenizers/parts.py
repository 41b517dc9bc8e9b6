"""What is read of a tokenizer.

Owns: that value, and making it of an encoding of tiktoken's. Must not know: files, classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from enforcer.errors import InvalidVocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class TokenizerParts(NamedTuple):
    """The arguments of `Vocabulary`.

    Attributes:
        tokens: the bytes of each id; the name's of a control token, none of a hole.
        controls: name to id of every control token.
        encode: splits text into ids, never into a control id.

    """

    tokens: Sequence[bytes]
    controls: Mapping[str, int]
    encode: Callable[[str], list[int]]


def of_encoding(
    encoding: Any, table: Mapping[bytes, int], controls: Mapping[str, int]
) -> TokenizerParts:
    """Put the ids of a `tiktoken.Encoding` together.

    Args:
        encoding: splits text.
        table: bytes to id of text.
        controls: name to id.

    Raises:
        InvalidVocabulary: a name that is no text.

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
