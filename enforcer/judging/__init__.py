"""The judge of replies, in the terms of the vendor verifiers.

`replies` reads responses, `rules` describes the replies of a format, `judge` finds faults,
and `shadowed` judges in a worker process what a server answered unenforced. It shares no code with
what it judges: it has `jsonschema` and the format's own description.
"""
