"""Compiler from a grammar to the tables of the native kernel, which follows texts by them.

`tables` compiles an `ArgumentGrammar` or a text format: `nodes` and `objects` write its records,
`automata` are its languages, `builder` collects the arrays. `wire` writes them as bytes for another
process and verifies them; `grammar` binds them to a vocabulary. `compiled` checks the kernel.
Raises `ConfigurationError` on import if the compiled kernel does not fit its sources.
"""

from enforcer.machine import compiled

compiled.require_compiled()
