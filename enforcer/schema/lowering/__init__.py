"""Lowering of a formula to the grammar that engines follow.

`unfolding` lists all values that the root reaches; `values`, `arrays` and `objects` rewrite each so
that an engine can count it with a few bits (`counting` for arrays); `pruning` drops what can never
be completed. Distinctness beyond what bits can track is left to a memory (`distinct`).
Must not know: keywords' syntax, engines.
"""
