"""Measuring a server from outside, as the vendor verifiers do.

`suites` makes requests of files (`apis` tells whose API they are of), `client` sends them,
`replies` reads what comes back, `measure` judges it, `reference` has what another server answered,
`report` counts and writes it down. None of it shares code with what it judges: the judge
has `jsonschema` and the format's own description.
"""

KEY_VARIABLE = "OPENAI_API_KEY"  # environment variable of the key that is sent to a server
