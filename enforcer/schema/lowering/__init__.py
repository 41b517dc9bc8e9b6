"""From a formula to a grammar that an engine can follow.

`unfolding` works out all values that the root reaches; `lowering`, `lowering_arrays` and
`lowering_objects` rewrite each so that an engine can count it with a few bits (`counting` for
arrays), and `pruning` drops what can never be completed. What no bits can
count is left to a memory beside the engine: `distinct` says what that is, `tracks` where it stands,
`infinite` which languages have infinitely many strings. Must not know: keywords' syntax, engines.
"""
