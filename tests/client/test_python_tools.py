"""Tools that are written in Python: what is declared, what is enforced, and what comes back."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, Optional

import pytest
from openai.lib._tools import pydantic_function_tool
from pydantic import BaseModel, ConfigDict, Field, field_validator
from typing_extensions import TypedDict

import enforcer
from enforcer.client.python_tools import declared
from enforcer.errors import InvalidArguments, InvalidTools, MissingPackage
from enforcer.request.tools import parse
from tests.vocabularies import call, section, small, write


class Unit(Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


class Place(BaseModel):
    """A place.

    Attributes:
        name: What it is called.
        within: Where it is.

    """

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(max_length=5)]
    within: Optional[Place] = None  # noqa: UP045 - resolved by name

    @field_validator("name")
    @classmethod
    def _is_no_number(cls, value: str) -> str:
        if value.isdigit():
            raise ValueError("a number is no name")
        return value


@dataclass
class Point:
    x: int
    y: float = 0.5


class Pair(TypedDict):
    a: int


def google(city: str, days: int = 1, *, unit: Unit = Unit.CELSIUS, schema: Any = None) -> str:
    """Look up the weather.

    Of today, or of

    the days after.

    Args:
        city: Where,
            in words.
        days (int): How many.
        other: No parameter.

    Returns:
        A text.

    """
    return f"{city} {days} {unit.value} {schema}"


def numpy(city: str, days: int = 1) -> str:
    """Look up the weather.

    Parameters
    ----------
    city : str
        Where,
        in words.
    days : int, optional
        How many.

    Returns
    -------
    str
        A text.
    """
    return f"{city} {days}"


def sphinx(city: str, days: int = 1) -> str:
    """Look up the weather.

    :param city: Where, in words.
    :param days: How many.
    :return: a text
    """
    return f"{city} {days}"


async def bare(a, _b: int = 3, **more):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN003, ANN201
    return a, more


def function(source: Any, **more: Any) -> dict[str, Any]:
    made: Any = enforcer.tool(source, **more)
    assert made["type"] == "function"
    assert json.loads(json.dumps(made)) == made
    found: dict[str, Any] = made["function"]
    return found


@pytest.mark.parametrize("source", [google, numpy, sphinx])
def test_docstrings_describe(source: Any) -> None:
    found = function(source)
    assert found["name"] == source.__name__
    assert found["description"].startswith("Look up the weather.")
    assert "Returns" not in found["description"]
    properties = found["parameters"]["properties"]
    assert " ".join(properties["city"]["description"].split()) == "Where, in words."
    assert properties["days"]["description"] == "How many."


def test_a_function() -> None:
    found = function(google)
    assert found["description"].endswith("the days after.")
    parameters = found["parameters"]
    assert parameters["required"] == ["city"]
    assert parameters["additionalProperties"] is False
    properties = parameters["properties"]
    assert list(properties) == ["city", "days", "unit", "schema"]
    assert (properties["days"]["type"], properties["days"]["default"]) == ("integer", 1)
    assert properties["unit"]["default"] == "c"


def test_a_function_that_says_little() -> None:
    found = function(bare, name="b", description="")
    assert "description" not in found
    assert found["name"] == "b"
    assert found["parameters"]["additionalProperties"] is True
    assert found["parameters"]["required"] == ["a"]
    assert function(bare, description="x")["description"] == "x"


def test_a_method_has_no_self() -> None:
    class Shop:
        def buy(self, item: str, at: object = object) -> None:
            """Buy."""

    found = function(Shop().buy)
    assert found["description"] == "Buy."
    assert list(found["parameters"]["properties"]) == ["item", "at"]
    assert "default" not in found["parameters"]["properties"]["at"]  # it is not JSON


def test_models() -> None:
    found = function(Place)
    assert (found["name"], found["description"]) == ("Place", "A place.")
    model = found["parameters"]["$defs"]["Place"]
    assert model["properties"]["name"]["description"] == "What it is called."
    assert function(Point)["parameters"]["required"] == ["x"]
    assert "description" not in function(Point)  # its docstring is made by `dataclass`
    assert function(Pair, name="pair")["name"] == "pair"


def test_a_model_as_openais_client_declares_it() -> None:
    class Order(BaseModel):
        """Order something."""

        item: str = Field(description="What.")
        unit: Unit

    theirs: Any = pydantic_function_tool(Order)["function"]
    ours = function(Order)
    assert (ours["name"], ours["description"]) == (theirs["name"], theirs["description"])
    for key in ("properties", "required", "type"):  # theirs is closed and strict besides
        assert ours["parameters"][key] == theirs["parameters"][key]


@pytest.mark.parametrize(
    ("source", "path", "reason"),
    [
        (lambda: 3, "$.function.name", "not a tool name"),
        (lambda *a: a, "$", "`\\*a` is given by position"),
        (len, "$", "`obj` is given by position"),
        (enforcer.Enforcer, "$", "no tool can be made of Enforcer"),
        (type("Ours", (), {}), "$", "no tool can be made of Ours"),
        (3, "$", "no tool can be made of 3"),
    ],
)
def test_what_is_no_tool(source: Any, path: str, reason: str) -> None:
    with pytest.raises(InvalidTools, match=reason) as caught:
        enforcer.tool(source)
    assert caught.value.path == path


def test_annotations_that_are_not_defined() -> None:
    def lost(a: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821
        """Take something."""

    with pytest.raises(InvalidTools, match="'Nowhere' is not defined"):
        enforcer.tool(lost)


def test_they_are_taken_among_other_tools() -> None:
    plain = {"type": "function", "function": {"name": "plain"}}
    given = (plain, google, Place)
    expected = [plain, enforcer.tool(google), enforcer.tool(Place)]
    assert declared(given) == expected
    assert list(parse(declared(given), "auto", None).tools) == ["plain", "google", "Place"]
    assert enforcer.extra_body(given) == enforcer.extra_body(expected)
    for left in (None, 3, "x", {"a": google}):
        assert declared(left) is left
    for route in (enforcer.extra_body, enforcer.Enforcer(small()).matcher):
        with pytest.raises(InvalidTools) as caught:
            route([plain, len])
        assert caught.value.path == "$.tools[1]"


def read(source: Any, arguments: str) -> tuple[bool, enforcer.Call]:
    """Tell whether a call of a tool is legal, and give it as it is read without a mask."""
    e = enforcer.Enforcer(small())
    ids = write(e.vocabulary, section(call(source.__name__, 0, arguments)))
    legal = e.matcher([source]).validate(ids) == len(ids)
    return legal, e.parse(ids).calls[0]


def test_arguments_come_back_as_they_were_declared() -> None:
    legal, found = read(google, '{"city": "Rome", "unit": "f", "days": 4}')
    assert legal
    assert found.parse(google) == {"city": "Rome", "unit": Unit.FAHRENHEIT, "days": 4}
    assert google(**found.parse(google)) == "Rome 4 f None"
    legal, found = read(Place, '{"name": "Rome", "within": {"name": "Italy"}}')
    assert legal
    assert found.parse(Place) == Place(name="Rome", within=Place(name="Italy"))
    assert found.parse(Place).name == "Rome"
    legal, found = read(Point, '{"x": 3}')
    assert legal
    assert found.parse(Point) == Point(3)
    assert read(Pair, '{"a": 3}')[1].parse(Pair) == {"a": 3}
    assert read(bare, '{"a": 1, "c": 2}')[1].parse(bare) == {"a": 1, "c": 2}


@pytest.mark.parametrize(
    ("source", "arguments", "says"),
    [
        (google, '{"days": "x"}', ["$.city", "$.days"]),
        (google, '{"city": "a", "dayz": 3}', ["$.dayz"]),
        (Place, '{"name": "Rome", "within": {"name": "Europe"}}', ["$.within.name"]),
        (Place, "[1]", ["$"]),
    ],
)
def test_arguments_that_do_not_fit(source: Any, arguments: str, says: list[str]) -> None:
    """The mask forbids them; what a model without one wrote is told of by its path."""
    found = enforcer.Call("", "it", 0, arguments)
    with pytest.raises(InvalidArguments, match=r"^arguments of 'it': ") as caught:
        found.parse(source)
    assert [each.path for each in caught.value.problems] == says
    assert all(path in str(caught.value) for path in says)
    assert isinstance(caught.value, enforcer.EnforcerError)
    if source is google:
        assert not read(source, arguments)[0]


def test_a_validator_of_the_models_has_its_say() -> None:
    legal, found = read(Place, '{"name": "123"}')
    assert legal
    with pytest.raises(InvalidArguments, match="a number is no name"):
        found.parse(Place)


def test_nothing_can_be_read_into_what_is_no_tool() -> None:
    nothing: Any = 3
    with pytest.raises(InvalidTools, match="no tool can be made of 3"):
        enforcer.Call("", "it", 0, "{}").parse(nothing)


@pytest.mark.parametrize("package", ["pydantic", "docstring_parser"])
def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    name = package.replace("_", "-")
    with pytest.raises(MissingPackage, match=rf"{name}.*'\.\[tools\]'"):
        enforcer.tool(google)


def test_literals_and_bounds_are_enforced() -> None:
    def rate(stars: Annotated[int, Field(ge=1, le=5)], kind: Literal["a", "b"] = "a") -> None:
        """Rate."""

    assert read(rate, '{"stars": 5, "kind": "b"}')[0]
    assert not read(rate, '{"stars": 6}')[0]
    assert not read(rate, '{"stars": 5, "kind": "c"}')[0]
    assert not read(rate, '{"kind": "a"}')[0]


class _Agent:
    def search(self, query: str) -> str:
        """Search."""
        return query


def test_a_method_without_its_object_is_no_tool() -> None:
    assert enforcer.tool(_Agent().search)["function"]["name"] == "search"
    with pytest.raises(InvalidTools, match="without its object"):
        enforcer.tool(_Agent.search)
