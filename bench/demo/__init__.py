"""The demos and the models that they serve; nothing here imports another part of `bench`.

`python -m bench.demo` (`make demo`) serves the tiny model three ways and asks the same questions:
`servers` starts vLLM, `workload` has the requests, `enforcer.tools.verify` sends them and judges
the replies, `transparency` compares turns, `table` prints the counts.

`real_model` and `leaderboard` do so with SmolLM2-135M-Instruct; `tiny_model` trains the model in
`bench/models`; `random_model` and `byte_pairs` write models with random weights.
"""
