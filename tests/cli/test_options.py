"""Options that several commands have."""

from __future__ import annotations

import argparse

from enforcer.cli.options import add_documents


def test_documents_may_be_named_several_times() -> None:
    parser = argparse.ArgumentParser()
    add_documents(parser)
    assert parser.parse_args([]).documents == []
    words = ["--documents", "a", "--documents", "https://b.example.com=c"]
    assert parser.parse_args(words).documents == ["a", "https://b.example.com=c"]
