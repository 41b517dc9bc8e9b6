import logging
from types import SimpleNamespace

from transformers import AutoTokenizer
from vllm_servers import TINY

from enforcer.vllm import startup


def _warnings(caplog, change):
    tokenizer = AutoTokenizer.from_pretrained(TINY)
    tokenizer.chat_template = change(tokenizer.chat_template)
    with caplog.at_level(logging.WARNING, logger="vllm.enforcer"):
        startup.look_at(tokenizer)
        startup.look_at(tokenizer)
    return [record.getMessage() for record in caplog.records]


def test_a_good_template_is_not_mentioned(caplog):
    assert not _warnings(caplog, lambda template: template)


def test_a_template_without_the_assistant_header_is_named_once_with_the_remedy(caplog):
    warnings = _warnings(
        caplog, lambda template: template.replace("add_generation_prompt", "no_such_variable")
    )
    assert len(warnings) == 1
    assert "add_generation_prompt" in warnings[0]


def test_no_tokenizer_is_no_error(caplog):
    startup.look_at(None)
    assert not caplog.records


def test_a_front_end_without_plugins_says_what_is_enforced(monkeypatch, caplog):
    caplog.set_level("WARNING", logger="vllm.enforcer")
    monkeypatch.setattr(startup.logger, "propagate", True)
    startup.look_at_front_end(SimpleNamespace(VLLM_USE_RUST_FRONTEND=False))
    assert not caplog.records
    startup.look_at_front_end(SimpleNamespace(VLLM_USE_RUST_FRONTEND=True))
    assert "--tool-strict-level parameter" in caplog.text
    assert "Not enforced" in caplog.text
