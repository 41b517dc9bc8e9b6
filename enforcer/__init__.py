"""Constrains the tool calls of Kimi models, and of others: nothing undeclared, nothing off schema.

`import enforcer` loads neither torch nor vllm; hosts have modules of their own
(`enforcer.vllm`, `enforcer.hf`).
"""

from typing import TYPE_CHECKING

from enforcer.api import Enforcer
from enforcer.client.body import Route, extra_body
from enforcer.client.python_tools import tool
from enforcer.errors import (
    BudgetTooSmall,
    ConfigurationError,
    EnforcerError,
    IllegalPrefix,
    InvalidArguments,
    InvalidSchema,
    InvalidTools,
    InvalidVocabulary,
    MissingPackage,
    Problem,
    RequestError,
    SchemaError,
    SchemaLimit,
    UnknownDialect,
    UnknownEngine,
    UnsatisfiableSchema,
    UnsupportedHost,
    UnsupportedSchema,
)
from enforcer.logits import mask_logits
from enforcer.request.options import Options
from enforcer.schema import Conventions, Formats, Integers, Limits, OnUnsupported
from enforcer.schema.bundling import Documents, read_documents
from enforcer.turn.events import Call, Event, Happening, Turn
from enforcer.turn.matcher import Matcher
from enforcer.turn.parser import Parser
from enforcer.vocabulary import Vocabulary

__all__ = [
    "BudgetTooSmall",
    "Call",
    "ConfigurationError",
    "Conventions",
    "Documents",
    "Enforcer",
    "EnforcerError",
    "Event",
    "Formats",
    "Happening",
    "IllegalPrefix",
    "Integers",
    "InvalidArguments",
    "InvalidSchema",
    "InvalidTools",
    "InvalidVocabulary",
    "Limits",
    "Matcher",
    "MissingPackage",
    "OnUnsupported",
    "Options",
    "Parser",
    "Problem",
    "RequestError",
    "Route",
    "SchemaError",
    "SchemaLimit",
    "Turn",
    "UnknownDialect",
    "UnknownEngine",
    "UnsatisfiableSchema",
    "UnsupportedHost",
    "UnsupportedSchema",
    "Vocabulary",
    "extra_body",
    "mask_logits",
    "read_documents",
    "tool",
]

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        """Return the installed version, which importing does not look up."""
        if name != "__version__":
            raise AttributeError(f"module 'enforcer' has no attribute {name!r}")
        from importlib.metadata import version

        return version("kimi-enforcer")
