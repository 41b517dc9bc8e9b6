"""Deterministic automata of regular languages: determinizing, exploring, minimizing, tables.

`alphabet` partitions characters into atoms, `determinizing` makes states when a text leads to them,
`exploring` makes all of them, `minimizing` merges those that no text tells apart, and `table` makes
languages of them again. Work is counted, never timed. Must not know: patterns, JSON.
"""
