"""Options that several commands have."""

import argparse

import pytest

from enforcer.tools import cli
from enforcer.tools.cli.flags import add_documents, finite, named, path, positive
from tests.support.cases import parametrized


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


def test_a_number_that_is_sent_is_one_that_json_has() -> None:
    assert finite("-0.5") == -0.5
    for wrong in ("nan", "inf", "-inf", "1e999"):
        with pytest.raises(argparse.ArgumentTypeError, match=wrong):
            finite(wrong)


def test_an_empty_path_is_not_the_current_directory() -> None:
    for kind in (path, named):
        assert str(kind("a")) == "a"
        with pytest.raises(argparse.ArgumentTypeError, match=r"the path is empty.*`\.`"):
            kind("")


@parametrized("tools/cli/cases/flags.toml", "commands")
def test_an_empty_path_is_no_directory(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(line)
    assert ended.value.code == cli.USAGE
    assert "the path is empty" in capsys.readouterr().err
