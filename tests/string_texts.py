"""Whether the machine takes a JSON string of a language; how characters may be written in it."""

from enforcer.engines.machine import MachineEngine
from enforcer.regex import Regex
from enforcer.schema.grammar import ALWAYS, ArgumentGrammar, Value, ValueId
from enforcer.vocabulary import Vocabulary

_SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_FIRST_PRINTABLE = 0x20
_ASTRAL = 0x10000
_ENGINE = MachineEngine(Vocabulary.of_bytes(()))


class StringTexts:
    """The texts of JSON strings that are in a language."""

    def __init__(self, language: Regex) -> None:
        root = ValueId(ALWAYS)
        self._grammar = _ENGINE.compile(ArgumentGrammar({root: Value(strings=language)}, root, ()))

    def accepts(self, text: str) -> bool:
        matcher = self._grammar.matcher()
        return all(map(matcher.accept, text.encode())) and matcher.is_accepting()


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
    return [*found, "".join("\\u" + _alternate(f"{unit:04x}") for unit in units)]


def _alternate(digits: str) -> str:
    return "".join(d.upper() if i % 2 else d for i, d in enumerate(digits))
