"""`bench.demo.byte_pairs` under its former name, for `bench.first_mask` and `bench.reference`."""

from bench.demo.byte_pairs import kimi_folder

__all__ = ["kimi_folder"]
