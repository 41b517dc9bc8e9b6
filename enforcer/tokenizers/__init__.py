"""Readers of tokenizers: the bytes of each token id, and the encoder of text.

`kimi` reads Kimi's two files, `hugging_face` the classes of transformers and a `tokenizer.json`,
`files` those that a path leads to; `parts` is their common result. No tokenizer package is imported
before one of them is called.
"""
