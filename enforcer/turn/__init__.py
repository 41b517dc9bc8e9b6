"""The state machine of one turn: its masks, and the parser of finished turns.

`dialect` is a tool-call format as a value, which `dialects` loads; `table` binds it to a
vocabulary, and `envelope` has the limits of one request (`request_envelope` makes it); `header`
has the names that may be called. `matcher` follows a turn that is being generated: `position` is
its state, `transitions` lead to the next one, and a `rollback_stack` back. `deadline` keeps it
within its token budget. `parser` reads a finished turn. `turn_start` and `prompt_calls` read
prompts. `reader` reads the tokens of formats whose markers are single tokens, and fills their
bitmask rows. In all others one token may span several segments: there `crossing` does both with
the kernel, to which `around` gives the automaton of the format around the texts of calls. Must not
know: any engine, schemas, hosts.
"""
