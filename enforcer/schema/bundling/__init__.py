"""Bundling: a schema and the operator's documents that it refers to become one compound document.

A reference may lead out of a schema, into a document that the operator provides. `documents` makes
one compound document of both (JSON Schema 2020-12, section 9.3), so that the compiler, here or in
another process, gets one self-contained text. `sites` finds references and identifiers in a schema,
`metaschemas` reads dialects that documents declare, `folders` reads files. Nothing is ever fetched.
"""

from enforcer.schema.bundling.documents import Documents
from enforcer.schema.bundling.folders import read_documents

__all__ = ["Documents", "read_documents"]
