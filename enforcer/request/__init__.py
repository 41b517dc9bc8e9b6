"""What a request carries: its tools, its dialog, its format of text, its options.

`tools`, `history` and `response_format` read the fields of a chat request, `options` what it or the
operator switches; `spec` is all of it as one checked value, `spec_text` the text as which it
travels, `carrier` the fields of vLLM's requests that carry that. Must not know: what a turn looks
like, engines, hosts.
"""
