"""Arrays whose elements must differ and are no strings, kept so by a memory beside the machine.

Elements from an infinite set are more than a grammar can tell apart. `uniqueness` says, by the
names and indices that lead to a place of a text, whether an array of that kind is there, and
`engine` puts a keeper (`keepers`) around the machine. What an array holds so far is in
`seen_elements`, numbers in a `number_index`; `element_follower` follows a text byte by byte,
through `element_places`; `element_tokens` finds the token ids to be masked.

Elements are `values`, and `shapes` is what they may be. `liveness` tells whether an element that
has been begun can still become one that is not there yet; it lists the `completions` of the text so
far, those of numbers by `number_completions`. Texts are `persistent_text`, which shares what places
have in common. Work is bounded by `fuel`, so that no text keeps others waiting.
"""
