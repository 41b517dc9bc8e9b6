"""The exceptions of this library, with one root.

The class says who is at fault, `path` (a `$.`-path into the caller's argument) where, and the
message what to do.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

_MOST_SHOWN = 20  # problems of one schema in a message


def brief(value: object) -> str:
    """Return a short representation of any value, however large, deep or circular."""
    try:
        return reprlib.repr(value)
    except ValueError:  # an integer of thousands of digits
        return f"a huge {type(value).__name__}"


class EnforcerError(Exception):
    """Root of all exceptions that this library raises on purpose."""


class ConfigurationError(EnforcerError):
    """The operator's fault: dialect, engine, vocabulary, settings or host version."""


class UnknownDialect(ConfigurationError):  # noqa: N818 - named for what is wrong, as in `referencing`
    """No tool-call format has the name, or its file is invalid."""


class UnknownEngine(ConfigurationError):  # noqa: N818
    """No argument engine has the name."""


class InvalidVocabulary(ConfigurationError):  # noqa: N818
    """The tokenizer lacks special tokens of the format, or cannot be read exactly."""


class MissingPackage(ConfigurationError, ImportError):  # noqa: N818
    """An optional package is not installed; the message names its extra."""


class UnsupportedHost(ConfigurationError):  # noqa: N818
    """The installed vLLM is not a version this library was tested on."""


class UnexpectedFailure(EnforcerError):  # noqa: N818
    """An unforeseen exception, the `__cause__`, has ended one turn."""


class Busy(EnforcerError):  # noqa: N818
    """No capacity to check a request now; the client may send it again.

    Attributes:
        own: whether the request's own schemas used up the capacity; else other requests did.
        lacks: the system resource that is exhausted, if that is the reason; else empty.

    """

    def __init__(self, reason: str, *, own: bool = False, lacks: str = "") -> None:
        super().__init__(reason)
        self.own = own
        self.lacks = lacks


class EngineFailure(EnforcerError):  # noqa: N818
    """The engine failed in the middle of a text, which must not be continued."""


class RequestError(EnforcerError):
    """The client's fault; `path` leads to the offending part of the request.

    Attributes:
        path: `$.`-path into the request, for example `$.tools[2].function.name`.
        reason: what is wrong and what to do, without the path.
        problems: all offenders found; never empty.

    """

    problems: tuple[Problem, ...]

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason
        self.problems = (Problem(path, "", reason),)

    def __str__(self) -> str:
        return f"{self.reason} (at `{self.path}`)"

    def at(self, place: Callable[[str], str]) -> Self:
        """Return the same error with a function applied to its paths."""
        return type(self)(place(self.path), self.reason)

    def under(self, path: str) -> Self:
        """Return the same error with `path` in place of the root `$`."""
        return self.at(lambda old: path + old.removeprefix("$"))


class InvalidTools(RequestError):  # noqa: N818
    """The tools, the tool choice or the messages are not what a chat request carries."""


class UnknownTag(RequestError):  # noqa: N818
    """A structural tag of tool calls cannot be converted to a spec."""


class InvalidArguments(EnforcerError):  # noqa: N818
    """The arguments of a call do not fit the model or function that they are read into.

    Attributes:
        problems: all misfits; never empty.

    """

    def __init__(self, name: str, problems: tuple[Problem, ...]) -> None:
        super().__init__(name, problems)
        self.problems = problems

    def __str__(self) -> str:
        return f"arguments of {self.args[0]!r}: " + "; ".join(map(str, self.problems))


class IllegalPrefix(RequestError):  # noqa: N818
    """The prompt ends inside a turn that the request's tools do not allow."""


class BudgetTooSmall(RequestError):  # noqa: N818
    """The demanded call or response does not fit into the token budget."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing in a schema that cannot be enforced exactly.

    Attributes:
        path: `$.`-path from the schema's root.
        keyword: the offending keyword; empty if there is no single one.
        reason: what cannot be enforced, and what the author can write instead.

    """

    path: str
    keyword: str
    reason: str

    def under(self, path: str) -> Problem:
        """Return the same problem with `path` in place of the root `$`."""
        return replace(self, path=path + self.path.removeprefix("$"))

    def __str__(self) -> str:
        where = f"at `{self.path}`" + (f", keyword `{self.keyword}`" if self.keyword else "")
        return f"{self.reason} ({where})"


class SchemaError(RequestError):
    """A schema cannot be compiled; path and reason are those of the first problem.

    Attributes:
        problems: all offenders found, in document order; never empty.
        keyword: the first offender's keyword.

    """

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        first = problems[0]
        super().__init__(first.path, first.reason)
        self.args = (problems,)
        self.problems = problems
        self.keyword = first.keyword

    @classmethod
    def of(cls, path: str, keyword: str, reason: str) -> Self:
        """Return the error of one problem; see `Problem`."""
        return cls((Problem(path, keyword, reason),))

    def at(self, place: Callable[[str], str]) -> Self:
        """Return the same error with a function applied to its paths."""
        return type(self)(tuple(replace(p, path=place(p.path)) for p in self.problems))

    def __str__(self) -> str:
        shown = [str(problem) for problem in self.problems[:_MOST_SHOWN]]
        if len(self.problems) > _MOST_SHOWN:
            shown.append("and there are more; mend these first")
        return "; ".join(shown)


class InvalidSchema(SchemaError):  # noqa: N818
    """The schema is not a JSON Schema."""


class UnsupportedSchema(SchemaError):  # noqa: N818
    """The schema is valid, but cannot be enforced exactly."""


class UnsatisfiableSchema(UnsupportedSchema):
    """No JSON value fits the schema, so a call could never be completed."""


class SchemaLimit(UnsupportedSchema):
    """The schema is over a configured limit (depth, nodes, size, time)."""
