"""Reader of transformers' tokenizers: fast ones, and wrappers of tiktoken and mistral-common.

It finds the exact bytes of each token id, or refuses the tokenizer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from enforcer.errors import InvalidVocabulary, brief
from enforcer.extras import needed_for
from enforcer.tokenizers.parts import TokenizerParts, of_encoding

_SPACE = "▁"  # the marker of a space in tokenizers with byte fallback
_BYTE = re.compile("<0x[0-9A-Fa-f]{2}>")
_BYTE_LENGTH = 6
# Keys of the parts of a `tokenizer.json` that turn text into tokens, and tokens into text.
_HOLDING = (
    *("normalizer", "pre_tokenizer", "decoder"),
    *("normalizers", "pretokenizers", "decoders"),
)


def read(tokenizer: Any) -> TokenizerParts:
    """Return the parts of a tokenizer object; see `Vocabulary.from_transformers`.

    Raises:
        InvalidVocabulary: it cannot be read exactly.

    """
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if hasattr(backend, "to_str"):
        return of_fast(json.loads(backend.to_str()))
    encoding: Any = getattr(tokenizer, "model", None)
    if hasattr(encoding, "encode_ordinary") and hasattr(encoding, "_mergeable_ranks"):
        named = {str(token): i for i, token in tokenizer.added_tokens_decoder.items()}
        return of_encoding(
            encoding,
            encoding._mergeable_ranks,  # noqa: SLF001 - tiktoken has no public accessor
            {**encoding._special_tokens, **named},  # noqa: SLF001 - likewise
        )
    # mistral-common's, inside a class of transformers' or vLLM's.
    inner = getattr(tokenizer, "tokenizer", None)
    inner = getattr(getattr(inner, "instruct_tokenizer", None), "tokenizer", inner)
    if hasattr(inner, "id_to_piece") and hasattr(inner, "special_ids"):
        return _of_mistral(inner)
    raise InvalidVocabulary(
        f"cannot read the bytes behind a {type(tokenizer).__name__}: neither a fast "
        "tokenizer nor one that wraps tiktoken or mistral-common"
    )


def _of_mistral(inner: Any) -> TokenizerParts:
    names = {i: inner.id_to_piece(i) for i in {*inner.special_ids, inner.unk_id}}

    def to_bytes(i: int) -> bytes:
        if hasattr(inner, "id_to_byte_piece"):  # Tekken's; the other is SentencePiece's
            return bytes(inner.id_to_byte_piece(i))
        return _byte_fallback(inner.id_to_piece(i))

    tokens = [names[i].encode() if i in names else to_bytes(i) for i in range(inner.n_words)]
    controls = {name: i for i, name in names.items()}
    return TokenizerParts(tokens, controls, lambda text: inner.encode(text, bos=False, eos=False))


def of_fast(spec: dict[str, Any]) -> TokenizerParts:
    """Return the parts of a fast tokenizer, given its parsed `tokenizer.json`.

    Raises:
        InvalidVocabulary: it cannot be read exactly.
        MissingPackage: the package `tokenizers` is not installed.

    """
    model = spec["model"]
    if not isinstance(model.get("vocab"), dict):
        raise InvalidVocabulary(
            f"cannot read the bytes behind a {model.get('type')} model: "
            "byte-level BPE or byte fallback is needed"
        )
    for affix in ("end_of_word_suffix", "continuing_subword_prefix"):
        if model.get(affix):
            raise InvalidVocabulary(
                f"cannot read the bytes behind tokens with a `{affix}`: {brief(model[affix])}"
            )
    added: list[dict[str, Any]] = spec.get("added_tokens") or []
    # A decoder treats an added token as any other.
    is_byte_level = any(part.get("type") == "ByteLevel" for part in _parts(spec))
    if is_byte_level:
        to_bytes = _byte_level()
        of_added = _byte_level(is_added=True)
    elif model.get("byte_fallback"):
        _refuse_another_class(model["vocab"])
        _refuse_other_spaces(spec)
        to_bytes = of_added = _byte_fallback
    else:
        raise InvalidVocabulary("the tokenizer is neither byte-level nor has a byte fallback")
    vocab: dict[str, int] = model["vocab"]
    size = max([*vocab.values(), *(token["id"] for token in added)]) + 1
    tokens = [b""] * size
    controls: dict[str, int] = {}
    for token in added:
        content = token["content"]
        data = of_added(content)
        # DeepSeek LLM adds the bytes that its vocabulary lacks, each as the letter for it.
        is_text = data.decode(errors="replace").isspace() or (
            is_byte_level and data != content.encode()
        )
        if token["special"] or not is_text:
            data = content.encode()
            controls[content] = token["id"]
        tokens[token["id"]] = data
    taken = {token["id"] for token in added}
    for text, i in vocab.items():
        if i not in taken:
            tokens[i] = to_bytes(text)
    with needed_for("reading this tokenizer"):
        import tokenizers

    # Without its added tokens the tokenizer cannot turn spelled-out markers into ids.
    bare = tokenizers.Tokenizer.from_str(
        json.dumps({**spec, "added_tokens": [], "post_processor": None})
    )
    return TokenizerParts(
        tokens, controls, lambda text: bare.encode(text, add_special_tokens=False).ids
    )


def _refuse_another_class(vocab: dict[str, int]) -> None:
    """Raise InvalidVocabulary for byte-level tokens under a decoder of byte fallback.

    `AutoTokenizer` loads DeepSeek's tokenizer so if it finds no `config.json`, since its
    `tokenizer_config.json` names Llama's class.
    """
    if not any(map(_BYTE.fullmatch, vocab)) and "Ġ" in vocab:
        raise InvalidVocabulary(
            "the tokens are those of a byte-level tokenizer, but it was loaded as a class that "
            "reads them otherwise and loses spaces: load it from a folder that has the model's "
            "`config.json` beside `tokenizer.json`"
        )


def _refuse_other_spaces(spec: dict[str, Any]) -> None:
    marks = [*_marks(spec.get("normalizer"), " ", None), *_marks(spec.get("decoder"), None, " ")]
    marks += [part.get("replacement") for part in _parts(spec) if part.get("type") == "Metaspace"]
    if others := [mark for mark in marks if mark != _SPACE]:
        raise InvalidVocabulary(
            f"the tokenizer writes a space as {brief(others[0])}; only {_SPACE!r} is read"
        )


def _marks(spec: Any, old: str | None, new: str | None) -> Iterator[object]:
    """Yield the markers that `Replace` parts put in place of `old`, or turn into `new`."""
    for part in _parts(spec):
        pattern = part.get("pattern")
        if part.get("type") == "Replace" and isinstance(pattern, dict) and "String" in pattern:
            if old == pattern["String"]:
                yield part.get("content")
            if new == part.get("content"):
                yield pattern["String"]


def _parts(spec: Any) -> Iterator[dict[str, Any]]:
    """Yield a part and all normalizers, pre-tokenizers and decoders within it."""
    if isinstance(spec, dict):
        yield spec
        for key in _HOLDING:
            yield from _parts(spec.get(key))
    elif isinstance(spec, list):
        for item in spec:
            yield from _parts(item)


def _byte_level(*, is_added: bool = False) -> Callable[[str], bytes]:
    """Return the inverse of GPT-2's printable alphabet for the 256 bytes.

    Args:
        is_added: whether a token with other letters is an added one, in plain text.

    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {chr(byte): byte for byte in printable}
    others = (byte for byte in range(256) if byte not in set(printable))
    table.update({chr(256 + n): byte for n, byte in enumerate(others)})

    def to_bytes(text: str) -> bytes:
        try:
            return bytes([table[char] for char in text])
        except KeyError as error:
            if is_added:
                return text.encode()
            raise InvalidVocabulary(f"not a byte-level token: {text!r}") from error

    return to_bytes


def _byte_fallback(text: str) -> bytes:
    if _BYTE.fullmatch(text):
        return bytes([int(text[3:5], 16)])
    if len(text) == _BYTE_LENGTH and text.startswith("<0x") and text.endswith(">"):
        # Implementations differ on whether this is text, and whether `<0x+1>` is a byte.
        raise InvalidVocabulary(f"neither a byte nor surely a text: token {text!r}")
    return text.replace(_SPACE, " ").encode()
