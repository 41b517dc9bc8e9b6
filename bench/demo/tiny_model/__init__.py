"""A tiny language model that fails as the real one does, and the requests that show it.

Owns: the synthetic world (tools, phrases, scenes), the tokenizer and chat
template, training, and the measurement of how often the model fails. The
request side (`catalogue`, `scenes`, `requests`, `judge`) needs no torch. Must not
know: the `enforcer` package; this model is what it is tried on.
"""
