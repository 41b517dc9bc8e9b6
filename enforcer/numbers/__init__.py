"""Numbers: sets of them, and the languages of their spellings.

`sets` knows what a schema says about a number, `doubles` what a program makes of one; `languages`
builds every usual spelling of a set's members as a value of `enforcer.regex`, from plain
`decimals` within bounds, `scientific` notation, and what `multiples` have (by their last digits,
or by the automaton over `remainders`). `division` says which sets are too large. Must
not know: schemas, grammars, engines.
"""
