"""Before a schema is compiled: the documents that it refers to are put into it.

A reference may lead out of a schema, into a document that the operator provides. `documents` makes
one compound document of both, as section 9.3 of JSON Schema 2020-12 describes it, so that whatever
comes after, here or on another machine, has one self-contained text. `sites` finds references and
identifiers in a schema, `metaschemas` reads dialects that documents declare, `folders` reads files.
Nothing is ever fetched.
"""

from enforcer.schema.bundling.documents import Documents
from enforcer.schema.bundling.folders import read_documents

__all__ = ["Documents", "read_documents"]
