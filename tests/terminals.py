"""Asks llguidance, over a vocabulary of single bytes, whether a terminal accepts a text."""

from __future__ import annotations

from functools import lru_cache

from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper

_SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_FIRST_PRINTABLE = 0x20
_ASTRAL = 0x10000


class _Bytes:
    eos_token_id = 256
    bos_token_id = None
    tokens = (*(bytes([i]) for i in range(256)), b"<end>")
    special_token_ids = (256,)

    def __call__(self, text: str) -> list[int]:
        return list(text.encode())


@lru_cache(maxsize=1)
def _tokenizer() -> LLTokenizer:
    return LLTokenizer(TokenizerWrapper(_Bytes()))


class Terminal:
    """One terminal, compiled once."""

    def __init__(self, expression: str) -> None:
        grammar = LLMatcher.grammar_from_lark(f"start: TERMINAL\nTERMINAL: {expression}\n")
        self._matcher = LLMatcher(_tokenizer(), grammar)
        if self._matcher.is_error():
            raise ValueError(self._matcher.get_error())

    def accepts(self, text: str) -> bool:
        matcher = self._matcher.deep_copy()
        data = list(text.encode())
        taken = matcher.try_consume_tokens(data)
        if matcher.is_error():
            raise RuntimeError(matcher.get_error())
        return taken == len(data) and bool(matcher.is_accepting())


def spellings(char: str) -> list[str]:
    """List every legal spelling of a character in a JSON string, two of each `\\u` form."""
    found = []
    if char not in '"\\' and ord(char) >= _FIRST_PRINTABLE:
        found.append(char)
    if char in _SHORT:
        found.append("\\" + _SHORT[char])
    code = ord(char)
    units = [code]
    if code >= _ASTRAL:
        units = [0xD800 + ((code - _ASTRAL) >> 10), 0xDC00 + (code & 0x3FF)]
    forms = ("{:04x}", "{:04X}")
    found.extend("".join("\\u" + form.format(unit) for unit in units) for form in forms)
    mixed = "".join("\\u" + _alternate(f"{unit:04x}") for unit in units)
    return [*found, mixed]


def _alternate(digits: str) -> str:
    return "".join(d.upper() if i % 2 else d for i, d in enumerate(digits))
