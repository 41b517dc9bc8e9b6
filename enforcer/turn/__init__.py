"""The state machine of one turn: its masks, and the parser of finished turns.

`dialect` is a tool-call format as a value, which `dialects` loads; `table` binds it to a
vocabulary, and `envelope` has the limits of one request (`request_envelope` makes it); `header`
has the names that may be called. `matcher` follows a turn that is being generated: `position` is
its state, `transitions` lead to the next one, and a `rollback_stack` back. `deadline` keeps it
within its token budget. `parser` reads a finished turn. `turn_start` and `prompt_calls` read
prompts. `reader` reads a token and makes the bitmask of a position, by the kernel, which follows
the automaton `around` the texts of calls: a token may cross any border. Must not know: any engine,
schemas, hosts.

- *segment*: a stretch of text of one kind, such as a header; *border*: where one segment ends.
- *state*: of a dialect, by its name; it has a segment, and transitions by markers.
- *place* (`lexer.Place`): between two symbols: a state, and the markers that have begun.
- *position* (`position.Position`): all that a matcher knows: a place, counts, the text's grammar.
- *guard*: the condition of a transition; *opening* (`lexer.Opening`): the guards that are met.
- *shared*: a position that depends on no text, so that all turns with equal limits cache its rows.
- *kept* (`position.Kept`): a cached row, with the grammars that it was computed for.
"""
