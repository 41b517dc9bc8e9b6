r"""The string formats of JSON Schema, and others that schemas in use name, as regular languages.

Each format is a pattern, transcribed from the grammar of its RFC and limited to what the strict
checkers in use accept too. Known departures, each towards the stricter side unless it says
otherwise:

- `date`, `date-time`: no year 0000 (RFC 3339 has one, Python's calendar has not);
- `time`, `date-time`: leap seconds only in UTC, at 23:59:60, where strict checkers
  accept none at all: here the RFC wins;
- `hostname`: labels in Punycode (`xn--...`) are not decoded, only their form is checked;
- `email`, `idn-email`: as in SMTP, so no comments and no folding white space; the
  length of a label is not bounded (the looser side);
- `uri-template`, `relative-json-pointer`, `iri`: where checkers reject what the RFC
  allows (`{v:1000}`, `100`, `http://[V1.fe]`), the RFC wins;
- `regex`: whether a text is a well-formed pattern is no regular question, as groups nest. Here they
  nest to a fixed depth, in the syntax that ECMA-262 and Python's `re` have in common: no
  backreferences, named groups, lookbehinds or properties (`\p{L}`); ranges and counts are in order.

`idn-hostname` is no regular language and so remains an annotation. Must not know: how patterns are
read.
"""

from __future__ import annotations

from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING

from enforcer.regex.assertions import language
from enforcer.regex.constructors import concat, either, length, literal, repeat
from enforcer.regex.derivative import intersection
from enforcer.regex.pattern import read
from enforcer.regex.tree import Reading

if TYPE_CHECKING:
    from enforcer.regex.syntax import Regex

# RFC 3339

_YEAR = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_LEAP_YEAR = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
_DATE = (
    f"(?:{_YEAR}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    f"|{_LEAP_YEAR}-02-29)"
)
_HOUR = "(?:[01][0-9]|2[0-3])"
_FRACTION = "(?:[.][0-9]+)?"
_TIME = (
    f"(?:{_HOUR}:[0-5][0-9]:[0-5][0-9]{_FRACTION}(?:[Zz]|[+-]{_HOUR}:[0-5][0-9])"
    f"|23:59:60{_FRACTION}(?:[Zz]|[+-]00:00))"
)
_CLOCK = "T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)"
_DURATION = (
    f"P(?:(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)(?:{_CLOCK})?"
    f"|{_CLOCK}|[0-9]+W)"
)

# RFC 1123

_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOSTNAME = rf"{_LABEL}(?:\.{_LABEL})*"
_HOSTNAME_LENGTH = (1, 253)

# RFC 3986 and RFC 4291

_H16 = "[0-9A-Fa-f]{1,4}"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"{_BYTE}(?:\.{_BYTE}){{3}}"
_LS32 = f"(?:{_H16}:{_H16}|{_IPV4})"
_IPV6 = "(?:" + "|".join(
    (
        f"(?:{_H16}:){{6}}{_LS32}",
        f"::(?:{_H16}:){{5}}{_LS32}",
        f"(?:{_H16})?::(?:{_H16}:){{4}}{_LS32}",
        f"(?:(?:{_H16}:){{0,1}}{_H16})?::(?:{_H16}:){{3}}{_LS32}",
        f"(?:(?:{_H16}:){{0,2}}{_H16})?::(?:{_H16}:){{2}}{_LS32}",
        f"(?:(?:{_H16}:){{0,3}}{_H16})?::{_H16}:{_LS32}",
        f"(?:(?:{_H16}:){{0,4}}{_H16})?::{_LS32}",
        f"(?:(?:{_H16}:){{0,5}}{_H16})?::{_H16}",
        f"(?:(?:{_H16}:){{0,6}}{_H16})?::",
    )
) + ")"  # fmt: skip
_PERCENT = "%[0-9A-Fa-f]{2}"
_SUB_DELIMS = "!$&'()*+,;="
# RFC 3987's `ucschar` and `iprivate`.
_UCS = r"\xA0-\uD7FF\uF900-\uFDCF\uFDF0-\uFFEF" + "".join(
    rf"\u{{{plane:X}0000}}-\u{{{plane:X}FFFD}}" for plane in range(1, 14)
).replace(r"\u{E0000}", r"\u{E1000}")
_PRIVATE = r"\uE000-\uF8FF\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}"


def _reference(*, international: bool, relative: bool) -> str:
    """Write RFC 3986's `URI` or `URI-reference`, or RFC 3987's `IRI` or `IRI-reference`."""
    unreserved = r"A-Za-z0-9\-._~" + (_UCS if international else "")
    segment_char = f"(?:[{unreserved}{_SUB_DELIMS}:@]|{_PERCENT})"
    no_colon = f"(?:[{unreserved}{_SUB_DELIMS}@]|{_PERCENT})"
    user = f"(?:[{unreserved}{_SUB_DELIMS}:]|{_PERCENT})*"
    name = f"(?:[{unreserved}{_SUB_DELIMS}]|{_PERCENT})*"
    future = f"[vV][0-9A-Fa-f]+[.][{unreserved}{_SUB_DELIMS}:]+".replace(_UCS, "")
    authority = rf"(?:{user}@)?(?:\[(?:{_IPV6}|{future})\]|{name})(?::[0-9]*)?"
    segments = f"(?:/{segment_char}*)*"
    absolute = f"/(?:{segment_char}+{segments})?"
    hier = f"(?://{authority}{segments}|{absolute}|{segment_char}+{segments}|)"
    private = _PRIVATE if international else ""
    query = f"(?:[{unreserved}{_SUB_DELIMS}:@/?{private}]|{_PERCENT})*"
    fragment = f"(?:{segment_char}|[/?])*"
    tail = rf"(?:\?{query})?(?:#{fragment})?"
    full = f"[A-Za-z][A-Za-z0-9+.-]*:{hier}{tail}"
    if not relative:
        return full
    part = f"(?://{authority}{segments}|{absolute}|{no_colon}+{segments}|)"
    return f"(?:{full}|{part}{tail})"


# RFC 6570

_VARCHAR = f"(?:[A-Za-z0-9_]|{_PERCENT})"
_VARSPEC = rf"{_VARCHAR}(?:\.?{_VARCHAR})*(?::[1-9][0-9]{{0,3}}|\*)?"
_TEMPLATE = (
    rf"(?:[!#$&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~{_UCS}{_PRIVATE}]|{_PERCENT}"
    rf"|\{{[+#./;?&]?{_VARSPEC}(?:,{_VARSPEC})*\}})*"
)

# RFC 6901

_POINTER = "(?:/(?:[^~/]|~[01])*)*"


# RFC 5321 and RFC 6531


def _mailbox(beyond: str) -> str:
    """Write `Mailbox`; its words may also have the characters `beyond` ASCII, a class's members."""
    atom = f"[A-Za-z0-9!#$%&'*+/=?^_`{{|}}~{beyond}-]+"
    quoted = rf'"(?:[ !#-\[\]-~{beyond}]|\\[ -~])*"'
    word = f"[A-Za-z0-9{beyond}]+"
    label = f"{word}(?:-+{word})*"
    address = rf"\[(?:{_IPV4}|[Ii][Pp][Vv]6:{_IPV6})\]"
    return rf"(?:{atom}(?:\.{atom})*|{quoted})@(?:{label}(?:\.{label})*|{address})"


# github.com/ulid/spec: 128 bits in Crockford's base 32, in either case

_ULID = "[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}"

_HEX = "[0-9A-Fa-f]"
_PATTERNS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f"{_DATE}[Tt]{_TIME}",
    "duration": _DURATION,
    "email": _mailbox(""),
    "idn-email": _mailbox(r"\x80-\u{10FFFF}"),
    "hostname": _HOSTNAME,
    "ipv4": _IPV4,
    "ipv6": _IPV6,
    "uri": _reference(international=False, relative=False),
    "uri-reference": _reference(international=False, relative=True),
    "iri": _reference(international=True, relative=False),
    "iri-reference": _reference(international=True, relative=True),
    "uri-template": _TEMPLATE,
    "ulid": _ULID,
    "uuid": f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}",
    "json-pointer": _POINTER,
    "relative-json-pointer": f"(?:0|[1-9][0-9]*)(?:#|{_POINTER})",
}

FORMATS = frozenset(_PATTERNS)

# Regular expressions; the classes in this syntax are ECMA-262's, where `[^]` is any character.

_DEPTH = 3  # groups inside groups
_DIGITS = "0123456789abcdef"
_RANGE = "|".join(
    (
        *(f"{first}-[{first}-9]" for first in "0123456789"),
        *(f"{first}-[{first}-Z]" for first in ascii_uppercase),
        *(f"{first}-[{first}-z]" for first in ascii_lowercase),
        "[0-9]-[A-Za-z]|[A-Z]-[a-z]|[ !]-~",
        *(
            rf"\\u{first}{_HEX}{{3}}-\\u[{_DIGITS[at:]}]{_HEX}{{3}}"
            for at, first in enumerate(_DIGITS[:-1], 1)
        ),
    )
)

_ESCAPE = rf"\\(?:[dDwWsStnrfv!-/:-@\[-`{{-~]|x{_HEX}{{2}}|u{_HEX}{{4}})"
_ITEM = rf"(?:{_RANGE}|[^\0-\x1F\\\]^\-\[&~|]|{_ESCAPE})"
_CLASS = rf"\[\^?(?:-?{_ITEM}+-?|-)\]"
# `{2}`, `{2,}` and `{2,5}`, where the second is no less than the first.
_ORDERED = "|".join(f"{first},[{first}-9]" for first in "0123456789")
_BRACES = rf"\{{(?:[0-9]{{1,3}},?|{_ORDERED}|[0-9],[1-9][0-9]{{1,2}}|[1-9][0-9],[1-9][0-9]{{2}})\}}"
_QUANTIFIER = rf"(?:(?:[*+?]|{_BRACES})\??)?"
_ONE = rf"(?:[^\0-\x1F\\^$.*+?()\[\]{{}}|]|\.|{_ESCAPE}|{_CLASS})"
_TERM = rf"(?:{_ONE}{_QUANTIFIER}|[$^]|\\[bB])"


@lru_cache(maxsize=64)
def format_regex(name: str) -> Regex | None:
    """Build the language of a format; None for one that is an annotation only."""
    pattern = _PATTERNS.get(name)
    if pattern is None:
        return None
    found = _whole(pattern)
    return intersection(found, length(*_HOSTNAME_LENGTH)) if name == "hostname" else found


def _whole(pattern: str) -> Regex:
    anchored = f"^(?:{pattern})$"
    return language(read(anchored), Reading.NARROW, anchored)


@lru_cache(maxsize=1)
def regexes() -> Regex:
    """Build the language of texts that are regular expressions for ECMA-262 and for Python."""
    term, group, close, ahead = map(
        _whole, (_TERM, r"\((?:\?:)?", rf"\){_QUANTIFIER}", r"\(\?[=!]")
    )
    whole = _alternatives(term)
    for _ in range(_DEPTH):
        grouped = either(concat(group, whole, close), concat(ahead, whole, literal(")")))
        whole = _alternatives(either(term, grouped))
    return whole


def _alternatives(term: Regex) -> Regex:
    # Bars stand between terms, so that the text can be cut in one way only.
    return repeat(either(term, literal("|")), 0, None)


@lru_cache(maxsize=1)
def no_regexes() -> Regex:
    """Build a language of texts that are no regular expressions: they end within an escape."""
    return _whole(r"(?:[^\\]|\\[^])*\\")
