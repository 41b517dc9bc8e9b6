"""A schema that has been read, and not compiled any further.

Owns: making the parser of one. Must not know: what is asked of it.
"""

from typing import Any

from enforcer.schema.limits import Conventions, Limits, OnUnsupported
from enforcer.schema.reading.document import SchemaDocument
from enforcer.schema.reading.parse import SchemaParser


def parser_of(
    schema: Any, limits: Limits | None = None, option: OnUnsupported = OnUnsupported.REFUSE
) -> SchemaParser:
    """Begin to read a schema; `parser.parse(parser.document.root)` reads it."""
    document = SchemaDocument(schema, scoped=False)
    return SchemaParser(document, limits or Limits(), option, Conventions())
