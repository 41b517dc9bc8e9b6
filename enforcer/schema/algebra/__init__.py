"""The algebra of formulas, and the normal form (a set of values) of each.

`formulas` builds them. `normal_form` works them out, with the set operations of `arrays`, `objects`
and `languages` (those of numbers are in `enforcer.numbers.sets`), which use the interface
`children`. `three_valued` widens formulas whose patterns have two readings; `oneof_overlap` finds
the branches of a `oneOf` that overlap. Must not know: keywords, engines.
"""
