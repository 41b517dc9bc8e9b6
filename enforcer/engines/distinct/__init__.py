"""Arrays whose elements must differ, kept so by a memory beside the engine.

Elements from an endless set are more than a grammar can tell apart. `tracks` tells by the names and
indices that lead to a place of a text whether an array of that kind is there, `memory` holds the
elements of one and knows what may still be written, `following` reads a text along the tracks,
`tokens` finds the ids that would repeat an element, and `engine` puts all that around an engine.
"""
