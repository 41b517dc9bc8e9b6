"""Instances near the borders of a schema.

Owns: the strategy of instances. Must not know: the compiler. Whether an instance fits is
for a validator to say: most of those drawn here do or nearly do.
"""

from typing import Any

from hypothesis import strategies as st

from tests import drawn_json


class _Instances(drawn_json.Drawer):
    """Draws values that a schema's own keywords ask for, as far as that is easy."""

    def __init__(self, draw: st.DrawFn, dialect: drawn_json.Dialect, root: Any) -> None:
        super().__init__(draw, dialect)
        self._root = root

    def instance(self, schema: Any, fuel: int) -> Any:
        """Draw a value near a subschema."""
        wanted = self._wanted(schema, fuel)
        if not isinstance(wanted, dict):
            return self.draw(drawn_json.any_value(1))
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
            return str(self.pick(named))
        hinted = [
            kind for kind, keys in drawn_json.KEYWORDS.items() if any(key in wanted for key in keys)
        ]
        return str(self.pick(hinted if hinted and not self.chance(10) else drawn_json.TYPES))

    def _object(self, wanted: dict[str, Any], fuel: int) -> Any:
        declared = wanted.get("properties", {})
        names = dict.fromkeys(wanted.get("required", ()))
        names |= dict.fromkeys(name for name in declared if self.chance(50))
        for keyword in ("dependentRequired", "dependencies"):
            for name, needed in wanted.get(keyword, {}).items():
                if name in names and isinstance(needed, list) and not self.chance(15):
                    names |= dict.fromkeys(needed)
        if self.chance(40) or len(names) < wanted.get("minProperties", 0):
            names |= dict.fromkeys(self.some(drawn_json.NAMES, 3))
        if names and self.chance(10):
            names.pop(self.pick([*names]))
        out = {}
        for name in names:
            schema = declared.get(name, wanted.get("additionalProperties", True))
            if name not in declared and (patterns := wanted.get("patternProperties")):
                schema = self.pick([*patterns.values()])
            out[name] = (
                self.instance(schema, fuel - 1) if fuel > 0 else self.draw(drawn_json.any_value(0))
            )
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
            *drawn_json.PATTERNS.get(wanted.get("pattern", "-"), ()),
            *drawn_json.FORMATS.get(wanted.get("format", "-"), ()),
        ]
        return str(self.pick(drawn_json.STRINGS if not pool or self.chance(20) else pool))

    def _number(self, wanted: dict[str, Any], *, whole: bool) -> float:
        pool = [
            each
            for key, bound in wanted.items()
            if key.lower().endswith(("minimum", "maximum")) and not isinstance(bound, bool)
            for each in (bound, bound + 1, bound - 1, bound + 0.5)
        ] or drawn_json.NUMBERS
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
                return {**value, self.pick(drawn_json.NAMES): self.draw(drawn_json.any_value(1))}
            rest = {key: each for key, each in value.items() if key != name}
            if how == "drop":
                return rest
            if how == "rename":
                name, changed = self.pick(drawn_json.NAMES), value[name]
            else:
                changed = self.changed(value[name])
            return {**rest, name: changed}
        if isinstance(value, (int, float)) and not isinstance(value, bool) and self.chance(60):
            return self.pick([value + 1, value - 1, value + 0.5, -value])
        return self.draw(drawn_json.any_value(1))


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


@st.composite
def instances(draw: st.DrawFn, schema: Any, dialect: drawn_json.Dialect = drawn_json.LATEST) -> Any:
    """Draw a value near a schema."""
    drawer = _Instances(draw, dialect, schema)
    value = drawer.instance(schema, 5)
    return drawer.changed(value) if drawer.chance(40) else value
