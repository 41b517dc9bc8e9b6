"""Strings whose characters are counted beside the engine, where a pattern bounds them as well.

A lexer that both follows a pattern and counts has a state for each place of the one and each count
of the other: it is never where it has been before, and works each mask out anew. Without the count
it is in a few states again and again, and their masks are kept.

`long_strings` says which strings of a grammar are counted, and what the engine is told of them
instead, `long_arguments` which that stand as they are, in pairs of keys and values; `automaton`
knows how many characters each place of a pattern is from an end, and `counted` is a place in such a
string; `follower` follows a JSON text, `raw_strings` a string that stands as it is; `string_ids`
finds the ids that are too long for either, by what they write (`written`) and what behind an escape
(`escapes`); and `engine` puts all of it around an engine.
"""
