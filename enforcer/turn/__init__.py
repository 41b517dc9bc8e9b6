"""A turn of the model: what may come next in it, and what it says.

`dialect` loads a format, `envelope` and `header` are its tables for one request, `matcher` follows
a turn that is being generated (`position` and `trail` are where it stands and stood, `deadline` and
`countdown` how it can still end in time), `parser` reads one that is finished; `requested` makes a
request's envelope, `rendered` reads a prompt. Must not know: any engine, schemas, hosts.
"""
