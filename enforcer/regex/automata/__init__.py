"""Deterministic automata of regular languages.

`alphabet` partitions characters into atoms, `determinizing` makes states on demand, `exploring`
makes all of them, `minimizing` merges equivalent ones and makes languages of automata. Work is
counted, never timed. Must not know: patterns, JSON.
"""
