"""Measurement of a server from outside, as the vendor verifiers do it.

`suites` makes requests of files, `client` sends them, `enforcer.judging` judges the replies,
`reference` reads another server's answers, and `report` counts results and writes them down.
"""

KEY_VARIABLE = "OPENAI_API_KEY"  # environment variable of the key that is sent to a server
