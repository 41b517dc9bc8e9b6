"""The demo: one tiny model, served three ways, asked the same questions.

`servers` starts vLLM, `enforcer.tools.verify` talks to it and judges what came back,
`transparency` compares turns, `table` prints it all. `python -m bench.demo`, or
`make demo`, runs them in that order.
"""
