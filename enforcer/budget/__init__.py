"""Shortest completions of a text in token ids, for turns with a token budget.

Owns: the shortest instance of each value, worked out from the machine's tables of a grammar; the
shortest end of a text, from what the machine has open; and of which grammars it cannot be told.
Whether a text is valid is for the machine to say. Must not know: turns, hosts.
"""
