"""A parser of another format than the model's ends a start before the weights are loaded."""

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.demo.servers import Server, ServerFailedError, Setting
from enforcer.errors import ConfigurationError, InvalidVocabulary
from enforcer.turn.parser import Parser
from enforcer.vllm.config import names
from enforcer.vllm.intake import startup
from enforcer.vllm.server import runtime, served_model
from tests import dialect_cases
from tests.vllm_servers import TINY


@pytest.fixture
def tokenizer(known: Any) -> object:
    """Give a tokenizer of the format hermes."""
    return known(dialect_cases.vocabulary("hermes"))


def _processor(tokenizer: object) -> Any:
    """Make an input processor as the plugin has it."""

    def original(self: SimpleNamespace, config: str) -> None:
        self.vllm_config, self.tokenizer = config, tokenizer

    made = SimpleNamespace()
    startup.processor_made(original, made, "the server's")
    return made


def test_a_foreign_parser_is_refused(monkeypatch: pytest.MonkeyPatch, tokenizer: object) -> None:
    monkeypatch.setenv(names.PARSER_VARIABLE, "kimi_k2_enforced")
    with pytest.raises(InvalidVocabulary) as refused:
        _processor(tokenizer)
    assert str(refused.value).startswith(
        "--tool-call-parser kimi_k2_enforced is for models of the format kimi_k2: "
        "the tokenizer has no control token "
    )


def test_shadow_mode_needs_the_format_before_an_engine_is_started(
    monkeypatch: pytest.MonkeyPatch, tokenizer: object, use: Any
) -> None:
    use(shadow="on", dialect="kimi_k2")
    flags = {"kimi_k2": "--tool-call-parser kimi_k2", "": "ENFORCER_DIALECT=kimi_k2"}
    for parser, flag in flags.items():
        monkeypatch.setenv(names.PARSER_VARIABLE, parser)
        with pytest.raises(InvalidVocabulary, match=f"^ENFORCER_SHADOW=on with {flag}"):
            _processor(tokenizer)


@pytest.mark.parametrize("parser", ["kimi_k2", "xlam", ""])
def test_a_model_is_served_as_ever_without_a_parser_of_ours(
    monkeypatch: pytest.MonkeyPatch, tokenizer: object, parser: str
) -> None:
    monkeypatch.setenv(names.PARSER_VARIABLE, parser)
    assert _processor(tokenizer).vllm_config == "the server's"


def test_a_server_without_a_tokenizer_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(names.PARSER_VARIABLE, "kimi_k2_enforced")
    assert _processor(None).tokenizer is None


def test_what_is_read_is_kept_for_the_requests(monkeypatch: Any, tokenizer: object) -> None:
    monkeypatch.setenv(names.PARSER_VARIABLE, "hermes_enforced")
    _processor(tokenizer)
    table = runtime.table_for(tokenizer)
    assert Parser(table, []).feed([]) == []
    _processor(tokenizer)
    assert runtime.table_for(tokenizer) is table


@pytest.mark.parametrize("parser", ["kimi_k2_enforced", "kimi_k2"])
def test_documents_that_are_not_there_are_named_before_an_engine_is_started(
    monkeypatch: Any, tmp_path: Path, parser: str, use: Any
) -> None:
    monkeypatch.setenv(names.PARSER_VARIABLE, parser)
    missing = str(tmp_path / "nope")
    use(documents=missing)
    monkeypatch.setattr(runtime, "documents", cache(runtime.documents.__wrapped__))
    with pytest.raises(ConfigurationError, match=f"^ENFORCER_DOCUMENTS: .*{missing}"):
        _processor(None)


def test_only_a_vocabulary_that_does_not_fit_is_laid_on_the_parser(monkeypatch: Any) -> None:
    other, own = ConfigurationError("a setting"), InvalidVocabulary("no such token")
    monkeypatch.setenv(names.PARSER_VARIABLE, "kimi_k2_enforced")
    assert served_model.blamed(other) is other
    assert "--tool-call-parser kimi_k2_enforced" in str(served_model.blamed(own))
    monkeypatch.setenv(names.PARSER_VARIABLE, "kimi_k2")
    assert served_model.blamed(own) is own


WRONG = ("--tool-call-parser", "mistral_enforced")
PARSER = ("--tool-call-parser", "kimi_k2_enforced")


@pytest.mark.vllm
@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            ("--enable-auto-tool-choice", *WRONG),
            "InvalidVocabulary: --tool-call-parser mistral_enforced is for models of the format ",
        ),
        (PARSER, f"ConfigurationError: {' '.join(PARSER)} needs --enable-auto-tool-choi"),
    ],
)
def test_a_real_server_ends_early(tmp_path: Path, flags: tuple[str, ...], said: str) -> None:
    log = tmp_path / "log"
    wrong = Setting("wrong", flags, "enforcer")
    with Server(TINY, wrong, log) as server, pytest.raises(ServerFailedError):
        server.wait_until_ready()
    written = log.read_text()
    assert said in written
    assert "EngineCore" not in written
