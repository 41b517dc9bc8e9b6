"""Masks and accepts of tool-call arguments, beside xgrammar."""
