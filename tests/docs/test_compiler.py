"""The page about the compiler names modules that exist, and shows what the code does."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import enforcer
from enforcer import kernel
from enforcer.machine.tables import CompiledTables, tables_of
from enforcer.regex import ANY
from enforcer.schema import compile_schema
from enforcer.schema.grammar import ObjectShape
from enforcer.tools.explain.place import Phase
from enforcer.turn import dialects
from enforcer.turn.matcher import Matcher
from enforcer.vocabulary import Vocabulary
from tests.support.tools import tool
from tests.vocabularies import legal

ROOT = Path(__file__).parents[2]
PAGE = ROOT.joinpath("docs", "compiler.md").read_text(encoding="utf-8")
(_BLOCK,) = re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
SCHEMA = json.loads(_BLOCK)
SCHEMA_NAMES = {name for branch in SCHEMA["anyOf"] for name in branch["properties"]}

# The pieces of the turn that the page follows, and others that the vocabulary has.
TURN = (
    *("<tool_call>", '\n{"name": "', "get", "_weather", '", "arguments', '": {"', "unit", '": "'),
    *("cel", "sius", '", "', "city", '": "', "Paris", '"}}\n', "</tool_call>", "<|im_end|>"),
)
OTHERS = ("station", "fahrenheit", "kelvin")
NAMES = ("get_time", "get_weather", "search")
MOST_LISTED = 6  # tokens that may come next

# What the page quotes in the same way that is no module: keywords, and parts of its example.
KEYWORDS = {"contains", "properties", "unit", "city", "station", "celsius", "hermes", *NAMES}


@cache
def vocabulary() -> Vocabulary:
    """Return one of ASCII, the pieces, and the special tokens of the format."""
    controls = dialects.load("hermes").controls
    texts = [*map(chr, range(32, 127)), "\n"]
    texts += [each for each in (*TURN, *OTHERS) if each not in {*controls, *texts}]
    texts = [*dict.fromkeys(texts)]
    ids = {each: len(texts) + at for at, each in enumerate(controls)}
    return Vocabulary([each.encode() for each in (*texts, *controls)], ids)


def begun() -> Matcher:
    tools = [tool(name, schema) for name, schema in zip(NAMES, ({}, SCHEMA, {}), strict=True)]
    options = enforcer.Options(plain_spelling=True)
    return enforcer.Enforcer(vocabulary(), "hermes", options=options).matcher(tools)


def token_of(text: str) -> int:
    found = vocabulary().controls.get(text)
    return vocabulary().encode(text)[0] if found is None else found


def code(text: str) -> str:
    text = "␣" if text == " " else text
    return f"`{text}`".replace("\n", "⏎").replace("|", r"\|")


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def some(parts: Iterable[object]) -> str:
    return ", ".join(map(str, parts)) or "none"


def bits(number: int, parts: Sequence[str] = ()) -> list[Any]:
    found = [at for at in range(number.bit_length()) if number >> at & 1]
    return [parts[at] for at in found] if parts else found


def definitions() -> Iterator[str]:
    """Yield the rows of the finished grammar."""
    grammar, integers = compile_schema(SCHEMA), compile_schema({"type": "integer"})
    for number, value in grammar.definitions.items():
        if value.objects:
            shapes = [shape(at, each) for at, each in enumerate(value.objects)]
            yield row(number, "; ".join(["objects", *shapes]))
        elif value.strings is not None:
            listed = re.findall(r"Literal\(text='(\w+)'\)", repr(value.strings))
            assert listed or value.strings == ANY
            yield row(number, " or ".join(map(code, listed)) or "any string")
        elif value.numbers:
            assert value.numbers == integers.definitions[integers.root].numbers
            yield row(number, "any integer")


def shape(number: int, each: ObjectShape) -> str:
    names = [f"{code(name)} is {child}" for name, child in each.names]
    return f"shape {number}: {some(names)}, {some(map(code, each.required))} is required"


def tables() -> CompiledTables:
    return tables_of(compile_schema(SCHEMA), None, is_explained=True)


def nodes() -> Iterator[str]:
    found = tables()
    assert found.debug is not None
    records = kernel.as_records(found.arrays["nodes"], kernel.NODE)
    for at, (each, (values, _)) in enumerate(zip(records, found.debug.nodes, strict=True)):
        texts = {
            "automaton": each["string_automaton"],
            "trie node": each["string_trie"],
            "bare automaton": each["bare_automaton"],
        }
        held = [f"{name} {number}" for name, number in texts.items() if number >= 0]
        held += [f"shapes {some(range(each['shapes']))}"] if each["shapes"] else []
        yield row(at, some(values), some(held))


def names() -> Iterator[str]:
    found = tables()
    assert found.debug is not None
    written = found.debug.nodes[0][1]
    words = found.arrays["bits"].tolist()
    records = kernel.as_records(found.arrays["names"], kernel.NAME)
    for name, each in zip(written, records, strict=True):
        values = found.debug.nodes[each["node"]][0]
        shapes = [some(bits(words[each["fits"] + at])) for at in range(len(values))]
        fits = "; ".join(f"{value}: {of}" for value, of in zip(values, shapes, strict=True))
        yield row(code(name), each["node"], fits, some(bits(words[each["required"]])))


def states() -> Iterator[str]:
    """Yield a row for each token: the state behind it, and the tokens that may come next."""
    matcher, declared = begun(), sorted(SCHEMA_NAMES)
    for text in TURN:
        assert matcher.accept(token_of(text))
        at, header = matcher.position, matcher.position.header
        following = [vocabulary().token_bytes(each).decode() for each in legal(matcher)]
        following = sorted(following, key=lambda each: (len(each), each))
        short = len(following) <= MOST_LISTED
        after = " ".join(map(code, following)) if short else f"{len(following)} tokens"
        where, shapes, left = matcher.state, "", ""
        if header is not None:
            left = some(map(code, header.trie.names[header.low : header.high]))
        if matcher.tool:
            state, _, ((_, _, _, _, live, _, come, *_), *_) = own(at.grammar).open_values()
            where += f", {Phase(state[0]).name}"
            shapes, left = some(bits(live)), some(map(code, bits(come, declared)))
        yield row(code(text), where, shapes, left, after)


def own(text: Any) -> Any:
    """Return the kernel's matcher in an explained one."""
    return getattr(text, "engine", text)


def shown(heading: str) -> list[str]:
    """Return the rows of the page's table with a heading, without its rule."""
    return PAGE[PAGE.index(heading) :].split("\n\n")[0].splitlines()[2:]


def test_the_example_is_compiled_as_the_page_shows() -> None:
    assert [*definitions()] == shown("| definition |")
    assert [*nodes()] == shown("| node |")
    assert [*names()] == shown("| declared name |")


def test_the_turn_goes_as_the_page_shows() -> None:
    assert [*states()] == shown("| token |")


def test_tokens_over_a_border_are_read_in_parts() -> None:
    """The first part is the header's, or the text's; bytes one by one lead to the same state."""
    whole, parts = begun(), begun()
    border = TURN.index('": {"')
    for text in TURN[:border]:
        assert whole.accept(token_of(text))
        assert parts.accept(token_of(text))
    assert whole.accept(token_of('": {"'))
    assert [parts.accept(token_of(each)) and parts.tool for each in '": {"'] == [
        "", *["get_weather"] * 4
    ]  # fmt: skip
    assert own(whole.position.grammar).open_values() == own(parts.position.grammar).open_values()
    for text in TURN[border + 1 : TURN.index('"}}\n')]:
        assert whole.accept(token_of(text))
    text = own(whole.position.grammar)
    assert whole.accept(token_of('"}}\n'))
    assert (text.is_done, text.left) == (True, len("}\n"))


def test_the_modules_that_the_page_names_exist() -> None:
    room = ROOT / "enforcer"
    text = re.sub(r"^\|.*\n", "", PAGE, flags=re.MULTILINE)  # tables are of the example
    for each in re.findall(r"`(enforcer/[a-z/]+)`", text):
        assert (ROOT / each).is_dir() or (ROOT / f"{each}.py").exists(), each
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*)`", text)) - KEYWORDS
    named -= {each for each in named if each.startswith("enforcer/")}
    assert len(named) > 15
    known = {path.relative_to(room).with_suffix("").as_posix() for path in room.rglob("*.py")}
    assert not [x for x in named if not any(f"/{each}".endswith(f"/{x}") for each in known)]
