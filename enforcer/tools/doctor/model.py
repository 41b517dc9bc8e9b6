"""Checks of a model's folder: its tokenizer, its size, its chat template."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from enforcer.errors import ConfigurationError, EnforcerError, UnknownDialect
from enforcer.extras import needed_for
from enforcer.tools.doctor import CheckResult, bad, note, ok
from enforcer.tools.doctor.template import checks_of
from enforcer.turn import dialects
from enforcer.turn.table import Table
from enforcer.vllm.config import names, settings
from enforcer.vocabulary import Vocabulary


def checks(
    folder: Path,
    *,
    dialect: str | None = None,
    template: Path | None = None,
    trust_remote_code: bool = False,
) -> Iterator[CheckResult]:
    """Check a model's folder.

    Args:
        folder: as vLLM's `--model` takes it.
        dialect: name of a dialect, or of a parser of vLLM's; None for `ENFORCER_DIALECT`.
        template: a file that the server is given as `--chat-template`; None for the
            folder's own.
        trust_remote_code: run tokenizer code that lies in the folder.

    """
    if not folder.is_dir():
        yield bad("model", f"{folder} is no folder", "name the folder that has config.json")
        return
    try:
        name = names.stock(dialect or settings.read(os.environ).dialect)
        dialects.named(name)
    except EnforcerError as error:
        is_variable = isinstance(error, UnknownDialect) and not dialect
        said = f"ENFORCER_DIALECT: {error}" if is_variable else str(error)
        yield bad("dialect", said, "name one with --dialect, or mend the variable")
        return
    try:
        tokenizer = load_tokenizer(folder, trust_remote_code=trust_remote_code)
    except ConfigurationError as error:
        wrong, _, mend = str(error).rpartition("; ")
        yield bad("tokenizer", wrong, mend)
        return
    try:
        vocabulary = Vocabulary.from_transformers(tokenizer)
    except EnforcerError as error:
        yield bad("tokenizer", str(error), "serve the model with its own tokenizer")
        yield from checks_of(tokenizer, template, dialects.named(name))
        return
    yield ok(
        "tokenizer", f"{vocabulary.size} token ids, {len(vocabulary.controls)} of special tokens"
    )
    found = dialects.named(name, vocabulary.controls)
    try:
        Table(found, vocabulary)
    except EnforcerError as error:
        mend = "each must be one added token; name another format with --dialect"
        yield bad("special tokens", str(error), mend)
    else:
        yield ok("special tokens", f"each that dialect {found.name} needs is one added token")
    yield _size(folder, vocabulary)
    yield from checks_of(tokenizer, template, found)


def load_tokenizer(folder: Path, *, trust_remote_code: bool) -> Any:
    """Load the tokenizer of a model's folder, with `transformers`.

    Raises:
        ConfigurationError: the package is not installed, or the tokenizer cannot be loaded; the
            message ends in what to do.

    """
    with needed_for("reading the tokenizer"):
        from transformers import AutoTokenizer
    try:
        return AutoTokenizer.from_pretrained(
            str(folder), trust_remote_code=trust_remote_code, local_files_only=True
        )
    except Exception as error:
        raise ConfigurationError(
            f"the tokenizer in {folder} cannot be loaded: {error!r}; complete the folder, and run "
            "a tokenizer that is code with --trust-remote-code"
        ) from error


def _size(folder: Path, vocabulary: Vocabulary) -> CheckResult:
    title = "size of the model"
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        size = config.get("text_config", config).get("vocab_size")
    except (OSError, ValueError, AttributeError) as error:
        return bad(title, f"config.json cannot be read: {error}", "complete the folder")
    if not isinstance(size, int):
        return note(title, "config.json has no vocab_size")
    if size < vocabulary.size:
        return bad(
            title,
            f"the model has {size} token ids, its tokenizer {vocabulary.size}",
            "the tokenizer is of another model: take the one that belongs to the weights",
        )
    return ok(title, f"{size} token ids, enough for the tokenizer")
