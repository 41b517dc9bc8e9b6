"""What the ids of a tokenizer stand for: bytes of text, or a control token.

Owns: one frozen table, and what is looked up in it. Must not know: how a tokenizer is read
(`tokenizers`), dialects, grammars, hosts.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from enforcer.errors import ConfigurationError, InvalidVocabulary, brief
from enforcer.regex.charset import CharSet
from enforcer.tokenizers import files, hugging_face, kimi

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy.typing as npt

MOST_EQUAL = 0xFFFF  # tokens of the same bytes, which a record of their trie counts
_WORD = 32  # bits a mask word
# Without these no call can be written: names, JSON, and its escapes for all other characters; and
# the line feed, which JSON's white space may promise by a carriage return.
_ASCII = frozenset((0x0A, *range(0x20, 0x7F)))
_CONTINUATIONS = frozenset(range(0x80, 0xC0))
# Where the first byte of characters in UTF-8 changes, and the end of them.
_LED_ALIKE = (
    *(*range(0x80), *range(0x80, 0x800, 0x40), 0x800, *range(0x1000, 0x10000, 0x1000)),
    *(0x10000, *range(0x40000, 0x110000, 0x40000), 0x110000),
)
_UTF_8 = frozenset(range(0x80)) | _CONTINUATIONS | frozenset(range(0xC2, 0xF5))


class Vocabulary:
    """A frozen table from ids to bytes, with the control ids kept apart.

    Build it with `from_tokenizer`; the constructor takes what that has read.

    Args:
        tokens: the bytes of each id in order; `b""` for an id that stands for nothing.
            A control id has its name's bytes here, which never count as text.
        controls: name to id of every control token, flagged "special" or not.
        encode: splits text into ids, never into a control id. Its result is checked
            against the text; where it differs (a tokenizer that adds a prefix space,
            say), the longest matching token is taken step by step instead.

    Raises:
        InvalidVocabulary: not of these types, a control id out of range, a printable character
            of ASCII or a line feed that is no token by itself, tokens that begin a character
            which no others complete (a text could come to a dead end), or more than 65,535 text
            tokens of the same bytes.

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
        # The bytes of each id that is text; none of any other.
        self._text = [b"" if i in self.control_ids else data for i, data in enumerate(self._tokens)]
        self._single = _single_bytes(set(self._text))
        if max(Counter(filter(None, self._text)).values()) > MOST_EQUAL:
            raise InvalidVocabulary(f"more than {MOST_EQUAL:,} tokens of the same bytes")

    def __repr__(self) -> str:
        return f"Vocabulary(size={self.size}, controls={len(self._controls)})"

    @property
    def size(self) -> int:
        """Number of ids, control ids and holes included."""
        return len(self._tokens)

    @property
    def words(self) -> int:
        """Number of int32 words in one mask row: `ceil(size / 32)`."""
        return -(-self.size // _WORD)

    @property
    def controls(self) -> Mapping[str, int]:
        """Name to id of every control token."""
        return dict(self._controls)

    @property
    def is_complete(self) -> bool:
        """Whether every Unicode character can be written as it is.

        Some byte-level tokenizers lack bytes that no text of their training had. JSON has escapes
        for the characters that they cannot write.
        """
        return self._single >= _UTF_8

    @cached_property
    def writable(self) -> CharSet:
        """The characters that some token ids have exactly the bytes of.

        Without those whose bytes only larger tokens have.
        """
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
        """Return whether some token ids of text have exactly these bytes."""
        try:
            data = text.encode()
            if not self._single.issuperset(data):
                self.pieces(data)
        except (InvalidVocabulary, UnicodeEncodeError):
            return False
        return True

    def is_same(self, other: Vocabulary) -> bool:
        """Return whether another has the same ids for the same bytes and control tokens."""
        return self._tokens == other._tokens and self._controls == other._controls

    def without_last(self, name: str) -> Vocabulary:
        """Return the same without its last id, if that is a control token of this name."""
        if self._controls.get(name) != self.size - 1:
            return self
        controls = {other: i for other, i in self._controls.items() if other != name}
        return Vocabulary(self._tokens[:-1], controls, self._encode)

    def control(self, name: str) -> int:
        """Id of a control token.

        Raises:
            InvalidVocabulary: the tokenizer has no control token of that name.

        """
        try:
            return self._controls[name]
        except KeyError:
            raise InvalidVocabulary(
                f"the tokenizer has no control token {name!r}; "
                "is this the model's own tokenizer, and the right dialect for it?"
            ) from None

    def token_bytes(self, token_id: int) -> bytes:
        """Bytes of an id; the name's bytes for a control id, `b""` for an unused id.

        Raises:
            ConfigurationError: the vocabulary has no such id.

        """
        try:
            if token_id >= 0:
                return self._tokens[token_id]
        except (IndexError, TypeError):
            pass  # said below, as of one below 0, which Python would count from the end
        raise ConfigurationError(
            f"no id {brief(token_id)}: the vocabulary has those from 0 to {self.size - 1}"
        )

    def encode(self, text: str, *, markers: bool = False) -> list[int]:
        """Split text into ids whose bytes are exactly the text's.

        Args:
            text: what is split.
            markers: whether the name of a control token in the text becomes its id, as in a
                rendered prompt. Otherwise no id is a control id.

        Raises:
            InvalidVocabulary: the text has a lone surrogate, or a control character that
                no id stands for.

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
        """Concatenate the bytes of the ids.

        Raises:
            ConfigurationError: the vocabulary has not all of them.

        """
        return b"".join(map(self.token_bytes, ids))

    def text(self, ids: Sequence[int]) -> bytes | None:
        """Concatenate the bytes of ids that are all text; None if one is not, or stands for none.

        Some hundred nanoseconds an id, without a step of Python's.
        """
        if not ids or min(ids) < 0 or max(ids) >= self.size:
            return None
        pieces = [*map(self._text.__getitem__, ids)]
        return b"".join(pieces) if all(pieces) else None

    @property
    def texts(self) -> Sequence[bytes]:
        """Bytes of each id that is text, in order; `b""` for any other id."""
        return self._text

    @cached_property
    def text_row(self) -> npt.NDArray[np.int32]:
        """Mask row (int32, shape `(words,)`, read-only) of every id that is text."""
        row = self.row(i for i, data in enumerate(self._tokens) if data)
        row &= ~self.row(self.control_ids)
        row.setflags(write=False)
        return row

    @cached_property
    def blank_ids(self) -> frozenset[int]:
        """The ids that are white space and nothing else; a part of a character is none."""
        keys, ids = self.sorted_text
        return frozenset(i for data, i in zip(keys, ids, strict=True) if _is_blank(data))

    @cached_property
    def text_kinds(self) -> bytes:
        """By an id: 2 for text, 1 for text that is white space and nothing else, 0 for no text."""
        kinds = bytearray(2 if data else 0 for data in self._text)
        for blank in self.blank_ids:
            kinds[blank] = 1
        return bytes(kinds)

    def row(self, ids: Iterable[int]) -> npt.NDArray[np.int32]:
        """Build a mask row (int32, shape `(words,)`) with the bits of these ids set."""
        bits = np.zeros(self.words * _WORD, dtype=np.uint8)
        bits[np.fromiter(ids, dtype=np.int64)] = 1
        return np.packbits(bits, bitorder="little").view(np.int32)

    @cached_property
    def sorted_text(self) -> tuple[tuple[bytes, ...], tuple[int, ...]]:
        """Text tokens in the order of their bytes, and their ids in that order."""
        ids = [i for i, data in enumerate(self._text) if data]
        ids.sort(key=self._text.__getitem__)  # stable: of equal bytes the lower id comes first
        return tuple(map(self._text.__getitem__, ids)), tuple(ids)

    @cached_property
    def shorter(self) -> tuple[int, ...]:
        """By a place in `sorted_text`, that of the longest other token that begins this one.

        Of two tokens of the same bytes the first; -1 where there is none.
        """
        keys, _ = self.sorted_text
        found: list[int] = []
        open_: list[int] = []
        for place, key in enumerate(keys):
            while open_ and not key.startswith(keys[open_[-1]]):
                open_.pop()
            found.append(open_[-1] if open_ else -1)
            open_.append(place)
        return tuple(found)

    def find(self, data: bytes) -> int | None:
        """Find an id of text that stands for exactly these bytes; None if there is none."""
        keys, ids = self.sorted_text
        at = bisect_left(keys, data)
        return ids[at] if at < len(keys) and keys[at] == data else None

    @cached_property
    def longest(self) -> int:
        """Bytes of the longest text token."""
        return max(map(len, self.sorted_text[0]), default=0)

    def pieces(self, data: bytes) -> list[int]:
        """Split bytes into the longest ids of text that stand for them, from the left.

        Raises:
            InvalidVocabulary: no id stands for a byte alone; never for bytes of UTF-8 text
                where `is_complete`, nor for bytes of other tokens, cut between characters.

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
        """Build the vocabulary of the 256 bytes and these control tokens.

        What can be enforced does not depend on the vocabulary: this one serves to find out
        without a tokenizer.

        Raises:
            InvalidVocabulary: a name is no text.

        """
        names = tuple(dict.fromkeys(controls))
        if not all(isinstance(name, str) for name in names):
            raise InvalidVocabulary("the name of a control token must be a text")
        tokens = [bytes([byte]) for byte in range(256)]
        ids = {name: len(tokens) + n for n, name in enumerate(names)}
        return cls([*tokens, *(name.encode() for name in names)], ids)

    def to_json(self) -> bytes:
        """Write it for another process: what ids stand for, not how text is split into them."""
        tokens = [token.decode("latin-1") for token in self._tokens]
        return json.dumps([tokens, self._controls]).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Vocabulary:
        """Read what `to_json` has written."""
        tokens, controls = json.loads(data)
        return cls([token.encode("latin-1") for token in tokens], controls)

    @classmethod
    def from_tokenizer(cls, tokenizer: Any) -> Vocabulary:
        """Read a tokenizer, or its files.

        Args:
            tokenizer: an object, see `from_transformers`; or a path. A path leads to a
                `tokenizer.json` (read with the package `tokenizers`), or to a folder that has one
                or Kimi's `tiktoken.model` and `tokenizer_config.json`.

        Raises:
            InvalidVocabulary: no such file, or a tokenizer that cannot be read exactly.

        """
        is_path = isinstance(tokenizer, str | PathLike)
        return cls(*(files.read(tokenizer) if is_path else hugging_face.read(tokenizer)))

    @classmethod
    def from_tiktoken(cls, ranks: str | PathLike[str], config: str | PathLike[str]) -> Vocabulary:
        """Read Kimi's tokenizer from its two files.

        Args:
            ranks: `tiktoken.model`: a line a token, base64 of its bytes, a space, its rank.
            config: `tokenizer_config.json`, whose `added_tokens_decoder` names control ids.

        Raises:
            InvalidVocabulary: a file is missing or not of that form.

        """
        return cls(*kimi.read(ranks, config))

    @classmethod
    def from_transformers(cls, tokenizer: Any) -> Vocabulary:
        """Read a tokenizer of transformers, exactly or not at all.

        Understood: fast tokenizers (those of the package `tokenizers` too) with byte-level BPE or
        byte fallback, slow ones that wrap a `tiktoken.Encoding`, as Kimi's own class does, and
        those that wrap one of mistral-common's, as transformers' and vLLM's classes for it do.

        Every added token is a control token, whatever its `special` flag says
        (Kimi's tool markers are not flagged), except runs of white space without that flag.

        Raises:
            InvalidVocabulary: a tokenizer of another kind.

        """
        return cls(*hugging_face.read(tokenizer))


def _single_bytes(text: set[bytes]) -> frozenset[int]:
    """Return the bytes that are tokens by themselves.

    Raises:
        InvalidVocabulary: ASCII is not among them; or what some token writes cannot be written
            piece by piece: neither its bytes nor its characters are tokens.

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
