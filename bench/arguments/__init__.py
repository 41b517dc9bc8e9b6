"""Masks and accepts of tool-call arguments, beside llguidance and xgrammar."""
