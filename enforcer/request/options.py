"""The settings of an `Enforcer`, with their defaults; msgspec writes them as JSON and back."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, TypedDict, Unpack

from enforcer.errors import ConfigurationError, brief
from enforcer.layouts import COMPACT, JSON, BoundLayout
from enforcer.schema.limits import (
    USUAL,
    Conventions,
    Formats,
    Integers,
    Limits,
    OnUnsupported,
    Root,
    choose,
    require_truth,
    require_whole,
)


class OptionWords(TypedDict, total=False):
    """The fields of `Options` and of `Conventions` as keyword arguments."""

    on_unsupported: OnUnsupported | str
    limits: Limits
    max_calls: int
    identical_calls: int | None
    preamble_ids: int | None
    finish_within_budget: bool
    allow_empty_turns: bool
    compact_text: bool
    closed_text: bool
    plain_spelling: bool
    second_space: bool
    formats: Formats | str
    closed_objects: bool
    integers: Integers | str


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of an `Enforcer`; every one has a default that suits production.

    Attributes:
        on_unsupported: treatment of schemas that cannot be enforced exactly. An `OnUnsupported`
            or its value.
        limits: bounds on schemas.
        conventions: readings of keywords where authors and the standard differ.
        max_calls: greatest number of calls in a turn.
        identical_calls: no further call begins after so many equal ones in a row; None for no
            limit. Calls are compared byte for byte. Needs the engine `machine`.
        preamble_ids: greatest number of token ids of text before a demanded call; None for the
            format's. Reasoning does not count.
        finish_within_budget: whether calls end before the token budget does. A call that cannot
            does not begin. If no completion of a tool's arguments is found, the request is
            rejected. Needs the engine `machine`.
        allow_empty_turns: whether a turn may end with neither text nor call.
        compact_text: whether a JSON response has no white space between tokens.
        closed_text: whether `closed_objects` always holds for JSON responses.
        plain_spelling: whether property names, `enum` and `const` have no needless escapes.
            Those of ASCII characters that can stand for themselves are needless.
        second_space: whether JSON may have two spaces where it may have one.

    Raises:
        ConfigurationError: a value of another type, or a number out of range.

    """

    on_unsupported: OnUnsupported = OnUnsupported.REFUSE
    limits: Limits = USUAL
    conventions: Conventions = field(default_factory=Conventions)
    max_calls: int = 128
    identical_calls: int | None = None
    preamble_ids: int | None = None
    finish_within_budget: bool = False
    allow_empty_turns: bool = False
    compact_text: bool = False
    closed_text: bool = False
    plain_spelling: bool = False
    second_space: bool = False

    def __post_init__(self) -> None:
        require_whole("max_calls", self.max_calls, least=1)
        if self.identical_calls is not None:
            require_whole("identical_calls", self.identical_calls, least=1)
        if self.preamble_ids is not None:
            require_whole("preamble_ids", self.preamble_ids, least=0)
        for each in fields(self):
            if each.type == "bool":  # annotations are strings here
                require_truth(each.name, getattr(self, each.name))
        for name, kind in (("limits", Limits), ("conventions", Conventions)):
            given: object = getattr(self, name)
            if not isinstance(given, kind):
                raise ConfigurationError(
                    f"{name} is {brief(given)}, but must be `enforcer.{kind.__name__}(...)`"
                )
        chosen = choose("on_unsupported", OnUnsupported, self.on_unsupported)
        # A frozen dataclass leaves this as the only way to fill a field.
        object.__setattr__(self, "on_unsupported", chosen)

    def changed(self, **words: Unpack[OptionWords]) -> Options:
        """Return these options with some fields of theirs, or of their conventions, replaced.

        Raises:
            ConfigurationError: as the constructors do.
            TypeError: no field has such a name.

        """
        given: dict[str, Any] = {**words}
        names = given.keys() & {each.name for each in fields(Conventions)}
        conventions = replace(self.conventions, **{name: given.pop(name) for name in names})
        return replace(self, conventions=conventions, **given)

    def laid_out(self, arguments: BoundLayout, root: Root) -> BoundLayout:
        """Return the layout of arguments, or of a response that is JSON, with these options.

        Args:
            arguments: the layout of the tool-call format's arguments.
            root: `Root.OBJECT` for arguments, `Root.ANY` for a response.

        """
        layout = arguments
        if root is not Root.OBJECT:
            text = COMPACT if self.compact_text else JSON
            layout = replace(text, writable=arguments.writable, escaped=arguments.escaped)
        return replace(layout, plain_spelling=self.plain_spelling, second_space=self.second_space)

    def conventions_of(self, root: Root) -> Conventions:
        """Return the conventions for arguments (`Root.OBJECT`) or for a response (`Root.ANY`)."""
        if root is Root.OBJECT or not self.closed_text:
            return self.conventions
        return replace(self.conventions, closed_objects=True)
