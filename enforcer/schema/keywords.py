"""Names of JSON Schema's keywords, of all drafts that are read."""

from __future__ import annotations

_WORDS = """
$anchor $comment $defs $dynamicAnchor $dynamicRef $id $recursiveRef $ref $schema additionalItems
additionalProperties allOf anyOf const contains contentEncoding contentMediaType contentSchema
default definitions dependencies dependentRequired dependentSchemas deprecated description else enum
examples exclusiveMaximum exclusiveMinimum format id if items maxContains maxItems maxLength
maxProperties maximum minContains minItems minLength minProperties minimum multipleOf not oneOf
pattern patternProperties prefixItems properties propertyNames readOnly required then title type
unevaluatedItems unevaluatedProperties uniqueItems writeOnly
"""
_SILENT = "$comment default deprecated description examples readOnly title writeOnly"
KEYWORDS = tuple(_WORDS.split())
ANNOTATIONS = frozenset(_SILENT.split())  # those that say nothing about values
