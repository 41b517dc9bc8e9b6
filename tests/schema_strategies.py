"""Schemas rich in everything that the compiler reads, and instances near their borders.

Owns: the strategies, and what the drafts call things. Names, strings and numbers come
from small pools, so that constraints meet. Must not know: the compiler. Whether an
instance fits is for a validator to say: most of those drawn here do or nearly do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = ["a", "b", "c", "ab", "é", 'q"/', ""]
DEFINITIONS = ["A", "B/~"]
# Patterns that Python and ECMA-262 read alike on every string of the pools. None is empty:
# `jsonschema` takes an empty pattern of `patternProperties` for none.
PATTERNS = {
    "^a": ["a", "ab", "aé"],
    "b$": ["b", "ab"],
    "^[a-c]{1,2}$": ["a", "ab", "cc"],
    "é|q": ["é", 'q"/'],
    "^[^a]*$": ["", "b", "é日"],
    "^x-[0-9]+$": ["x-1", "x-20"],
    ".*": ["", "zz"],
    "^.{2,}$": ["ab", "日本"],
}
FORMATS = {
    "date": ["2024-02-29", "2023-02-29", "1999-12-31"],
    "ipv4": ["127.0.0.1", "256.0.0.1", "1.2.3"],
    "uuid": ["12345678-1234-5678-1234-567812345678", "12345678123456781234567812345678"],
}
STRINGS = [
    *dict.fromkeys(
        (
            *NAMES,
            *(each for some in PATTERNS.values() for each in some),
            *(each for some in FORMATS.values() for each in some),
            *("\t\\", "🙂", "<|tool_call_end|>", "\u2028"),
        )
    )
]
NUMBERS = [0, 1, 2, 3, -1, 5, 10, 12, 100, 0.5, 1.5, -0.25, 3.33, 2.0, 1e2, 1e-7, 1e21, -1000]
DIVISORS = [1, 2, 3, 5, 7, 10, 100, 0.5, 0.25, 0.1, 0.01, 1.5]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
_KEYWORDS = {
    "number": ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
    "string": ["minLength", "maxLength", "pattern", "format"],
    "array": ["items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems"],
    "object": [
        *("properties", "required", "additionalProperties", "patternProperties"),
        *("propertyNames", "minProperties", "maxProperties", "dependentRequired", "dependencies"),
    ],
}
_FINITE = [
    {"type": "boolean"},
    {"enum": ["a", "é", 1, None]},
    {"type": "integer", "minimum": 0, "maximum": 3},
    {"type": ["null", "boolean"]},
]


@dataclass(frozen=True, slots=True)
class Dialect:
    """A draft, as a schema names it.

    Attributes:
        uri: value of `$schema`; empty to leave it out.
        number: the draft, as a year from 2019 on.

    """

    uri: str
    number: int

    @property
    def definitions(self) -> str:
        """Name of the member that holds the definitions."""
        return "$defs" if self.number >= 2019 else "definitions"

    @property
    def asserts_formats(self) -> bool:
        """Whether `format` is more than an annotation."""
        return not self.uri or self.number <= 7


LATEST = Dialect("", 2020)
DRAFT7 = Dialect("http://json-schema.org/draft-07/schema#", 7)
DRAFT4 = Dialect("http://json-schema.org/draft-04/schema#", 4)
DIALECTS = [
    LATEST,
    Dialect("https://json-schema.org/draft/2020-12/schema", 2020),
    Dialect("https://json-schema.org/draft/2019-09/schema", 2019),
    DRAFT7,
    Dialect("http://json-schema.org/draft-06/schema#", 6),
    DRAFT4,
]


class _Drawer:
    """Chances and choices, each one drawn so that examples shrink well."""

    def __init__(self, draw: st.DrawFn, dialect: Dialect) -> None:
        self.draw = draw
        self.dialect = dialect

    def pick(self, options: Sequence[Any]) -> Any:
        """Draw one of the options."""
        return self.draw(st.sampled_from(options))

    def chance(self, percent: int) -> bool:
        """Draw whether something happens; it does not in a shrunk example."""
        return self.draw(st.integers(0, 99)) >= 100 - percent

    def some(self, options: Sequence[Any], most: int, least: int = 0) -> list[Any]:
        """Draw a few different options."""
        return self.draw(
            st.lists(st.sampled_from(options), min_size=least, max_size=most, unique=True)
        )


class _Schemas(_Drawer):
    """Draws the parts of one schema."""

    def __init__(self, draw: st.DrawFn, dialect: Dialect, *, references: bool) -> None:
        super().__init__(draw, dialect)
        self._references = references

    def document(self, depth: int) -> Any:
        """Draw a whole schema."""
        schema = self.schema(depth)
        if not isinstance(schema, dict):
            return schema
        if self._references:
            definitions = {name: self.schema(depth - 1) for name in DEFINITIONS}
            if "$ref" in str(schema):
                schema = {self.dialect.definitions: definitions, **schema}
        return {"$schema": self.dialect.uri, **schema} if self.dialect.uri else schema

    def schema(self, depth: int) -> Any:
        """Draw a subschema nested at most so deep."""
        if self.chance(8):
            return self.draw(st.booleans()) if self.dialect.number > 4 else {}
        if depth <= 0:
            return self.leaf()
        kinds = ["leaf", "object", "object", "array", "combined", "combined", "loose"]
        kind = self.pick([*kinds, "reference"] if self._references else kinds)
        if kind == "leaf":
            schema = self.leaf()
        elif kind == "reference":
            schema = {"$ref": self.reference()}
            if self.dialect.number <= 7:
                return schema
        elif kind == "combined":
            schema = self.combined(depth)
        elif kind == "loose":
            schema = {}
            for each in self.some([*_KEYWORDS], 2, 1):
                schema |= self.keywords(each, depth)
        else:
            schema = {"type": kind, **self.keywords(kind, depth)}
        if self.chance(20):
            schema = {**self.combined(depth), **schema}
        if self.chance(5):
            schema["type"] = self.some(TYPES, 3, 1)
        if self.dialect.number >= 2019 and kind != "leaf" and self.chance(5):
            schema[self.pick(["unevaluatedProperties", "unevaluatedItems"])] = self.schema(0)
        return schema

    def leaf(self) -> Any:
        """Draw a schema without subschemas."""
        kind = self.pick(["type", "number", "string", "enum", "const"])
        if kind == "type":
            return {"type": self.pick(TYPES)}
        if kind == "enum":
            return {"enum": self.draw(st.lists(any_value(2), min_size=1, max_size=4))}
        if kind == "const":
            value = self.draw(any_value(2))
            return {"const": value} if self.dialect.number > 4 else {"enum": [value]}
        named = self.pick(["integer", "number"]) if kind == "number" else kind
        return {"type": named, **self.keywords(kind, 0)}

    def reference(self) -> str:
        """Draw where a reference leads."""
        name = self.pick(["A", "B~1~0", ""])
        return f"#/{self.dialect.definitions}/{name}" if name else "#"

    def combined(self, depth: int) -> dict[str, Any]:
        """Draw keywords that combine subschemas."""
        options = ["allOf", "anyOf", "oneOf", "not"]
        keyword = self.pick([*options, "if"] if self.dialect.number >= 7 else options)
        if keyword == "not":
            return {"not": self.schema(depth - 1)}
        if keyword == "if":
            schema = {"if": self.schema(depth - 1)}
            for each in self.some(["then", "else"], 2):
                schema[each] = self.schema(depth - 1)
            return schema
        return {keyword: [self.schema(depth - 1) for _ in range(self.draw(st.integers(1, 3)))]}

    def keywords(self, kind: str, depth: int) -> dict[str, Any]:
        """Draw keywords for one type."""
        read = {
            "number": self._of_numbers,
            "string": self._of_strings,
            "array": self._of_arrays,
            "object": self._of_objects,
        }[kind]
        schema: dict[str, Any] = {}
        for keyword in self.some(_KEYWORDS[kind], 4, 1 if kind in ("array", "object") else 0):
            schema |= read(keyword, depth)
        if not isinstance(schema.get("items"), list):
            # Without meaning there, and `jsonschema` raises when `items` is a boolean.
            schema.pop("additionalItems", None)
        return schema

    def _of_numbers(self, keyword: str, _: int) -> dict[str, Any]:
        if keyword == "multipleOf":
            return {keyword: self.pick(DIVISORS)}
        bound = self.pick(NUMBERS)
        if keyword.startswith("exclusive") and self.dialect.number == 4:
            return {keyword: True, keyword.removeprefix("exclusive").lower(): bound}
        return {keyword: bound}

    def _of_strings(self, keyword: str, _: int) -> dict[str, Any]:
        if keyword in ("minLength", "maxLength"):
            return {keyword: self.draw(st.integers(0, 4))}
        return {keyword: self.pick([*(PATTERNS if keyword == "pattern" else FORMATS)])}

    def _of_arrays(self, keyword: str, depth: int) -> dict[str, Any]:
        number = self.dialect.number
        if keyword in ("minItems", "maxItems"):
            return {keyword: self.draw(st.integers(0, 3))}
        if keyword == "uniqueItems":
            if self.chance(70):
                return {"uniqueItems": True, "items": self.pick(_FINITE)}
            return {"uniqueItems": self.draw(st.booleans())}
        if keyword == "prefixItems":
            listed = [self.schema(depth - 1) for _ in range(self.draw(st.integers(1, 2)))]
            if number >= 2020:
                return {keyword: listed}
            return {"items": listed, "additionalItems": self._rest(depth)}
        if keyword == "contains":
            if number < 6:
                return {}
            schema: dict[str, Any] = {keyword: self.schema(depth - 1)}
            if number >= 2019:
                for each in self.some(["minContains", "maxContains"], 2):
                    schema[each] = self.draw(st.integers(0, 2))
            return schema
        return {keyword: self._rest(depth)}

    def _rest(self, depth: int) -> Any:
        if self.chance(25):
            return False if self.dialect.number > 4 else {"not": {}}
        return self.schema(depth - 1)

    def _of_objects(self, keyword: str, depth: int) -> dict[str, Any]:
        number = self.dialect.number
        if keyword in ("minProperties", "maxProperties"):
            return {keyword: self.draw(st.integers(0, 3))}
        if keyword == "properties":
            return {keyword: {name: self.schema(depth - 1) for name in self.some(NAMES, 3, 1)}}
        if keyword == "required":
            return {keyword: self.some(NAMES, 2, 1)}
        if keyword == "additionalProperties":
            return {keyword: self._rest(depth)}
        if keyword == "patternProperties":
            names = self.some([*PATTERNS], 2, 1)
            return {keyword: {each: self.schema(depth - 1) for each in names}}
        if keyword == "propertyNames":
            names = [{"pattern": "^[^a]*$"}, {"maxLength": 1}, {"enum": ["a", "b", "é"]}]
            return {keyword: self.pick(names)} if number >= 6 else {}
        if (keyword == "dependencies") != (number < 2019):
            return {}
        name, by_schema = self.pick(NAMES), self.chance(40)
        needed = self.schema(depth - 1) if by_schema else self.some(NAMES, 2, 1)
        if by_schema and number >= 2019:
            keyword = "dependentSchemas"
        return {keyword: {name: needed}}


class _Instances(_Drawer):
    """Draws values that a schema's own keywords ask for, as far as that is easy."""

    def __init__(self, draw: st.DrawFn, dialect: Dialect, root: Any) -> None:
        super().__init__(draw, dialect)
        self._root = root

    def instance(self, schema: Any, fuel: int) -> Any:
        """Draw a value near a subschema."""
        wanted = self._wanted(schema, fuel)
        if not isinstance(wanted, dict):
            return self.draw(any_value(1))
        if "const" in wanted:
            return wanted["const"]
        if "enum" in wanted:
            return self.pick(wanted["enum"])
        kind = self._type(wanted)
        if kind == "object":
            return self._object(wanted, fuel)
        if kind == "array":
            return self._array(wanted, fuel)
        if kind == "string":
            return self._string(wanted)
        if kind in ("number", "integer"):
            return self._number(wanted, whole=kind == "integer")
        return self.draw(st.booleans()) if kind == "boolean" else None

    def _wanted(self, schema: Any, fuel: int) -> Any:
        """Lay the chosen branches of a schema one over the other."""
        if not isinstance(schema, dict) or fuel <= 0:
            return schema
        combining = ("$ref", "allOf", "anyOf", "oneOf", "if", "then", "else")
        wanted = {key: value for key, value in schema.items() if key not in combining}
        others = [*schema.get("allOf", [])]
        others += [self.pick(schema[key]) for key in ("anyOf", "oneOf") if key in schema]
        if "$ref" in schema:
            others.append(_target(schema["$ref"], self._root))
        if "if" in schema:
            branch = self.pick([["if", "then"], ["else"]])
            others += [schema[key] for key in branch if key in schema]
        for other in others:
            found = self._wanted(other, fuel - 1)
            if isinstance(found, dict):
                wanted = _laid_over(wanted, found)
        return wanted

    def _type(self, wanted: dict[str, Any]) -> str:
        named = wanted.get("type")
        if isinstance(named, str) and not self.chance(3):
            return named
        if isinstance(named, list):
            return self.pick(named)
        hinted = [kind for kind, keys in _KEYWORDS.items() if any(key in wanted for key in keys)]
        return self.pick(hinted) if hinted and not self.chance(10) else self.pick(TYPES)

    def _object(self, wanted: dict[str, Any], fuel: int) -> Any:
        declared = wanted.get("properties", {})
        names = dict.fromkeys(wanted.get("required", ()))
        names |= dict.fromkeys(name for name in declared if self.chance(50))
        for keyword in ("dependentRequired", "dependencies"):
            for name, needed in wanted.get(keyword, {}).items():
                if name in names and isinstance(needed, list) and not self.chance(15):
                    names |= dict.fromkeys(needed)
        if self.chance(40) or len(names) < wanted.get("minProperties", 0):
            names |= dict.fromkeys(self.some(NAMES, 3))
        if names and self.chance(10):
            names.pop(self.pick([*names]))
        out = {}
        for name in names:
            schema = declared.get(name, wanted.get("additionalProperties", True))
            if name not in declared and (patterns := wanted.get("patternProperties")):
                schema = self.pick([*patterns.values()])
            out[name] = self.instance(schema, fuel - 1) if fuel > 0 else self.draw(any_value(0))
        return out

    def _array(self, wanted: dict[str, Any], fuel: int) -> Any:
        items = wanted.get("items", True)
        prefix = items if isinstance(items, list) else wanted.get("prefixItems", [])
        rest = wanted.get("additionalItems", True) if isinstance(items, list) else items
        least = max(0, wanted.get("minItems", 0) - self.chance(10))
        length = self.draw(st.integers(least, max(least, wanted.get("maxItems", 3)) + 1))
        if fuel <= 0:
            return []
        out = []
        for i in range(length):
            schema = prefix[i] if i < len(prefix) else rest
            if "contains" in wanted and self.chance(40):
                schema = wanted["contains"]
            out.append(self.instance(schema, fuel - 1))
        return out

    def _string(self, wanted: dict[str, Any]) -> str:
        pool = [
            *PATTERNS.get(wanted.get("pattern", "-"), ()),
            *FORMATS.get(wanted.get("format", "-"), ()),
        ]
        return self.pick(STRINGS if not pool or self.chance(20) else pool)

    def _number(self, wanted: dict[str, Any], *, whole: bool) -> float:
        pool = [
            each
            for key, bound in wanted.items()
            if key.lower().endswith(("minimum", "maximum")) and not isinstance(bound, bool)
            for each in (bound, bound + 1, bound - 1, bound + 0.5)
        ] or NUMBERS
        number = self.pick(pool)
        if "multipleOf" in wanted and abs(number) < 1e6 and not self.chance(20):
            step = wanted["multipleOf"]
            number = round(round(number / step) * step, 6)
        return int(number) if whole and not self.chance(15) else number

    def changed(self, value: Any) -> Any:
        """Draw a value that differs in one place, or not at all."""
        if isinstance(value, list) and value and self.chance(60):
            i = self.draw(st.integers(0, len(value) - 1))
            how = self.pick(["change", "drop", "repeat"])
            if how == "change":
                return [*value[:i], self.changed(value[i]), *value[i + 1 :]]
            return value[:i] + value[i + 1 :] if how == "drop" else [*value, value[i]]
        if isinstance(value, dict) and value and self.chance(75):
            name, how = self.pick([*value]), self.pick(["change", "drop", "rename", "add"])
            if how == "add":
                return {**value, self.pick(NAMES): self.draw(any_value(1))}
            rest = {key: each for key, each in value.items() if key != name}
            if how == "drop":
                return rest
            if how == "rename":
                name, changed = self.pick(NAMES), value[name]
            else:
                changed = self.changed(value[name])
            return {**rest, name: changed}
        if isinstance(value, (int, float)) and not isinstance(value, bool) and self.chance(60):
            return self.pick([value + 1, value - 1, value + 0.5, -value])
        return self.draw(any_value(1))


def _target(reference: str, root: Any) -> Any:
    found = root
    for part in reference.removeprefix("#").split("/")[1:]:
        found = found[part.replace("~1", "/").replace("~0", "~")]
    return found


def _laid_over(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    merged = {**other, **one}
    for keyword in ("properties", "patternProperties", "dependentRequired", "dependencies"):
        if keyword in one and keyword in other:
            merged[keyword] = {**other[keyword], **one[keyword]}
    if "required" in one and "required" in other:
        merged["required"] = [*one["required"], *other["required"]]
    return merged


def any_value(depth: int) -> st.SearchStrategy[Any]:
    """Give values of any type from the pools."""
    scalars = st.one_of(
        st.sampled_from(NUMBERS), st.sampled_from(STRINGS), st.sampled_from([None, True, False])
    )
    if depth <= 0:
        return scalars
    inner = any_value(depth - 1)
    return st.one_of(
        scalars,
        st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
        st.lists(inner, max_size=3),
    )


@st.composite
def schemas(
    draw: st.DrawFn, dialect: Dialect = LATEST, depth: int = 3, *, references: bool = True
) -> Any:
    """Draw a schema of a dialect."""
    return _Schemas(draw, dialect, references=references).document(depth)


@st.composite
def instances(draw: st.DrawFn, schema: Any, dialect: Dialect = LATEST) -> Any:
    """Draw a value near a schema."""
    drawer = _Instances(draw, dialect, schema)
    value = drawer.instance(schema, 5)
    return drawer.changed(value) if drawer.chance(40) else value
