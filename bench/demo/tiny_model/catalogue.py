"""The tools of the synthetic world, and how people ask for them.

Owns: the declarations and the wordings with their slots. Must not know: what slots
are filled with, dialogues, tokens, or which request declares which tool.

A wording names slots by the property that they fill (`{city}`, `{to.city}`). A
wording that leaves a required property out is a *gap*: whoever follows it to the
letter breaks the schema.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]
SLOT = re.compile(r"\{([\w.]+)\}")


@dataclass(frozen=True, slots=True)
class Tool:
    """A function: what a request declares of it, and how it is asked for."""

    name: str
    description: str
    parameters: Schema
    wordings: tuple[str, ...]
    result: str

    def at(self, path: str) -> Schema:
        """Return the schema of the property at a dotted path."""
        schema = self.parameters
        for key in path.split("."):
            schema = schema["properties"][key]
        return schema

    def gaps(self, wording: str) -> bool:
        """Tell whether a wording leaves out a property that the schema requires."""
        return _misses(self.parameters, [path.split(".") for path in SLOT.findall(wording)])


def _misses(schema: Schema, paths: list[list[str]]) -> bool:
    below: dict[str, list[list[str]]] = {}
    for head, *tail in paths:
        below.setdefault(head, []).extend([tail] if tail else [])
    if not below.keys() >= set(schema.get("required", ())):
        return True
    return any(_misses(schema["properties"][key], tails) for key, tails in below.items() if tails)


def _object(required: str = "", /, **properties: Schema) -> Schema:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required.split()
    return schema


def _closed(required: str = "", /, **properties: Schema) -> Schema:
    return {**_object(required, **properties), "additionalProperties": False}


def _enum(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def _integer(low: int, high: int) -> Schema:
    return {"type": "integer", "minimum": low, "maximum": high}


def _array(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


_S: Schema = {"type": "string"}
_DATE: Schema = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
_NUMBER: Schema = {"type": "number"}
_MAYBE: Schema = {"anyOf": [{"type": "string"}, {"type": "null"}]}
_PLACE = _object("city", city=_S, street=_S)

_SCALE = _enum("celsius", "fahrenheit")
_COUNT = _integer(1, 9)

TOOLS: tuple[Tool, ...] = (
    Tool(
        "get_weather",
        "Current weather of a city",
        _closed("city", city=_S, unit=_SCALE),
        ("weather in {city}", "{unit} weather for {city}", "weather of {city} in {unit}"),
        "sunny",
    ),
    Tool(
        "get_forecast",
        "Weather forecast for some days",
        _object("city days", city=_S, days=_COUNT, unit=_SCALE),
        (
            "forecast for {city} over {days} days",
            "{days} day forecast of {city}",
            "forecast of {city}",
        ),
        "rain later",
    ),
    Tool(
        "img_gen",
        "Draw a picture",
        _object("prompt", prompt=_S, size=_enum("small", "medium", "large")),
        ("a picture of {prompt}", "a {size} picture of {prompt}", "draw {prompt}"),
        "image ready",
    ),
    Tool(
        "search",
        "Search the web",
        _closed("query", query=_S, limit=_COUNT),
        ("search for {query}", "look up {query}", "search {limit} results on {query}"),
        "two pages found",
    ),
    Tool(
        "search_flights",
        "Find flights",
        _object(
            "origin destination", origin=_S, destination=_S, cabin=_enum("economy", "business")
        ),
        (
            "flights from {origin} to {destination}",
            "{cabin} flights from {origin} to {destination}",
            "flights to {destination}",
        ),
        "three flights",
    ),
    Tool(
        "book_hotel",
        "Book a room",
        _closed("city date guests", city=_S, date=_DATE, guests=_COUNT),
        (
            "a hotel in {city} on {date} for {guests} guests",
            "a room for {guests} guests in {city} on {date}",
            "a hotel in {city} for {guests} guests",
        ),
        "booked",
    ),
    Tool(
        "sendEmail",
        "Send an e-mail",
        _closed("to subject", to=_S, subject=_S, cc=_array(_S)),
        (
            "an e-mail to {to} about {subject}",
            "mail {to} on {subject} with copy to {cc}",
            "an e-mail to {to}",
        ),
        "sent",
    ),
    Tool(
        "send_message",
        "Send a chat message",
        _object("person text", person=_S, text=_S),
        ("a message to {person} saying {text}", "tell {person} {text}", "a message to {person}"),
        "delivered",
    ),
    Tool(
        "create_event",
        "Put an event into the calendar",
        _object("title date", title=_S, date=_DATE, guests=_COUNT, place=_PLACE),
        (
            "an event {title} on {date}",
            "event {title} on {date} in {place.city}",
            "an event {title} with {guests} guests on {date}",
            "an event {title}",
        ),
        "created",
    ),
    Tool(
        "delete_event",
        "Remove an event",
        _closed("title", title=_S, date=_DATE),
        ("delete the event {title}", "remove {title} on {date}"),
        "removed",
    ),
    Tool(
        "set_timer",
        "Start a timer",
        _closed("minutes", minutes=_integer(1, 9), label=_MAYBE),
        (
            "a timer of {minutes} minutes",
            "a {minutes} minutes timer for {label}",
            "a timer for {label}",
        ),
        "started",
    ),
    Tool(
        "set-alarm",
        "Set an alarm",
        _object("hour", hour=_integer(0, 23), repeat=_enum("daily", "weekly", "never")),
        ("an alarm at {hour} hours", "a {repeat} alarm at {hour} hours", "a {repeat} alarm"),
        "set",
    ),
    Tool(
        "translate_text",
        "Translate a text",
        _closed("text language", text=_S, language=_enum("french", "german", "spanish")),
        ("translate {text} into {language}", "{text} in {language}", "translate {text}"),
        "translated",
    ),
    Tool(
        "convertCurrency",
        "Convert money",
        _closed(
            "amount source target",
            amount=_NUMBER,
            source=_enum("EUR", "USD"),
            target=_enum("EUR", "USD"),
        ),
        (
            "convert {amount} {source} to {target}",
            "{amount} {source} in {target}",
            "convert {amount} {source}",
        ),
        "42.5",
    ),
    Tool(
        "get_stock_price",
        "Price of a share",
        _object("symbol", symbol=_S, currency=_enum("EUR", "USD")),
        ("the stock price of {symbol}", "the price of {symbol} in {currency}"),
        "120.5",
    ),
    Tool(
        "play_music",
        "Play a song",
        _object("song", song=_S, volume=_integer(1, 9), room=_S),
        ("play {song}", "play {song} at volume {volume}", "play {song} in the {room}"),
        "playing",
    ),
    Tool(
        "lights",
        "Switch the lights",
        _closed("room state", room=_S, state=_enum("on", "off")),
        (
            "lights {state} in the {room}",
            "turn the {room} lights {state}",
            "the lights of the {room}",
        ),
        "done",
    ),
    Tool(
        "set_temperature",
        "Heat or cool a room",
        _closed("room degrees", room=_S, degrees=_integer(1, 30)),
        (
            "heat the {room} to {degrees} degrees",
            "set {degrees} degrees in the {room}",
            "heat the {room}",
        ),
        "done",
    ),
    Tool(
        "add_todo",
        "Add to the list of things to do",
        _object("task", task=_S, priority=_enum("low", "medium", "high"), tags=_array(_S)),
        ("a todo {task}", "a {priority} priority todo {task}", "a todo {task} tagged {tags}"),
        "added",
    ),
    Tool(
        "order_food",
        "Order a meal",
        _object(
            "items",
            items=_array(_object("dish count", dish=_S, count=_COUNT), minItems=1),
            address=_PLACE,
        ),
        ("order {items}", "order {items} to {address.city}"),
        "on its way",
    ),
    Tool(
        "find_restaurant",
        "Find a place to eat",
        _closed("city", city=_S, cuisine=_enum("italian", "thai", "indian"), guests=_COUNT),
        (
            "a restaurant in {city}",
            "{cuisine} food in {city}",
            "a table for {guests} guests in {city}",
        ),
        "two places",
    ),
    Tool(
        "get_route",
        "Directions between two places",
        _object("start end", start=_PLACE, end=_PLACE, mode=_enum("car", "bus", "walk")),
        (
            "the route from {start.city} to {end.city}",
            "the route by {mode} from {start.city} to {end.city}",
            "the route to {end.city}",
        ),
        "12 km",
    ),
    Tool(
        "get_time",
        "Local time of a city",
        _closed("city", city=_S),
        ("the time in {city}", "what time it is in {city}"),
        "10:30",
    ),
    Tool(
        "get_timezone",
        "Time zone of a city",
        _object("city", city=_S),
        ("the time zone of {city}",),
        "UTC+1",
    ),
    Tool(
        "read_file",
        "Read a file",
        _closed("path", path=_S, lines=_integer(1, 9)),
        ("read {path}", "show {lines} lines of {path}"),
        "hello",
    ),
    Tool(
        "write_file",
        "Write a file",
        _closed("path text", path=_S, text=_S),
        ("write {text} to {path}", "save {text} into {path}", "write {path}"),
        "written",
    ),
    Tool(
        "run_tests",
        "Run the tests",
        _closed("", path=_S, verbose={"type": "boolean"}),
        ("run the tests", "run the tests of {path}"),
        "all pass",
    ),
    Tool(
        "create_issue",
        "Open a ticket",
        _closed("title kind", title=_S, kind=_enum("bug", "feature"), labels=_array(_S)),
        (
            "a {kind} ticket {title}",
            "a {kind} ticket {title} labelled {labels}",
            "a ticket {title}",
        ),
        "opened",
    ),
    Tool(
        "query_db",
        "Query a table",
        _object("table", table=_S, filter=_object("field value", field=_S, value=_S), limit=_COUNT),
        (
            "rows of {table}",
            "{limit} rows of {table}",
            "rows of {table} where {filter.field} is {filter.value}",
            "rows of {table} where {filter.field} is set",
        ),
        "four rows",
    ),
    Tool(
        "calculate",
        "Calculate with two numbers",
        _closed("op a b", op=_enum("add", "multiply"), a=_integer(0, 9), b=_integer(0, 9)),
        ("{op} {a} and {b}", "{op} {a}"),
        "7",
    ),
    Tool(
        "get_news",
        "Headlines",
        _object("topic", topic=_S, count=_COUNT),
        ("news on {topic}", "{count} headlines on {topic}"),
        "no news",
    ),
    Tool(
        "add_contact",
        "Save a contact",
        _closed("person email", person=_S, email=_S, age=_integer(18, 99)),
        (
            "save {person} with address {email}",
            "save {person} aged {age} with address {email}",
            "save {person}",
        ),
        "saved",
    ),
    Tool(
        "track_package",
        "Where a package is",
        _object("code", code={"type": "string", "pattern": "^[A-Z]{2}[0-9]{2}$"}),
        ("track package {code}", "where package {code} is"),
        "in transit",
    ),
    Tool(
        "buy_ticket",
        "Buy tickets",
        _closed("event seats", event=_S, seats=_integer(1, 6), section=_enum("front", "back")),
        ("{seats} seats for {event}", "{seats} {section} seats for {event}", "seats for {event}"),
        "bought",
    ),
    Tool(
        "summarize",
        "Summarize a page",
        _object("url", url=_S, style=_enum("short", "long")),
        ("a summary of {url}", "a {style} summary of {url}"),
        "a page",
    ),
    Tool(
        "resizeImage",
        "Resize an image",
        _closed("path size", path=_S, size=_object("width height", width=_COUNT, height=_COUNT)),
        ("resize {path} to {size.width} by {size.height}", "resize {path} to {size.width} wide"),
        "resized",
    ),
)
BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}
