"""The command `enforcer explain`: a turn token by token, with the legal tokens and the reasons.

Reads files and a server's answer; without a model it makes a vocabulary of the text. Must not
know: what is legal, or the words for it (`tools.explain` has them).
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enforcer import documents
from enforcer.api import Enforcer
from enforcer.errors import ConfigurationError, InvalidVocabulary, RequestError, SchemaError
from enforcer.request.options import Options
from enforcer.schema import Conventions, Integers, OnUnsupported
from enforcer.schema.bundling import read_documents
from enforcer.tokenizers.kimi import split
from enforcer.tools.cli import chat_request, flags, partial_turn
from enforcer.tools.cli.flags import named, path
from enforcer.tools.cli.output import complain, remark, say, say_json, write_file
from enforcer.tools.explain import reply, table, trace
from enforcer.tools.explain.trace import Given
from enforcer.tools.explain.words import quoted
from enforcer.turn import dialects
from enforcer.vllm.config import names
from enforcer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from enforcer.tools.cli.chat_request import ChatRequest
    from enforcer.tools.explain.reply import RecordedTurn
    from enforcer.tools.verify.client import Endpoint
    from enforcer.turn.dialect import Dialect

_DESCRIPTION = """\
Follows a turn token by token: in which state it was, how many ids were legal, what could
have come instead and by which part of the schema, and what the mask took away where the
model's scores are given. Without a turn, it tells what one may begin with.

In a TEXT every marker that is spelled is its token, and what stands before an opening of
the assistant's turn is the prompt. Without --model the tokens are the pieces that Kimi's
tokenizer splits text into. With --url a server answers the request, and scores its turn.

Exit status: 0 if every id is legal and none was taken away, 1 if one was, or a tool cannot be
enforced, 2 if a file cannot be read or is none of these, or the server does not answer."""
_SPELLING = ("plain_spelling", "second_space")
_TOP = 5  # scores beside an id's own
# Of another kind of reply than one that is whole and tells its ids.
_DROPPED = ("stream", "stream_options", "logprobs", "top_logprobs", "n")


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    told = "tell what was legal in a turn, and why"
    parser = flags.add_command(commands, run, "explain", told, _DESCRIPTION)
    add = parser.add_argument
    add("--tools", required=True, type=named, metavar="FILE", help="tools or a request; - is stdin")
    add("--tool-choice", metavar="CHOICE", help="auto, none, required, or the name of a tool")
    turn = parser.add_argument_group("the turn").add_mutually_exclusive_group().add_argument
    turn("--text", default="", metavar="TEXT", help="as text; @FILE reads it from a file")
    turn(
        "--ids", type=path, metavar="FILE", help="as JSON: token ids, with scores if they are known"
    )
    turn("--reply", type=path, metavar="FILE", help="a chat completion with its ids or `logprobs`")
    turn("--url", metavar="URL", help="have a server answer the request: its base URL")
    add("--call", metavar="NAME", help="TEXT is the arguments of a call to that tool alone")
    add("--scores", type=path, metavar="FILE", help="`prompt_logprobs` of the prompt and --reply")
    flags.add_server(parser, timeout=300)
    flags.add_dialect(parser, "kimi_k2")
    flags.add_model(parser)
    flags.add_schemas(parser)
    hows = [how.value for how in OnUnsupported]
    add("--on-unsupported", choices=hows, default="refuse", help="as on the server (%(default)s)")
    hows = [how.value for how in Integers]
    add("--integers", choices=hows, default="digits", help="as on the server (%(default)s)")
    for name in _SPELLING:
        says = f"as with ENFORCER_{name.upper()} on a server"
        flag = "--" + name.replace("_", "-")
        add(flag, action=argparse.BooleanOptionalAction, default=True, help=says)
    flags.add_engine(parser)
    add("--html", type=path, metavar="FILE", help="write a page that shows it")
    flags.add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command.

    Raises:
        EnforcerError: a file has the wrong form, or the request is rejected for anything but a
            tool's schema.

    """
    request = chat_request.read(options.tools, options.tool_choice)
    text = given = _text(options.text)
    _refuse(options)
    name = names.stock(options.dialect)
    if options.call is not None:
        text = partial_turn.with_call(text, options.call, request, dialects.named(name))
    tell = remark if options.url is not None else lambda _: None
    tell(f"reading the tokenizer of {options.model}")
    vocabulary = _vocabulary(options, text, dialects.named(name))
    dialect = dialects.named(name, vocabulary.controls)
    provided = read_documents(options.documents)
    chosen = Options(
        OnUnsupported(options.on_unsupported),
        conventions=Conventions(
            closed_objects=options.closed_objects, integers=Integers(options.integers)
        ),
        **{name: getattr(options, name) for name in _SPELLING},
    )
    enforcer = Enforcer(vocabulary, dialect.name, options.engine, chosen, documents=provided)
    recorded = _recorded(options, request, text, enforcer)
    opening = recorded.prompt_ids or opening_of(enforcer)
    try:
        matcher, aside = partial_turn.start(enforcer, request, opening)
    except RequestError as error:
        raise error.at(request.place) from error
    title = "tools: " + (", ".join(matcher.envelope.names) or "no tool")
    if aside:
        title += "; not enforceable, and followed with any object as arguments: " + ", ".join(aside)
    tell(f"explaining {len(recorded.given)} tokens")
    found = trace.follow(matcher, recorded.given, title)
    _show(options, found, aside)
    if hint := partial_turn.hint(given, matcher, dialect):
        complain(hint)
    return int(bool(found.changed or aside))


def _refuse(options: argparse.Namespace) -> None:
    """Raise `ConfigurationError` if options do not go together."""
    if options.call is not None and (options.ids or options.reply or options.url):
        raise ConfigurationError(
            "--call names the tool whose arguments --text has: give --text with it"
        )
    if options.model is None and (options.ids or options.reply or options.url):
        what = "the answers to --url are token ids, which" if options.url else "ids"
        raise ConfigurationError(
            f"{what} mean nothing without a vocabulary: name the model's folder with --model"
        )


def _show(
    options: argparse.Namespace, found: trace.Trace, aside: Mapping[str, SchemaError]
) -> None:
    """Show an explained turn, and the tools that were set aside."""
    if options.html is not None:
        write_file(options.html, table.page(found))
    if options.json:
        set_aside = [
            {
                "tool": tool,
                "error": type(why).__name__,
                "problems": [asdict(x) for x in why.problems],
            }
            for tool, why in aside.items()
        ]
        say_json(table.as_json(found) | {"set_aside": set_aside})
    else:
        for tool, why in aside.items():
            say(
                f"{quoted(tool)} cannot be enforced, and a server refuses the request; what "
                f"follows takes it with any object: {why}"
            )
        say(*table.lines(found))


def opening_of(enforcer: Enforcer) -> list[int]:
    """Return the end of a prompt that opens the assistant's turn, which is empty so far."""
    turn, vocabulary = enforcer.dialect.turn, enforcer.vocabulary
    begin = [vocabulary.control(n) for n in turn.begin if n in vocabulary.controls][:1]
    end = [] if turn.end is None else [vocabulary.control(turn.end)]
    # Where any role will do, it is the assistant's.
    role = turn.role if turn.role is not None else "assistant" if end else ""
    return [*begin, *vocabulary.encode(role), *end]


def _text(given: str) -> str:
    """Read the turn's text.

    Raises:
        ConfigurationError: no such file, or no model writes it: bytes of a command line that are no
            UTF-8, halves of a surrogate pair.

    """
    try:
        if given.startswith("@"):
            given = Path(given[1:]).read_text(encoding="utf-8").removesuffix("\n")
        given.encode()
    except UnicodeEncodeError as error:
        raise ConfigurationError(
            f"the TEXT is no UTF-8 at character {error.start + 1}: give it in UTF-8, by @FILE say"
        ) from error
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot read {given[1:]}: {error}") from error
    return given


def _recorded(
    options: argparse.Namespace, request: ChatRequest, text: str, enforcer: Enforcer
) -> RecordedTurn:
    vocabulary = enforcer.vocabulary
    if options.url is not None:
        answer, scores = _asked(options, request)
        return reply.scored(reply.read_reply(answer, vocabulary, options.url), scores, options.url)
    if options.reply is not None:
        found = reply.read_reply(_json(options.reply), vocabulary, str(options.reply))
        if options.scores is not None:
            found = reply.scored(found, _json(options.scores), str(options.scores))
        return found
    if options.ids is not None:
        return reply.read_ids(_json(options.ids), str(options.ids))
    ids = trace.read_spelled(vocabulary, text)
    state, begun = enforcer.table.opened(ids)
    turn = enforcer.dialect.turn
    is_opened = state == turn.state and any(vocabulary.controls.get(n) in ids for n in turn.begin)
    begin = len(ids) - len(begun) if is_opened else 0
    given = tuple(Given(token_id) for token_id in ids[begin:])
    return reply.RecordedTurn(given, tuple(ids[:begin]) or None)


def _asked(options: argparse.Namespace, request: ChatRequest) -> tuple[Any, Any]:
    """Have a server answer the request of the file, and score its answer."""
    endpoint = flags.endpoint_of(options)
    if request.api != "chat":
        raise ConfigurationError(
            f"{options.tools} is no chat request: --url sends one to /chat/completions, with its "
            "`messages`, and tools in that API's form"
        )
    body = dict(request.body)
    if options.tool_choice is not None:
        body["tool_choice"] = request.fields["tool_choice"]
    return asyncio.run(scored_turn(endpoint, body, _TOP, remark))


async def scored_turn(
    endpoint: Endpoint, request: Mapping[str, Any], top: int, tell: Callable[[str], None]
) -> tuple[Any, Any]:
    """Have a chat request answered, and the answer scored.

    With the plugin a reply's own scores are masked already, so the same ids are scored once more
    as a prompt, to which no mask is applied.

    Args:
        endpoint: the server.
        request: as it would be sent to `/chat/completions`.
        top: how many scores an id of the turn gets beside its own.
        tell: is given each step before it begins.

    Returns:
        The chat completion, with its ids; and the answer of `/completions` to prompt and turn as
        one prompt, with `prompt_logprobs`.

    Raises:
        ConfigurationError: no server answers, it refuses a request, or its reply has no token ids.

    """
    from enforcer.tools.verify import client

    body = {key: value for key, value in request.items() if key not in _DROPPED}
    if "model" not in body:
        body["model"] = await client.only_model(endpoint, "in the request, as `model`")
    tell(f"waiting for the reply of {endpoint.url}")
    reply = await client.post(endpoint, "/chat/completions", body | {"return_token_ids": True})
    choices = reply.get("choices") if isinstance(reply, dict) else None
    prompt = reply.get("prompt_token_ids") if choices else None
    turn = choices[0].get("token_ids") if choices else None
    if not isinstance(prompt, list) or not isinstance(turn, list):
        raise ConfigurationError(
            f"the server at {endpoint.url} does not tell ids, as vLLM does when it is asked for "
            "`return_token_ids`"
        )
    tell(f"waiting for the scores of {len(prompt)} tokens of prompt and {len(turn)} of reply")
    asked = {"prompt": prompt + turn, "max_tokens": 1, "prompt_logprobs": top}
    return reply, await client.post(endpoint, "/completions", {"model": body["model"], **asked})


def _json(file: Path) -> Any:
    read = documents.read(file)
    return read[0].value if len(read) == 1 else [each.value for each in read]


def _vocabulary(options: argparse.Namespace, text: str, dialect: Dialect) -> Vocabulary:
    if options.model is None:
        return _of_pieces(text, dialect)
    folder: Path = options.model
    if not folder.is_dir():
        raise ConfigurationError(f"--model {folder}: there is no such folder")
    try:
        return Vocabulary.from_tokenizer(folder)
    except InvalidVocabulary:  # its files are others than the usual ones
        from enforcer.tools.doctor.model import load_tokenizer

        tokenizer = load_tokenizer(folder, trust_remote_code=options.trust_remote_code)
        return Vocabulary.from_transformers(tokenizer)


def _of_pieces(text: str, dialect: Dialect) -> Vocabulary:
    """Make a vocabulary of the bytes, the dialect's markers and the pieces of a text."""
    parts = trace.split_markers(text, dialect.controls)
    pieces = dict.fromkeys(
        piece.encode() for is_marker, part in parts if not is_marker for piece in split(part)
    )
    tokens = list(dict.fromkeys(bytes([byte]) for byte in range(256)) | pieces)
    controls = {name: len(tokens) + at for at, name in enumerate(dialect.controls)}
    return Vocabulary([*tokens, *(name.encode() for name in controls)], controls)
