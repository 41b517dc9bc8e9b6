"""The demo: one tiny model, served three ways, asked the same questions.

`servers` starts vLLM, `sending` talks to it, `measuring` judges what came back,
`table` prints it. `python -m bench.demo`, or `make demo`, runs them in that order.
"""
