"""Formulas, and the set of values that each stands for.

`formulas` builds them, `normal_form` works them out, with the set operations of `arrays`, `objects`
and `languages` (numbers have their own in `enforcer.numbers.sets`); `children` is what those ask
of it. `three_valued` says what may hold where patterns have two readings, `rivals` the alternatives
that exclude one another. Must not know: keywords, engines.
"""
