"""From a formula to a grammar that an engine can follow.

`unfolding` works out all values that are reached, `settle` and its two helpers rewrite each so that
it can be counted with a few bits (`counting` for arrays, `cells` for alternatives), `pruning` drops
what can never be completed. `presence` and `factoring` merge alternatives that differ in little,
for whoever writes them down. Must not know: keywords' syntax, engines.
"""
