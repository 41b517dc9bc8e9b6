"""SmolLM2-135M-Instruct, served with and without the Enforcer: `python -m bench.demo.real_model`.

`weights` installs and converts the model, `workload` reads the requests of `agents.json`,
`counting` counts the replies and prints the table.
"""
