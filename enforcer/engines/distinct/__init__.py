"""Arrays whose elements must differ, kept so by a memory beside the engine.

Elements from an endless set are more than a grammar can tell apart. `tracks` tells by the names and
indices that lead to a place of a text whether an array of that kind is there, and `engine` puts a
keeper around an engine, of which there are two (`keepers`).

Where all elements are strings, `memory` holds those of one array and knows what may still be
written, `following` reads a text along the tracks, and `tokens` finds the ids that would repeat
one.

Elements of any kind are `values`, `used` holds those of one array, its numbers by their first
`digits`, and `shapes` is what they may be. `elements` reads a text, from one of its `places` to the
next; `living` knows by its `ends`, and by what `numbers` there are, whether an element can still
become another one, and `doubts` finds the ids after which it could not. All burn `fuel`, so that
no text keeps others waiting.
"""
