"""Arguments in every layout: the layouts, a writer of instances, and readers that are not ours.

Owns: the formats' own tables as far as arguments go, and how vLLM 0.32 reads them, copied from its
parsers (`kimi_k3_tool_parser`, `qwen3`, `minimax_m2`, `glm47_moe`, `tool_parsers/utils`), so that
no test leans on the code that it tests. Also compiling a schema for a layout, and walking masks.
"""

import ast
import json
import math
import re
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from hypothesis import strategies as st

from enforcer import engines
from enforcer.layouts import BoundLayout, Layout
from enforcer.layouts.pattern import ID, symbols
from enforcer.schema import Root, compile_schema
from enforcer.vocabulary import Vocabulary
from tests.support.cases import load
from tests.support.machine import mask
from tests.vocabularies import split

K3_MARKERS = ("<|open|>", "<|close|>", "<|sep|>")
GLM_MARKERS = ("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>")
_CASES = load("cases/laid_out.toml")
TABLES: dict[str, dict[str, Any]] = _CASES["tables"]
FORMATS = tuple(TABLES)
LAID_OUT = tuple(name for name in FORMATS if TABLES[name]["layout"] != "json")
DECLARED = ("qwen3_coder", "minimax_m2", "glm45")

# What is kept beside the engine: lengths, distinct elements, names that are counted.
KEPT: list[dict[str, Any]] = [json.loads(each) for each in _CASES["kept"]]
TYPES = ("null", "integer", "number", "boolean", "object", "array", "string")
# Raw texts that one type or another takes.
TEXTS = st.one_of(
    st.text(max_size=6),
    st.text("0123456789+-._eE \n", max_size=6),
    st.sampled_from(["null", "NULL", "True", " false ", "1", '{"a": 1}', "[1e999]", "1e999", "٣"]),
)
_ENDS = (b"<", b'"', b")", b"'", b"}", b"]", b">", b"\n", b"/")
_MARK = "\ue000"  # stands for a "<" until markers have been found

# Beside the bytes: tokens that cross the borders of keys, values, and what is around them.
_PIECES = [each.encode() for each in _CASES["pieces"]]
_PIECES.insert(-4, b"\xe6\x97")  # a part of a character


@cache
def vocabulary() -> Vocabulary:
    """Give a small vocabulary with the markers of all formats."""
    tokens = [bytes([byte]) for byte in range(256)] + list(_PIECES) + [b""]
    names = (*K3_MARKERS, *GLM_MARKERS, "<|end|>")
    controls = {name: len(tokens) + at for at, name in enumerate(names)}
    return Vocabulary([*tokens, *(name.encode() for name in names)], controls)


@cache
def engine() -> engines.ArgumentEngine:
    """Give the engine over that vocabulary."""
    return engines.load("machine", vocabulary())


@cache
def bound(name: str) -> BoundLayout:
    """Give the layout of a format."""
    return Layout.read(TABLES[name]).bind(vocabulary().controls.get)


def symbols_of(text: str, name: str) -> list[int]:
    """Give the symbols of a text in which the format's markers are spelled."""
    markers = {"kimi_k3": K3_MARKERS, "glm45": GLM_MARKERS}.get(name, ())
    controls = {each: vocabulary().control(each) for each in markers}
    return list(symbols(text, controls.get))


def symbols_of_ids(ids: list[int]) -> list[int]:
    """Give the symbols of ids."""
    found: list[int] = []
    for i in ids:
        found += [ID + i] if i in vocabulary().control_ids else vocabulary().token_bytes(i)
    return found


def spelled(ids: list[int]) -> str:
    """Give the text of ids, the markers spelled, as vLLM's parsers see it."""
    return vocabulary().decode(ids).decode()


def cut(found: list[int], random: Random) -> list[int]:
    """Give token ids of symbols; runs of bytes are split at random."""
    ids: list[int] = []
    run = bytearray()
    for symbol in [*found, ID]:
        if symbol < ID:
            run.append(symbol)
            continue
        ids += [*split(random.choice, vocabulary(), bytes(run)), symbol - ID]
        run.clear()
    return ids[:-1]


def walk(matcher: Any, random: Random, most: int = 250) -> list[int] | None:
    """Sample a text to its end; None if it is long. Fails where a beginning has no end."""
    ids: list[int] = []
    while len(ids) < most:
        allowed = sorted(legal(matcher))
        if matcher.is_accepting() and (not allowed or random.random() < 0.5):
            return ids
        assert allowed, f"a dead end after {spelled(ids)!r}"
        ids.append(step(allowed, random, 0.1 + len(ids) / 60))
        assert matcher.accept(ids[-1])
    return None


def step(allowed: list[int], random: Random, hurry: float) -> int:
    """Choose a token id; the more hurry, the rather one that ends something."""
    ends = [i for i in allowed if vocabulary().token_bytes(i)[:1] in _ENDS]
    markers = [i for i in allowed if i in vocabulary().control_ids]
    hurried = random.random() < hurry
    return random.choice(((markers or ends) if hurried else []) or allowed)


def legal(matcher: Any) -> set[int]:
    """Give the ids that a mask of arguments permits."""
    return mask(matcher, vocabulary())


@cache
def _compiled(name: str, schema: str) -> engines.CompiledGrammar:
    grammar, layout = compile_schema(json.loads(schema), root=Root.OBJECT), bound(name)
    return engine().compile(grammar, layout)


def compiled(name: str, schema: dict[str, Any]) -> engines.CompiledGrammar:
    """Compile a schema for a format."""
    return _compiled(name, json.dumps(schema))


def taken(name: str, schema: dict[str, Any], value: dict[str, Any], seed: int = 0) -> bool:
    """Tell whether a text of the value, cut into ids at random, is legal to its end."""
    matcher = compiled(name, schema).matcher()
    ids = cut(written_symbols(name, value, seed), Random(seed))
    return all(map(matcher.accept, ids)) and matcher.is_accepting()


# Writing


def key_is_writable(name: str, key: str) -> bool:
    """Tell whether a format has a spelling for a key."""
    if name == "pythonic":
        import keyword

        return bool(re.fullmatch("[A-Za-z][A-Za-z0-9_]*", key)) and not keyword.iskeyword(key)
    if name in DECLARED:
        ends = {"qwen3_coder": ">", "minimax_m2": '"', "glm45": "</arg_key>"}[name]
        return bool(key) and key == key.strip() and ends not in key
    return True


def write(
    name: str, value: dict[str, Any], random: Random, mark: Callable[[str], str] = str
) -> str:
    """Write arguments as a model would, with the spacing drawn.

    Args:
        name: the format.
        value: the arguments.
        random: draws the spacing.
        mark: changes keys and raw values, so that they can be told from what is around them.

    """
    if name == "deepseek":
        return random.choice((json.dumps(value), json.dumps(value, separators=(",", ":"))))
    if name == "pythonic":
        gap = random.choice((", ", ",", ",\n  "))
        equals = random.choice(("=", " = "))
        pairs = (f"{key}{equals}{_python(each, random)}" for key, each in value.items())
        return gap.join(pairs) + ")"
    line = random.choice(("\n", ""))
    out = []
    for key, each in value.items():
        raw = mark(each if isinstance(each, str) else _json(each, random))
        if name == "kimi_k3":
            escaped = mark(key.replace("&", "&amp;").replace('"', "&quot;"))
            out.append(
                f'<|open|>argument key="{escaped}" type="{_type(each)}"<|sep|>{raw}'
                "<|close|>argument<|sep|>"
            )
        elif name == "qwen3_coder":
            out.append(f"{line}<parameter={mark(key)}>\n{raw}\n</parameter>")
        elif name == "minimax_m2":
            out.append(f'{line}<parameter name="{mark(key)}">{raw}</parameter>')
        else:
            out.append(f"{line}<arg_key>{mark(key)}</arg_key>{line}<arg_value>{raw}</arg_value>")
    ends = {"kimi_k3": "<|close|>call<|sep|>", "qwen3_coder": line + "</function>"}
    return "".join(out) + {**ends, "minimax_m2": line + "</invoke>", "glm45": line}[name]


def written_symbols(name: str, value: dict[str, Any], seed: int) -> list[int]:
    """Give the symbols of what is written; markers that keys and values spell are text."""
    text = write(name, value, Random(seed), lambda raw: raw.replace("<", _MARK))
    found = symbols_of(text, name)
    mark = list(_MARK.encode())
    out: list[int] = []
    while found:
        if found[: len(mark)] == mark:
            out.append(ord("<"))
            found = found[len(mark) :]
        else:
            out.append(found.pop(0))
    return out


def _type(value: Any) -> str:
    if value is None:
        return "null"
    kinds = {bool: "boolean", int: "number", float: "number", str: "string", list: "array"}
    return kinds.get(type(value), "object")


def _json(value: Any, random: Random) -> str:
    return json.dumps(value, ensure_ascii=random.random() < 0.3)


def _python(value: Any, random: Random) -> str:
    if isinstance(value, dict):
        inside = (f"{_python(k, random)}: {_python(v, random)}" for k, v in value.items())
        return "{" + ", ".join(inside) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_python(each, random) for each in value) + "]"
    if isinstance(value, str) and random.random() < 0.5:
        escaped = value.encode("unicode_escape").decode().replace('"', '\\"')
        return f'"{escaped}"'
    return repr(value)


# Reading, as vLLM does


def read(name: str, text: str, schema: Any) -> list[tuple[str, Any]]:
    """Read the pairs of a complete text as vLLM's parser of the format does.

    Raises:
        ValueError, SyntaxError: it is no such text.

    """
    if name == "deepseek":
        if "\n" in text:
            raise ValueError("a line break loses the call")
        pairs: list[tuple[str, Any]] = json.loads(text, object_pairs_hook=list_of_pairs).pairs
        return pairs
    if name == "pythonic":
        return _read_python(text)
    if name == "kimi_k3":
        return _read_k3(text)
    pattern = {
        "qwen3_coder": r"<\s*parameter\s*=\s*([^>]*)>(.*?)"
        r"(?:<\s*/\s*parameter\s*>|(?=<\s*parameter\s*=))",
        "minimax_m2": r"<\s*parameter\s+name\s*=\s*\"([^\"]*)\"\s*>(.*?)"
        r"(?:<\s*/\s*parameter\s*>|(?=<\s*parameter\s+name\s*=))",
        "glm45": r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>",
    }[name]
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    out: list[tuple[str, Any]] = []
    for found, raw in re.findall(pattern, text, re.DOTALL):
        value = raw.removeprefix("\n").removesuffix("\n") if name == "qwen3_coder" else raw
        key = found if name == "qwen3_coder" else found.strip()
        declared = properties.get(key)
        out.append((key, coerced(value, declared) if isinstance(declared, dict) else value))
    return out


class list_of_pairs:  # noqa: N801 - used like a function
    """The pairs of the outermost object; objects within become dictionaries."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = [(key, _plain(value)) for key, value in pairs]


def _plain(value: Any) -> Any:
    if isinstance(value, list_of_pairs):
        return dict(value.pairs)
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _read_k3(text: str) -> list[tuple[str, Any]]:
    body = text.removesuffix("<|close|>call<|sep|>")
    pattern = (
        r"<\|open\|>\s*argument\s+((?:(?!<\|sep\|>).)*?)<\|sep\|>(.*?)"
        r"<\|close\|>\s*argument\s*<\|sep\|>"
    )
    out = []
    for attributes, raw in re.findall(pattern, body, re.DOTALL):
        found = {
            key: value.replace("&quot;", '"').replace("&amp;", "&")
            for key, value in re.findall(r'(\w+)="([^"]*)"', attributes)
        }
        value = raw if found["type"] == "string" else json.loads(raw)
        if _type(value) != found["type"]:
            raise ValueError(f"{found['type']} for {value!r}")
        out.append((found["key"], value))
    return out


def _read_python(text: str) -> list[tuple[str, Any]]:
    node = ast.parse(f"[f({text}]").body[0].value.elts[0]  # type: ignore[attr-defined]
    assert not node.args
    return [(each.arg, _literal(each.value)) for each in node.keywords]


def _literal(node: Any) -> Any:
    if isinstance(node, ast.Constant):
        value = node.value
        if not isinstance(value, str | int | float | None) or value in (math.inf, -math.inf):
            raise ValueError(f"no JSON: {value!r}")
        return value
    if isinstance(node, ast.Name):
        return {"true": True, "false": False, "null": None}[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_literal(node.operand)
    if isinstance(node, ast.List):
        return [_literal(each) for each in node.elts]
    if isinstance(node, ast.Dict):
        keys = [_literal(key) for key in node.keys]
        assert len(set(keys)) == len(keys)
        return dict(zip(keys, map(_literal, node.values), strict=True))
    raise ValueError(ast.dump(node))


def types(schema: Any) -> set[str]:
    """Give what `extract_types_from_schema` finds."""
    if not isinstance(schema, dict):
        return {"string"}
    found: set[str] = set()
    given = schema.get("type")
    found.update([given] if isinstance(given, str) else given or [])
    names = {type(None): "null", bool: "boolean", int: "integer", float: "number"}
    names |= {str: "string", list: "array", dict: "object"}
    found.update(names[type(each)] for each in schema.get("enum", []))
    for keyword in ("anyOf", "oneOf", "allOf"):
        for each in schema.get(keyword, []):
            found |= types(each)
    return found or {"string"}


def coerced(value: str, schema: Any) -> Any:
    """Do what `coerce_to_schema_type` does."""
    found = types(schema)
    if "null" in found and value.lower() == "null":
        return None
    if "integer" in found:
        try:
            return int(value)
        except ValueError:
            pass
    if "number" in found:
        try:
            number = float(value)
        except ValueError:
            number = math.inf
        if math.isfinite(number):
            return number if number != int(number) else int(number)
    if "boolean" in found and value.lower().strip() in ("true", "1", "false", "0"):
        return value.lower().strip() in ("true", "1")
    if "string" in found and not found & {"object", "array"}:
        return value
    try:
        parsed = json.loads(value)
    except ValueError:
        return value
    return (
        parsed
        if "Infinity" not in json.dumps(parsed) and "NaN" not in json.dumps(parsed)
        else value
    )
