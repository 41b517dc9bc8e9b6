"""What follows from a dialect for its states and headers, and its picture."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.turn import dialects
from enforcer.turn.dialect import Guard
from enforcer.turn.pattern import INDEX, NAME, Fixed
from tests.support import cases

KIMI = dialects.load("kimi_k2")
MISTRAL = dialects.load("mistral")  # its headers have no index


def test_the_diagram_has_every_transition() -> None:
    lines = KIMI.diagram().splitlines()
    assert lines[0] == "stateDiagram-v2"
    for name, state in KIMI.states.items():
        for marker, transition in state.on.items():
            guard = {Guard.ALWAYS: ""}.get(transition.when, f" [{transition.when.value}]")
            assert f"    {name} --> {transition.to}: {marker}{guard}" in lines
    assert "    START --> CONTENT: text" in lines
    assert "    START --> SILENT: white space" in lines


@pytest.mark.parametrize("name", dialects.available())
def test_a_diagram_leads_where_the_states_lead(name: str) -> None:
    dialect = dialects.load(name)
    drawn = re.findall(r"^    (\w+) --> (\w+): (.*)$", dialect.diagram(), re.MULTILINE)
    assert len(drawn) == len(set(drawn))
    for at, state in dialect.states.items():
        ways = {(to, said) for source, to, said in drawn if source == at}
        marked = {(transition.to, marker) for marker, transition in state.on.items()}
        assert {(to, said.split(" [")[0]) for to, said in ways} == marked | {
            *([(state.text_to, "text")] if state.text_to != at else []),
            *(
                [(state.blank_to, "white space")]
                if state.blank_to not in (at, state.text_to)
                else []
            ),
            *([(state.then, "its end")] if state.then else []),
        }


@given(st.text(alphabet="abN_-./é日", min_size=1), st.integers(0, 10**9 - 1))
def test_a_header_is_read_back(name: str, index: int) -> None:
    assert KIMI.header_parts(KIMI.header_text(name, index)) == (name, index)
    assert MISTRAL.header_parts(MISTRAL.header_text(name, index)) == (name, 0)


@pytest.mark.parametrize("text", cases.load("turn/cases/headers.toml")["no_header"])
def test_what_is_no_header_is_none(text: str) -> None:
    assert KIMI.header_parts(text) is None


def test_the_page_has_the_diagram() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "concepts.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```mermaid\n(.*?)\n```", page, re.DOTALL | re.MULTILINE)
    assert shown == KIMI.diagram().rstrip()


def test_what_is_inside_a_call_and_what_a_turn_without_calls_can_be_in() -> None:
    assert KIMI.calling == {"SECTION", "HEADER", "ARGUMENTS", "BETWEEN"}
    assert KIMI.speaking == {"START", "REASONING", "SILENT", "CONTENT", "END"}
    for name in dialects.available():
        dialect = dialects.load(name)
        assert {"HEADER", "ARGUMENTS"} <= dialect.calling
        assert not dialect.calling & dialect.speaking
        assert {dialect.final, dialect.turn_state} <= dialect.speaking
    k3 = dialects.load("kimi_k3")
    assert k3.calling == {"TOOLS", "HEADER", "ARGUMENTS", "BETWEEN"}
    assert {"THOUGHT", "SAID", "LAST"} <= k3.speaking


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("kimi_k2", ("functions.", NAME, ":", INDEX)),
        ("llama3_json", (NAME, '"')),
        ("internlm", ('"', NAME, '"')),
        ("pythonic", (NAME, "(")),
    ],
)
def test_the_part_of_a_header_with_the_name_in_it(name: str, part: tuple[Fixed, ...]) -> None:
    dialect = dialects.load(name)
    first, last = dialect.header_ends
    assert dialect.header_pieces[first:last] == part
