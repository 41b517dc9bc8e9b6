"""The vocabulary: a frozen table from token ids to bytes of text or special tokens.

`tokenizers` reads tokenizers. Must not know: tool-call formats, grammars, hosts.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from enforcer.errors import ConfigurationError, InvalidVocabulary, brief
from enforcer.regex.charset import CharSet
from enforcer.tokenizers import files, hugging_face, kimi

if TYPE_CHECKING:
    import numpy.typing as npt

MOST_EQUAL = 0xFFFF  # tokens of the same bytes: a count in 16 bits in the kernel's trie
_WORD = 32  # bits a mask word
# Bytes that every vocabulary needs: for names, JSON, its escapes of all other characters, and the
# line feed that must follow a carriage return.
_ASCII = frozenset((0x0A, *range(0x20, 0x7F)))
_CONTINUATIONS = frozenset(range(0x80, 0xC0))
# Code points at which the first byte in UTF-8 changes, and the end of all code points.
_LED_ALIKE = (
    *(*range(0x80), *range(0x80, 0x800, 0x40), 0x800, *range(0x1000, 0x10000, 0x1000)),
    *(0x10000, *range(0x40000, 0x110000, 0x40000), 0x110000),
)
_UTF_8 = frozenset(range(0x80)) | _CONTINUATIONS | frozenset(range(0xC2, 0xF5))


class Vocabulary:
    """A frozen table from token ids to bytes, with the special tokens apart.

    Build it with `from_tokenizer`; the constructor takes the result of reading a tokenizer.

    Args:
        tokens: the bytes of each token id, in order; `b""` for an unused one. A special token has
            its name's bytes here, which never count as text.
        controls: name to token id of every special token, flagged "special" or not.
        encode: splits text into token ids, never into a special token. Its result is checked
            against the text; if it differs (a prefix space, say), the longest matching tokens are
            taken instead.

    Raises:
        InvalidVocabulary: arguments of other types, the id of a special token out of range, a
            printable character of ASCII or a line feed that is no token by itself, tokens that
            begin a character which no others complete (a dead end), or more than 65,535 text tokens
            of the same bytes.

    """

    def __init__(
        self,
        tokens: Sequence[bytes],
        controls: Mapping[str, int],
        encode: Callable[[str], list[int]] | None = None,
    ) -> None:
        try:
            self._tokens = tuple(tokens)
            self._controls = dict(controls)
        except (TypeError, ValueError) as error:
            raise InvalidVocabulary(f"not a table of tokens: {error}") from error
        if not all(isinstance(data, bytes) for data in self._tokens):
            raise InvalidVocabulary("a token must be bytes")
        if not all(type(i) is int for i in self._controls.values()):
            raise InvalidVocabulary("the id of a control token must be a whole number")
        self._encode = encode
        self.control_ids = frozenset(self._controls.values())
        if outside := [i for i in self.control_ids if not 0 <= i < len(self._tokens)]:
            raise InvalidVocabulary(f"control ids outside the vocabulary: {sorted(outside)[:5]}")
        # The bytes of each token id that is text; empty for others.
        self._text = [b"" if i in self.control_ids else data for i, data in enumerate(self._tokens)]
        self._single = _single_bytes(set(self._text))
        if max(Counter(filter(None, self._text)).values()) > MOST_EQUAL:
            raise InvalidVocabulary(f"more than {MOST_EQUAL:,} tokens of the same bytes")

    def __repr__(self) -> str:
        return f"Vocabulary(size={self.size}, controls={len(self._controls)})"

    @property
    def size(self) -> int:
        """Number of token ids, special and unused ones included."""
        return len(self._tokens)

    @property
    def words(self) -> int:
        """Number of int32 words in one mask row: `ceil(size / 32)`."""
        return -(-self.size // _WORD)

    @property
    def controls(self) -> Mapping[str, int]:
        """Name to token id of every special token."""
        return dict(self._controls)

    @property
    def is_complete(self) -> bool:
        """Whether every Unicode character can be written without an escape.

        Some byte-level tokenizers lack bytes that did not occur in their training data.
        """
        return self._single >= _UTF_8

    @cached_property
    def writable(self) -> CharSet:
        """The characters that are the bytes of some sequence of token ids."""
        spans = [
            (first, after - 1)
            for first, after in pairwise(_LED_ALIKE)
            if chr(first).encode()[0] in self._single
        ]
        if not self._single >= _CONTINUATIONS:
            whole = (data.decode() for data in self._text if not data.isascii())
            spans += [(ord(text), ord(text)) for text in whole if len(text) == 1]
        return CharSet.of(spans)

    def can_write(self, text: str) -> bool:
        """Return whether a text is the bytes of some sequence of token ids."""
        try:
            data = text.encode()
            if not self._single.issuperset(data):
                self.pieces(data)
        except (InvalidVocabulary, UnicodeEncodeError):
            return False
        return True

    def is_same(self, other: Vocabulary) -> bool:
        """Return whether another vocabulary has the same token ids, bytes and special tokens."""
        return self._tokens == other._tokens and self._controls == other._controls

    def without_last(self, name: str) -> Vocabulary:
        """Return the vocabulary without its last token id, if that is the special token `name`."""
        if self._controls.get(name) != self.size - 1:
            return self
        controls = {other: i for other, i in self._controls.items() if other != name}
        return Vocabulary(self._tokens[:-1], controls, self._encode)

    def control(self, name: str) -> int:
        """Return the token id of a special token.

        Raises:
            InvalidVocabulary: the tokenizer has no special token of that name.

        """
        try:
            return self._controls[name]
        except KeyError:
            raise InvalidVocabulary(
                f"the tokenizer has no control token {name!r}; "
                "is this the model's own tokenizer, and the right dialect for it?"
            ) from None

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes of a token id: its name for a special one, `b""` for an unused one.

        Raises:
            ConfigurationError: the vocabulary has no such token id.

        """
        try:
            if token_id >= 0:
                return self._tokens[token_id]
        except (IndexError, TypeError):
            pass  # raised below, as for a negative one, which Python would count from the end
        raise ConfigurationError(
            f"no id {brief(token_id)}: the vocabulary has those from 0 to {self.size - 1}"
        )

    def encode(self, text: str, *, markers: bool = False) -> list[int]:
        """Return token ids whose bytes are exactly the text's.

        Args:
            text: the text.
            markers: whether names of special tokens in the text become special tokens, as in a
                rendered prompt; else none does.

        Raises:
            InvalidVocabulary: the text has a lone surrogate, or a byte that no token has.

        """
        if markers:
            parts = self._marker.split(text)  # every other one is a marker
            return [
                token_id
                for at, part in enumerate(parts)
                for token_id in ((self._controls[part],) if at % 2 else self.encode(part))
            ]
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise InvalidVocabulary("no id stands for a lone surrogate") from error
        if self._encode is not None:
            ids = self._encode(text)
            if self.text(ids) == data:
                return ids
        return self.pieces(data)

    @cached_property
    def _marker(self) -> re.Pattern[str]:
        names = sorted(filter(None, self._controls), key=len, reverse=True)
        return re.compile(f"({'|'.join(map(re.escape, names)) or '(?!)'})")

    def decode(self, ids: Iterable[int]) -> bytes:
        """Return the joined bytes of token ids.

        Raises:
            ConfigurationError: the vocabulary lacks an id.

        """
        return b"".join(map(self.token_bytes, ids))

    def text(self, ids: Sequence[int]) -> bytes | None:
        """Return the joined bytes of token ids of text; None if there are none, or one is no text.

        Takes some hundred nanoseconds for each.
        """
        if not ids or min(ids) < 0 or max(ids) >= self.size:
            return None
        pieces = [*map(self._text.__getitem__, ids)]
        return b"".join(pieces) if all(pieces) else None

    @property
    def texts(self) -> Sequence[bytes]:
        """The bytes of each token id of text, in order; `b""` for others."""
        return self._text

    @cached_property
    def text_row(self) -> npt.NDArray[np.int32]:
        """Mask row (int32, shape `(words,)`, read-only) of all token ids of text."""
        row = self.row(i for i, data in enumerate(self._tokens) if data)
        row &= ~self.row(self.control_ids)
        row.setflags(write=False)
        return row

    @cached_property
    def blank_ids(self) -> frozenset[int]:
        """The token ids of white space alone, in whole characters."""
        keys, ids = self.sorted_text
        return frozenset(i for data, i in zip(keys, ids, strict=True) if _is_blank(data))

    @cached_property
    def text_kinds(self) -> bytes:
        """The kind of each token id: 2 for text, 1 for white space alone, 0 for no text."""
        kinds = bytearray(2 if data else 0 for data in self._text)
        for blank in self.blank_ids:
            kinds[blank] = 1
        return bytes(kinds)

    def row(self, ids: Iterable[int]) -> npt.NDArray[np.int32]:
        """Return a mask row (int32, shape `(words,)`) with the bits of token ids set."""
        bits = np.zeros(self.words * _WORD, dtype=np.uint8)
        bits[np.fromiter(ids, dtype=np.int64)] = 1
        return np.packbits(bits, bitorder="little").view(np.int32)

    @cached_property
    def sorted_text(self) -> tuple[tuple[bytes, ...], tuple[int, ...]]:
        """The bytes of all text tokens, sorted, and their token ids in that order."""
        ids = [i for i, data in enumerate(self._text) if data]
        ids.sort(key=self._text.__getitem__)  # stable: of equal bytes the lower id comes first
        return tuple(map(self._text.__getitem__, ids)), tuple(ids)

    def find(self, data: bytes) -> int | None:
        """Return a token id of text with exactly these bytes; None if there is none."""
        keys, ids = self.sorted_text
        at = bisect_left(keys, data)
        return ids[at] if at < len(keys) and keys[at] == data else None

    @cached_property
    def longest(self) -> int:
        """The number of bytes of the longest text token."""
        return max(map(len, self.sorted_text[0]), default=0)

    def pieces(self, data: bytes) -> list[int]:
        """Return token ids for bytes, of the longest matching text tokens from the left.

        Raises:
            InvalidVocabulary: no token matches; never for bytes of UTF-8 text if `is_complete`, nor
                for bytes of other tokens cut between characters.

        """
        out: list[int] = []
        start = 0
        while start < len(data):
            longest = min(len(data), start + self.longest)
            for end in range(longest, start, -1):
                found = self.find(data[start:end])
                if found is not None:
                    out.append(found)
                    start = end
                    break
            else:
                raise InvalidVocabulary(f"no id stands for the byte {data[start]:#04x}")
        return out

    @classmethod
    def of_bytes(cls, controls: Iterable[str]) -> Vocabulary:
        """Return the vocabulary of the 256 bytes and some special tokens, by name.

        It serves to check schemas without a tokenizer, since support hardly depends on the
        vocabulary.

        Raises:
            InvalidVocabulary: a name is no string.

        """
        names = tuple(dict.fromkeys(controls))
        if not all(isinstance(name, str) for name in names):
            raise InvalidVocabulary("the name of a control token must be a text")
        tokens = [bytes([byte]) for byte in range(256)]
        ids = {name: len(tokens) + n for n, name in enumerate(names)}
        return cls([*tokens, *(name.encode() for name in names)], ids)

    def to_json(self) -> bytes:
        """Return the token ids and their bytes as JSON, without the encoder, for `from_json`."""
        tokens = [token.decode("latin-1") for token in self._tokens]
        return json.dumps([tokens, self._controls]).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Vocabulary:
        """Return the vocabulary that `to_json` has written, without an encoder."""
        tokens, controls = json.loads(data)
        return cls([token.encode("latin-1") for token in tokens], controls)

    @classmethod
    def from_tokenizer(cls, tokenizer: Any) -> Vocabulary:
        """Return the vocabulary of a tokenizer, or of its files.

        Args:
            tokenizer: an object, see `from_transformers`; or the path of a `tokenizer.json` (read
                with the package `tokenizers`), or of a folder that has one or Kimi's
                `tiktoken.model` and `tokenizer_config.json`.

        Raises:
            InvalidVocabulary: no such file, or a tokenizer that cannot be read exactly.

        """
        is_path = isinstance(tokenizer, str | PathLike)
        return cls(*(files.read(tokenizer) if is_path else hugging_face.read(tokenizer)))

    @classmethod
    def from_tiktoken(cls, ranks: str | PathLike[str], config: str | PathLike[str]) -> Vocabulary:
        """Return the vocabulary of Kimi's two tokenizer files.

        Args:
            ranks: `tiktoken.model`: a line a token, base64 of its bytes, a space, its rank.
            config: `tokenizer_config.json`, whose `added_tokens_decoder` names special tokens.

        Raises:
            InvalidVocabulary: a file is missing or malformed.

        """
        return cls(*kimi.read(ranks, config))

    @classmethod
    def from_transformers(cls, tokenizer: Any) -> Vocabulary:
        """Return the vocabulary of a tokenizer of transformers.

        Supported: fast tokenizers (those of the package `tokenizers` too) with byte-level BPE or
        byte fallback, slow ones that wrap a `tiktoken.Encoding`, as Kimi's own class does, and
        those that wrap one of mistral-common's, as transformers' and vLLM's classes for it do.

        Every added token is a special token, whatever its `special` flag says (Kimi's tool markers
        are not flagged), except runs of white space without that flag.

        Raises:
            InvalidVocabulary: a tokenizer of another kind.

        """
        return cls(*hugging_face.read(tokenizer))


def _single_bytes(text: set[bytes]) -> frozenset[int]:
    """Return the bytes that are tokens by themselves.

    Raises:
        InvalidVocabulary: some of ASCII are not among them; or a text token has a character whose
            bytes, and itself, are no tokens.

    """
    single = frozenset(data[0] for data in text if len(data) == 1)
    if missing := sorted(_ASCII - single):
        raise InvalidVocabulary(
            f"no token is the character {chr(missing[0])!r} alone: no call could be written"
        )
    if single >= _CONTINUATIONS:
        return single  # whatever token a character begins in can be completed
    for data in text:
        try:
            characters = data.decode()
        except UnicodeDecodeError:
            lost = min(_CONTINUATIONS - single)
            raise InvalidVocabulary(
                f"the token {data!r} has a part of a character, and no token is the byte "
                f"{lost:#04x} alone: a text could not go on"
            ) from None
        for character in characters:
            if not character.isascii() and character.encode() not in text:
                raise InvalidVocabulary(
                    f"the token {data!r} has the character {character!r}, which is no token "
                    "alone: a text could not go on"
                )
    return single


def _is_blank(data: bytes) -> bool:
    try:
        return data.decode().isspace()
    except UnicodeDecodeError:
        return False
