"""vLLM's side: the plugin, its backend and parser, and the logits processor.

Importing this package loads nothing, because vLLM only logs the failure of a
plugin's import; whatever can go wrong goes wrong inside `register`, where vLLM
lets the exception stop the process.
"""


def register() -> None:
    """Entry point of `vllm.general_plugins`; vLLM calls it in every process.

    Raises:
        UnsupportedHost: this vLLM is not one that the plugin was tested on.

    """
    from enforcer.vllm.patches import install

    install()
