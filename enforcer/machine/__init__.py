"""A pushdown automaton for the text of a call's arguments, followed by a native kernel.

`tables` makes flat tables of an `ArgumentGrammar`, with `automata` for its languages; `wire` writes
and reads them; `tree` is the vocabulary as the kernel walks it; `kernel` follows texts and fills
bitmask rows; `grammar` binds tables to a vocabulary.
Raises `ConfigurationError` on import if the compiled kernel does not fit its sources.
"""

from enforcer.machine import compiled

compiled.require_compiled()
