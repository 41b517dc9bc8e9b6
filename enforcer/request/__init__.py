"""A request as checked values: its tools, dialog, response format and options.

`tools`, `history` and `response_format` read the fields of a chat request; `options` holds the
settings. `spec` joins them into one value, `spec_text` is its JSON text, and `carrier` finds that
text in vLLM's requests. Must not know: turns, engines, hosts.
"""
