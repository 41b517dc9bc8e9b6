"""Grammar objects of vLLM's engine process: admission, compilation, bitmasks.

Engines that mask the text of arguments are another thing: `enforcer.engines`.
"""
