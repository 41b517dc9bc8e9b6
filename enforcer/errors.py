"""The errors this library raises.

Owns: the one root exception and its leaves. Each leaf says who is at fault
(its class), where (`path`, a `$.`-path into what the caller passed) and what to
do (its message). Must not know: anything else of the library.
"""

from __future__ import annotations

import reprlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_SHOWN = 20  # problems of one schema in a message


def brief(value: object) -> str:
    """Show any value in a message: short however large, deep or circular it is."""
    try:
        return reprlib.repr(value)
    except ValueError:  # an integer of thousands of digits
        return f"a huge {type(value).__name__}"


class EnforcerError(Exception):
    """Root of everything that this library raises on purpose."""


class ConfigurationError(EnforcerError):
    """The operator's fault: dialect, engine, vocabulary, settings or host version."""


class UnknownDialect(ConfigurationError):  # noqa: N818 - named for what is wrong, as in `referencing`
    """No dialect of that name, or its file is not a valid dialect."""


class UnknownEngine(ConfigurationError):  # noqa: N818
    """No argument engine of that name."""


class InvalidVocabulary(ConfigurationError):  # noqa: N818
    """The tokenizer lacks the dialect's control tokens, or cannot be read exactly."""


class MissingPackage(ConfigurationError, ImportError):  # noqa: N818
    """A package that only some uses need is not installed; the message names its extra."""


class UnsupportedHost(ConfigurationError):  # noqa: N818
    """The installed vLLM is not a version this library was tested on."""


class UnexpectedFailure(EnforcerError):  # noqa: N818
    """Something raised what nobody foresaw; it is the `__cause__`, and ends one turn alone."""


class Busy(EnforcerError):  # noqa: N818
    """Nobody's fault: there is no room to check a request now; it may be sent again.

    Attributes:
        own: whether the request's own schemas took what there is; else those of others.
        lacks: what the system has no more of, where that is why and not schemas; else empty.

    """

    def __init__(self, reason: str, *, own: bool = False, lacks: str = "") -> None:
        super().__init__(reason)
        self.own = own
        self.lacks = lacks


class EngineFailure(EnforcerError):  # noqa: N818
    """The engine gave up in the middle of a text; the text must not go on."""


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
        """Return the same error with other paths, as where the request was sent in another form."""
        return type(self)(place(self.path), self.reason)

    def under(self, path: str) -> Self:
        """Return the same error with `path` in place of the root `$`."""
        return self.at(lambda old: path + old.removeprefix("$"))


class InvalidTools(RequestError):  # noqa: N818
    """The tools, the tool choice or the messages are not what a chat request carries."""


class UnknownTag(RequestError):  # noqa: N818
    """A structural tag makes tool calls in a shape that cannot be read as a spec."""


class InvalidArguments(EnforcerError):  # noqa: N818
    """The arguments of a call do not fit the model or function that they are read into.

    Attributes:
        problems: all that do not fit; never empty.

    """

    def __init__(self, name: str, problems: tuple[Problem, ...]) -> None:
        super().__init__(name, problems)
        self.problems = problems

    def __str__(self) -> str:
        return f"arguments of {self.args[0]!r}: " + "; ".join(map(str, self.problems))


class IllegalPrefix(RequestError):  # noqa: N818
    """The prompt ends inside a turn that the request's tools do not allow."""


class BudgetTooSmall(RequestError):  # noqa: N818
    """What the request demands cannot be written in as many ids as it may have."""


class UnknownLength(RequestError):  # noqa: N818
    """A turn is to be finished within its budget, in a format where that is not known to work."""

    def __init__(self, path: str, dialect: str) -> None:
        super().__init__(
            path,
            f"`finish_within_budget` is not supported for the format {dialect}, in "
            "which the shortest end of a turn is not known: leave it out, or switch it "
            "off",
        )
        self.args = (path, dialect)
        self._dialect = dialect

    def at(self, place: Callable[[str], str]) -> Self:
        """Return the same error with another path."""
        return type(self)(place(self.path), self._dialect)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing in a schema that cannot be enforced exactly.

    Attributes:
        path: `$.`-path from the schema's root.
        keyword: the offending keyword; empty where no single one is to blame.
        reason: what cannot be enforced, and what the author can write instead.

    """

    path: str
    keyword: str
    reason: str

    def under(self, path: str) -> Problem:
        """Return the same with `path` in place of the root `$`."""
        return replace(self, path=path + self.path.removeprefix("$"))

    def __str__(self) -> str:
        where = f"at `{self.path}`" + (f", keyword `{self.keyword}`" if self.keyword else "")
        return f"{self.reason} ({where})"


class SchemaError(RequestError):
    """A schema cannot be compiled; `problems` lists every offender, the first one leads.

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
        """Return the same error with other paths."""
        return type(self)(tuple(replace(p, path=place(p.path)) for p in self.problems))

    def __str__(self) -> str:
        shown = [str(problem) for problem in self.problems[:_MOST_SHOWN]]
        if len(self.problems) > _MOST_SHOWN:
            shown.append("and there are more; mend these first")
        return "; ".join(shown)


class InvalidSchema(SchemaError):  # noqa: N818
    """What was passed as a schema is not a JSON Schema."""


class UnsupportedSchema(SchemaError):  # noqa: N818
    """The schema is valid, but cannot be enforced exactly."""


class UnsatisfiableSchema(UnsupportedSchema):
    """No JSON value fits the schema, so a call could never be completed."""


class SchemaLimit(UnsupportedSchema):
    """The schema is over a configured limit (depth, nodes, size, time)."""
