"""Reading tokenizers: what each id stands for, and how text is split into ids.

`kimi` reads the two files of Kimi's own, `hugging_face` the classes of transformers and what a
`tokenizer.json` has, `files` whichever of them a path leads to; `parts` has what all give. No
tokenizer package is imported before one of them is called.
"""
