"""Shortest completions of a text in token ids, for turns with a token budget.

Owns: the shortest instance of each value, from the tables of a grammar; the shortest completion of
a text, from the frames that the kernel has open; and the grammars for which it is unknown. The
kernel decides whether a text is valid. Must not know: turns, hosts.
"""
