"""What a request carries: its tools, its dialog, its format of text, its options.

`tools`, `history` and `response_format` read the fields of a chat request, `options` what it or the
operator switches; `spec` is all of it as one value that can travel. Must not know: what a turn
looks like, engines, hosts.
"""
