"""Readers of tokenizers: the bytes of each token id, and the encoder of text.

`kimi` reads Kimi's two files, `hugging_face` the classes of transformers and a `tokenizer.json`,
`files` the files at a path; `parts` is their common result. No tokenizer package is imported before
a reader is called.
"""
