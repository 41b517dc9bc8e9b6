"""Schemas rich in everything that the compiler reads.

Owns: the strategy of schemas. Must not know: the compiler.
"""

from typing import Any

from hypothesis import strategies as st

from tests import drawn_json

# Elements that a memory beside the engine keeps distinct.
_STRINGS = [
    {"type": "string"},
    {"type": "string", "maxLength": 1},
    {"type": "string", "pattern": "^[ab]{0,7}$"},
    {"type": "string", "format": "date"},
]
_FINITE = [
    {"type": "boolean"},
    {"enum": ["a", "é", 1, None]},
    {"type": "integer", "minimum": 0, "maximum": 3},
    {"type": ["null", "boolean"]},
]


class _Schemas(drawn_json.Drawer):
    """Draws the parts of one schema."""

    def __init__(self, draw: st.DrawFn, dialect: drawn_json.Dialect, *, references: bool) -> None:
        super().__init__(draw, dialect)
        self._references = references

    def document(self, depth: int) -> Any:
        """Draw a whole schema."""
        schema = self.schema(depth)
        if not isinstance(schema, dict):
            return schema
        if self._references:
            definitions = {name: self.schema(depth - 1) for name in drawn_json.DEFINITIONS}
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
            for each in self.some([*drawn_json.KEYWORDS], 2, 1):
                schema |= self.keywords(each, depth)
        else:
            schema = {"type": kind, **self.keywords(kind, depth)}
        if self.chance(20):
            schema = {**self.combined(depth), **schema}
        if self.chance(5):
            schema["type"] = self.some(drawn_json.TYPES, 3, 1)
        if self.dialect.number >= 2019 and kind != "leaf" and self.chance(5):
            schema[self.pick(["unevaluatedProperties", "unevaluatedItems"])] = self.schema(0)
        return schema

    def leaf(self) -> Any:
        """Draw a schema without subschemas."""
        kind = self.pick(["type", "number", "string", "enum", "const"])
        if kind == "type":
            return {"type": self.pick(drawn_json.TYPES)}
        if kind == "enum":
            return {"enum": self.draw(st.lists(drawn_json.any_value(2), min_size=1, max_size=4))}
        if kind == "const":
            value = self.draw(drawn_json.any_value(2))
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
        for keyword in self.some(
            drawn_json.KEYWORDS[kind], 4, 1 if kind in ("array", "object") else 0
        ):
            schema |= read(keyword, depth)
        if not isinstance(schema.get("items"), list):
            # Without meaning there, and `jsonschema` raises when `items` is a boolean.
            schema.pop("additionalItems", None)
        return schema

    def _of_numbers(self, keyword: str, _: int) -> dict[str, Any]:
        if keyword == "multipleOf":
            return {keyword: self.pick(drawn_json.DIVISORS)}
        bound = self.pick(drawn_json.BOUNDS)
        if keyword.startswith("exclusive") and self.dialect.number == 4:
            return {keyword: True, keyword.removeprefix("exclusive").lower(): bound}
        return {keyword: bound}

    def _of_strings(self, keyword: str, _: int) -> dict[str, Any]:
        if keyword in ("minLength", "maxLength"):
            return {keyword: self.draw(st.integers(0, 4))}
        return {
            keyword: self.pick(
                [*(drawn_json.PATTERNS if keyword == "pattern" else drawn_json.FORMATS)]
            )
        }

    def _of_arrays(self, keyword: str, depth: int) -> dict[str, Any]:
        number = self.dialect.number
        if keyword in ("minItems", "maxItems"):
            return {keyword: self.draw(st.integers(0, 3))}
        if keyword == "uniqueItems":
            if self.chance(70):
                return {"uniqueItems": True, "items": self.pick([*_FINITE, *_STRINGS])}
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
            return {
                keyword: {
                    name: self.schema(depth - 1) for name in self.some(drawn_json.NAMES, 3, 1)
                }
            }
        if keyword == "required":
            return {keyword: self.some(drawn_json.NAMES, 2, 1)}
        if keyword == "additionalProperties":
            return {keyword: self._rest(depth)}
        if keyword == "patternProperties":
            names = self.some([*drawn_json.PATTERNS], 2, 1)
            return {keyword: {each: self.schema(depth - 1) for each in names}}
        if keyword == "propertyNames":
            names = [{"pattern": "^[^a]*$"}, {"maxLength": 1}, {"enum": ["a", "b", "é"]}]
            return {keyword: self.pick(names)} if number >= 6 else {}
        if (keyword == "dependencies") != (number < 2019):
            return {}
        name, by_schema = self.pick(drawn_json.NAMES), self.chance(40)
        needed = self.schema(depth - 1) if by_schema else self.some(drawn_json.NAMES, 2, 1)
        if by_schema and number >= 2019:
            keyword = "dependentSchemas"
        return {keyword: {name: needed}}


@st.composite
def schemas(
    draw: st.DrawFn,
    dialect: drawn_json.Dialect = drawn_json.LATEST,
    depth: int = 3,
    *,
    references: bool = True,
) -> Any:
    """Draw a schema of a dialect."""
    return _Schemas(draw, dialect, references=references).document(depth)
