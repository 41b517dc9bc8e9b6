"""A pushdown automaton for the text of a call's arguments, followed by a native kernel.

Raises `ConfigurationError` on import if its compiled modules do not fit their sources.
"""

from enforcer.machine import compiled

compiled.check()
