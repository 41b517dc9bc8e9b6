"""Reading: from JSON to formulas, keyword by keyword.

`json_values` checks the JSON and `document` follows references; `parse` turns subschemas into
formulas with the readers of keywords (`type_keywords`, `object_keywords`, `unevaluated`), which
share `reader` and `keywords`. `closed_objects` decides which objects an option closes.
`unsatisfiable_part` finds the part of a schema that no value fits. `mistakes` has the words that
errors share with the lint. `plain` recognizes, without any of these, schemas that are sure to
compile. Must not know: the lowered grammar, engines.
"""
