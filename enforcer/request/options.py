"""The settings of an `Enforcer`, with their defaults; msgspec writes them as JSON and back."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypedDict

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

if TYPE_CHECKING:
    from typing import Unpack


_SWITCHES = (
    "finish_within_budget",
    "allow_empty_turns",
    "compact_text",
    "closed_text",
    "plain_spelling",
    "second_space",
)


class OptionWords(TypedDict, total=False):
    """The fields of `Options` and of its `Conventions` as keyword arguments."""

    on_unsupported: OnUnsupported | str
    limits: Limits
    max_calls: int
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
        on_unsupported: refuse a schema that cannot be enforced exactly, relax it, or isolate
            its tool; the word will do.
        limits: bounds on schemas.
        conventions: what the authors of schemas are taken to mean.
        max_calls: how many calls a turn may have; ends loops of calls.
        preamble_ids: how many token ids of text may precede a demanded call, outside of reasoning;
            None for the number of the tool-call format.
        finish_within_budget: a call that has begun ends before the turn must, and one that
            cannot is not begun. Of a tool of which nobody can tell, a call may be cut off where
            `on_unsupported` is to relax or to isolate, and is refused otherwise.
        allow_empty_turns: a turn may end with neither text nor call.
        compact_text: a text in the format of a JSON Schema has no white space between tokens.
        closed_text: schemas of such texts are read with `Conventions.closed_objects`.
        plain_spelling: names of properties and the strings of `enum` and `const` have no escape
            for a character of ASCII that can stand for itself.
        second_space: two spaces may stand where JSON may have white space, not only one.

    Raises:
        ConfigurationError: `on_unsupported` is none of these, a number is out of range, or
            something is of another type.

    """

    on_unsupported: OnUnsupported = OnUnsupported.REFUSE
    limits: Limits = USUAL
    conventions: Conventions = field(default_factory=Conventions)
    max_calls: int = 128
    preamble_ids: int | None = None
    finish_within_budget: bool = False
    allow_empty_turns: bool = False
    compact_text: bool = False
    closed_text: bool = False
    plain_spelling: bool = False
    second_space: bool = False

    def __post_init__(self) -> None:
        require_whole("max_calls", self.max_calls, least=1)
        if self.preamble_ids is not None:
            require_whole("preamble_ids", self.preamble_ids, least=0)
        for switch in _SWITCHES:
            require_truth(switch, getattr(self, switch))
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
        """Return these options with other fields; those of the conventions go by name as well.

        Raises:
            ConfigurationError: as the constructors.
            TypeError: there is no field of a name.

        """
        given: dict[str, Any] = {**words}
        names = given.keys() & {each.name for each in fields(Conventions)}
        conventions = replace(self.conventions, **{name: given.pop(name) for name in names})
        return replace(self, conventions=conventions, **given)

    def laid_out(self, arguments: BoundLayout, root: Root) -> BoundLayout:
        """Return the layout of arguments, whose root is an object, or of a text that is JSON.

        Args:
            arguments: the layout of the format's arguments.
            root: of what is written.

        """
        layout = arguments
        if root is not Root.OBJECT:
            text = COMPACT if self.compact_text else JSON
            layout = replace(text, writable=arguments.writable, escaped=arguments.escaped)
        return replace(layout, plain_spelling=self.plain_spelling, second_space=self.second_space)

    def conventions_of(self, root: Root) -> Conventions:
        """Return the conventions of arguments, whose root is an object, or of a text."""
        if root is Root.OBJECT or not self.closed_text:
            return self.conventions
        return replace(self.conventions, closed_objects=True)
