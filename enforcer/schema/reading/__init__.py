"""From JSON to formulas, keyword by keyword.

`json_values` checks the JSON and `document` follows references; `parse` turns subschemas into
formulas with the readers of keywords (`type_keywords`, `object_keywords`, `unevaluated`), which
share `reader` and ask for values by `keywords`. `closed_objects` tells which objects an option
closes. `culprit` blames a part of a schema that nothing fits. `mistakes` has words that errors and
the lint share. `plain` tells, without any of it, schemas that are sure to compile.
Must not know: what a finished grammar looks like, engines.
"""
