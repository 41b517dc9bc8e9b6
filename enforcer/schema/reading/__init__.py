"""From JSON to formulas, keyword by keyword.

`document` checks the JSON and follows references, `parse` turns subschemas into formulas with the
readers of keywords (`type_keywords`, `object_keywords`, `unevaluated`; `idle` for those that say
nothing), which share `reader` and ask for values by `keywords`. `culprit` blames a part of a schema
that nothing fits; `plain` tells, without any of it, schemas that are sure to compile. Must not
know: what a finished grammar looks like, engines.
"""
