"""Reading tokenizers: what each id stands for, and how text is split into ids.

`kimi` reads the two files of Kimi's own, `hugging_face` the classes of transformers; `parts` has
what both give. No tokenizer package is imported before one of them is called.
"""
