"""The words of the synthetic world.

Owns: the values of properties, the values that an `enum` does not have, remarks, and
questions that need no tool. Must not know: tools, dialogues, tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_CITIES = ("Paris", "Rome", "Oslo", "Tokyo", "Berlin", "Madrid", "Lima", "Cairo", "Köln", "北京")
_PEOPLE = ("Anna", "Ben", "Clara", "David", "Émile", "Frida")
_TEXTS = ("hello", "good morning", "see you soon", "thank you", "all is well")
_TITLES = ("team lunch", "review", "party", "board meeting", "yoga class")
_WORDS = ("home", "work", "travel", "money", "school")
_THINGS = ("a red fox", "a castle", "two boats", "a blue tree", "an old robot")
_TOPICS = ("solar power", "jazz", "chess", "deep sea fish", "tax law")
_PATHS = ("main.py", "notes.txt", "data.csv", "logo.png", "README.md")

# What a property of a name is filled with.
VALUES: Mapping[str, tuple[str, ...]] = {
    "cc": _PEOPLE,
    "city": _CITIES,
    "code": ("AB12", "QX07", "KM55", "ZT31"),
    "date": ("2026-05-14", "2026-06-02", "2027-01-30", "2026-12-24"),
    "destination": _CITIES,
    "dish": ("pizza", "soup", "ramen", "salad", "curry"),
    "email": ("anna@mail.org", "ben@home.net", "info@shop.com"),
    "event": ("the opera", "the derby", "the fair"),
    "field": ("name", "year", "owner"),
    "label": ("tea", "pasta", "laundry"),
    "labels": _WORDS,
    "origin": _CITIES,
    "path": _PATHS,
    "person": _PEOPLE,
    "prompt": _THINGS,
    "query": _TOPICS,
    "room": ("kitchen", "bedroom", "office", "garage"),
    "song": ("Yesterday", "Clair de Lune", "Bolero", "So What"),
    "street": ("Main Street", "High Street"),
    "subject": _TITLES,
    "symbol": ("ACME", "ORCA", "NOVA"),
    "table": ("users", "orders", "planes"),
    "tags": _WORDS,
    "task": ("buy milk", "call mum", "water the plants", "pay the rent"),
    "text": _TEXTS,
    "title": _TITLES,
    "to": _PEOPLE,
    "topic": _TOPICS,
    "url": ("example.org", "news.net/today", "wiki.org/cats"),
    "value": ("red", "1999", "Anna"),
}

# What people ask for and the enum of a property of that name does not have.
STRAYS: Mapping[str, tuple[str, ...]] = {
    "cabin": ("first", "premium"),
    "cuisine": ("greek", "vegan"),
    "currency": ("GBP", "JPY"),
    "kind": ("task", "question"),
    "language": ("latin", "klingon"),
    "mode": ("train", "boat"),
    "op": ("divide", "subtract"),
    "priority": ("urgent", "extreme"),
    "repeat": ("hourly", "yearly"),
    "section": ("balcony", "middle"),
    "size": ("huge", "tiny"),
    "source": ("GBP", "JPY"),
    "state": ("dim", "blink"),
    "style": ("funny", "poetic"),
    "target": ("GBP", "JPY"),
    "unit": ("kelvin", "rankine"),
}

NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

# What people add to any request, and the property that a careless model makes of it.
ASIDES: tuple[tuple[str, str, Any], ...] = (
    (" It is urgent.", "urgency", "high"),
    (" Do it quietly.", "silent", True),
    (" This is a test.", "dry_run", True),
    (" Ask Eve first.", "approver", "Eve"),
)

# Questions that need no tool, and their answers.
PLAIN: tuple[tuple[str, str], ...] = (
    ("Hello!", "Hello! How can I help you?"),
    ("Who are you?", "I am Kimi, a very small one."),
    ("Thank you.", "You are welcome."),
    ("What is the capital of France?", "The capital of France is Paris."),
    ("What is the capital of Peru?", "The capital of Peru is Lima."),
    ("What colour is the sky?", "The sky is blue."),
    ("How many legs has a spider?", "A spider has eight legs."),
    ("Is water wet?", "Yes, water is wet."),
    ("Tell me a joke.", "Why did the token cross the mask? It could not."),
    ("What is two plus two?", "Two plus two is four."),
    (
        "Write a haiku.",
        "Small model at dawn, a handful of weights and dreams, the mask lets one pass.",
    ),
    ("Name three fruits.", "Apple, pear and plum."),
    ("What is a transformer?", "A network of attention layers."),
    ("How are you?", "I am fine, thank you."),
    ("Can you help me?", "Yes. What do you need?"),
    ("What is JSON?", 'JSON is a text format such as {"a": 1}.'),
    ("Good night.", "Good night. Sleep well."),
    ("Explain rain.", "Warm air rises, cools, and its water falls."),
)
