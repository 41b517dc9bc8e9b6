"""Arrays whose elements must differ, kept so by a memory beside the engine.

Elements from an infinite set are more than a grammar can tell apart. `uniqueness` says, by the
names and indices that lead to a place of a text, whether an array of that kind is there, and
`engine` puts a keeper around an engine. There are two keepers (`keepers`), which do the same for
different elements:

| elements are | strings only | of any kind |
|---|---|---|
| what an array holds so far | `seen_strings` | `seen_elements`, numbers in a `number_index` |
| follows a text, byte by byte | `string_follower` | `element_follower`, through `element_places` |
| finds the ids to be masked | `string_tokens` | `element_tokens` |

Elements of any kind are `values`, and `shapes` is what they may be. `liveness` tells whether an
element that has been begun can still become one that is not there yet; it lists the `completions`
of the text so far, those of numbers by `number_completions`. Texts are `persistent_text`, which
shares what places have in common. Work is bounded by `fuel`, so that no text keeps others waiting.
"""
