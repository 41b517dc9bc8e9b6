"""Formats against the official test suite, the strict checkers, and real schemas."""

import gzip
import json
from collections.abc import Iterator
from datetime import date, datetime
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from uuid import UUID

import jsonschema
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from enforcer.regex import example, format_regex, fullmatch
from enforcer.regex.formats import FORMATS
from tests.shared_data import shared

_CHECKER = jsonschema.Draft202012Validator.FORMAT_CHECKER

# Leap seconds are known only in UTC (`formats` says why); no checker in use knows any.
_LEAP_SECONDS = {
    "1998-12-31T15:59:60.123-08:00",
    "01:29:60+01:30",
    "23:29:60+23:30",
    "15:59:60-08:00",
    "00:29:60-23:30",
}
# Valid by the RFC and the test suite, but not to the checkers of Python's `jsonschema`.
_CHECKERS_ARE_STRICTER = {
    "23:59:60Z",
    "23:59:60+00:00",
    "1998-12-31T23:59:60Z",
    "{v:1000}",
    "{%41}",
    "http://[V1.fe]",
    "100",
}


def _suite() -> Iterator[tuple[str, str, bool]]:
    folder = shared(
        "cases", "json-schema-test-suite", "tests", "draft2020-12", "optional", "format"
    )
    for path in sorted(folder.glob("*.json")):
        for group in json.loads(path.read_text()):
            if set(group["schema"]) <= {"$schema", "format"}:
                for test in group["tests"]:
                    if isinstance(test["data"], str):
                        yield group["schema"]["format"], test["data"], test["valid"]


def test_the_official_suite() -> None:
    wrong, seen = [], 0
    for name, text, valid in _suite():
        language = format_regex(name)
        if language is None:
            continue
        seen += 1
        punycode = name == "hostname" and "xn--" in text.lower()
        if fullmatch(language, text) != valid and text not in _LEAP_SECONDS and not punycode:
            wrong.append((name, text, valid))
    assert seen > 400
    assert not wrong


def test_what_is_accepted_passes_the_strict_checkers() -> None:
    wrong = [
        (name, text)
        for name, text, _ in _suite()
        if (language := format_regex(name)) is not None
        and fullmatch(language, text)
        and text not in _CHECKERS_ARE_STRICTER
        and not _CHECKER.conforms(text, name)
    ]
    assert not wrong


def _walk(schema: dict[str, Any], value: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield format and text wherever a schema's plain structure leads to both."""
    if not isinstance(schema, dict) or depth > 12:
        return
    if isinstance(schema.get("format"), str) and isinstance(value, str):
        yield schema["format"], value
    if isinstance(value, dict):
        for name, inner in (schema.get("properties") or {}).items():
            if name in value:
                yield from _walk(inner, value[name], depth + 1)
    if isinstance(value, list):
        for item in value:
            yield from _walk(schema.get("items"), item, depth + 1)


def test_valid_instances_of_real_schemas() -> None:
    wrong, seen = set(), 0
    with gzip.open(shared("cases", "maskbench", "cases.jsonl.gz"), "rt") as lines:
        for line in lines:
            if '"format"' not in line:
                continue
            case = json.loads(line)
            for test in case["tests"]:
                for name, text in _walk(case["schema"], test["data"]) if test["valid"] else ():
                    language = format_regex(name)
                    if language is not None:
                        seen += 1
                        if not fullmatch(language, text):
                            wrong.add((name, text))
    assert seen > 500
    assert not wrong


@given(st.dates())
def test_every_date_is_one(day: date) -> None:
    assert fullmatch(format_regex("date"), day.isoformat())


@given(st.integers(0, 9999), st.integers(0, 13), st.integers(0, 32))
def test_nothing_else_is_a_date(year: int, month: int, day: int) -> None:
    text = f"{year:04}-{month:02}-{day:02}"
    try:
        date.fromisoformat(text)
        valid = True
    except ValueError:
        valid = False
    assert fullmatch(format_regex("date"), text) == valid


@given(st.datetimes(timezones=st.timezones()))
def test_every_moment_is_a_date_time(moment: datetime) -> None:
    assume(moment.utcoffset().total_seconds() % 60 == 0)
    text = moment.isoformat()
    assert fullmatch(format_regex("date-time"), text)
    assert fullmatch(format_regex("date-time"), text.replace("T", "t"))
    assert not fullmatch(format_regex("date-time"), text.replace("T", " "))


@given(st.ip_addresses())
def test_every_address_is_one(address: IPv4Address | IPv6Address) -> None:
    assert fullmatch(format_regex(f"ipv{address.version}"), str(address))
    if address.version == 6:
        assert fullmatch(format_regex("ipv6"), address.exploded)


@given(st.uuids())
def test_every_uuid_is_one(uuid: UUID) -> None:
    assert fullmatch(format_regex("uuid"), str(uuid))
    assert fullmatch(format_regex("uuid"), str(uuid).upper())


_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@given(st.integers(0, 2**130 - 1), st.booleans())
def test_what_128_bits_hold_is_a_ulid(number: int, lower: bool) -> None:
    text = "".join(_CROCKFORD[number >> 5 * place & 31] for place in reversed(range(26)))
    text = text.lower() if lower else text
    language = format_regex("ulid")
    assert fullmatch(language, text) == (number < 2**128)
    assert not fullmatch(language, text[1:])
    assert not fullmatch(language, f"{text[:-1]}u")


@given(st.emails())
def test_every_email_is_one(email: str) -> None:
    assert fullmatch(format_regex("email"), email)
    assert fullmatch(format_regex("idn-email"), email)


@given(st.sampled_from(sorted(FORMATS)), st.data())
def test_changed_texts_pass_only_if_the_checkers_agree(name: str, data: st.DataObject) -> None:
    language = format_regex(name)
    seeds = {
        "uri": "http://a.b:80/c?d#e", "iri": "http://é.b/c", "uri-reference": "//[::1]/b?c",
        "iri-reference": "a/b", "duration": "P1Y2M3DT4H5M6S", "date-time": "2020-02-29T23:59:59Z",
        "time": "10:20:30.5+01:00", "hostname": "a-b.c1", "email": "a.b@c-d.e",
        "ipv6": "1::2:1.2.3.4",
        "json-pointer": "/a~0/b", "relative-json-pointer": "1/a", "uri-template": "a{b,c}d",
    }  # fmt: skip
    text = seeds.get(name) or example(language)
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(at, min(len(text), at + 2)))
        text = text[:at] + data.draw(st.text("0129aZé:/.-%{}[]@~#?PTH\n ", max_size=2)) + text[end:]
    if fullmatch(language, text) and not _CHECKER.conforms(text, name):
        lenient = name in {"uri-template", "iri", "iri-reference", "relative-json-pointer"}
        assert lenient or ":60" in text


def test_annotations() -> None:
    for name in ("regex", "idn-hostname", "int32", "no-such-format", "", "DATE"):
        assert format_regex(name) is None


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_has_members_and_others(name: str) -> None:
    language = format_regex(name)
    assert fullmatch(language, example(language))
    assert not fullmatch(language, "\n")
    assert not fullmatch(language, example(language) + "\n")
