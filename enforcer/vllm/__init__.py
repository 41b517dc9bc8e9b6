"""The plugin of vLLM: request checks, grammars, the reply parser, the logits processor, metrics.

`patches` lists each function of vLLM that is wrapped, with the module of the wrapper; `register`
installs them all. Importing this package loads nothing, because vLLM only logs the failure of a
plugin's import, whereas an exception inside `register` stops the process.
"""


def register() -> None:
    """Entry point of `vllm.general_plugins`; vLLM calls it in every process.

    Raises:
        UnsupportedHost: this vLLM is not one that the plugin was tested on.

    """
    from enforcer.vllm.patches import install

    install()
