"""`bench.demo.random_model` under its former name, for `bench.first_mask`."""

from bench.demo.random_model import Vocabulary, tokenizer

__all__ = ["Vocabulary", "tokenizer"]
