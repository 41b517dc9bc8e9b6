"""The state machine of one turn: its masks, and the parser of finished turns.

`dialect` is a format as a value, which `dialects` loads; `table` binds it to a vocabulary, and
`envelope` is what one request allows of it (`request_envelope` makes it). `matcher` follows a turn
that is being generated: `position` is where it stands, `transitions` lead to the next one, and a
`rollback_stack` back. `deadline` sees to it that it can still end in time. `parser`
reads a turn that is finished. `turn_start` and `prompt_calls` read prompts. `masks` are of
positions, and `crossing` reads a token; where markers are spelled, tokens may go across the
`borders` of a turn's parts. Must not know: any engine, schemas, hosts.
"""
