"""Options that several commands have."""

from __future__ import annotations

import argparse

import pytest

from enforcer.cli.options import add_documents, positive


def test_documents_may_be_named_several_times() -> None:
    parser = argparse.ArgumentParser()
    add_documents(parser)
    assert parser.parse_args([]).documents == []
    words = ["--documents", "a", "--documents", "https://b.example.com=c"]
    assert parser.parse_args(words).documents == ["a", "https://b.example.com=c"]


def test_a_number_must_be_above_zero() -> None:
    assert positive(float)("0.5") == 0.5
    for wrong in ("0", "-1", "inf", "nan"):
        with pytest.raises(argparse.ArgumentTypeError, match=wrong):
            positive(float)(wrong)
