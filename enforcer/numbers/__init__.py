"""Sets of numbers, and the languages of their spellings.

`sets` holds what a schema says about a number, `doubles` the rounding of programs that read numbers
as doubles. `languages` builds the language of all usual spellings of a set's members, from plain
`decimals` within bounds, `scientific` notation and `multiples`. Must not know: schemas, grammars,
engines.
"""
