"""The page of a turn, and the JSON that it carries."""

import json
import re
from html.parser import HTMLParser

from enforcer.tools.cli.output import plain
from enforcer.tools.explain.table import as_json, lines, page
from enforcer.tools.explain.trace import Given, Trace
from tests.explained_turns import ARGUMENTS, followed
from tests.walks import V

EVIL = 'x</script><script>alert("/*trace*/")<!--title-->'


class Scripts(HTMLParser):
    """Collects the scripts of a page, and what it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.loaded: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag == "script"
        if self._inside:
            self.scripts.append("")
        self.loaded += [value for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, _: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.scripts[-1] += data


def traced() -> Trace:
    text = ARGUMENTS + '{"city":' + json.dumps(EVIL)
    last = Given(V.find(b","), ((V.find(b"]"), -0.1), (V.find(b","), -3.0)))
    return followed(text, last, title=EVIL)


def test_a_page_carries_the_turn_and_loads_nothing() -> None:
    trace = traced()
    text = page(trace)
    found = Scripts()
    found.feed(text)
    data, _program = found.scripts
    assert json.loads(data) == json.loads(json.dumps(as_json(trace)))
    assert found.loaded == []
    assert not re.search(r"@import|url\(", text)
    assert "alert" not in text.partition("<main>")[0].replace("&lt;script&gt;alert", "")


def test_colours_and_scales_of_the_page_are_explained() -> None:
    text = page(traced())
    legends = "".join(re.findall(r'<div class="legend">.*?</div>', text, re.DOTALL))
    for kind in ("tight", "marker", "draft", "changed", "legal", "shown", "masked"):
        assert re.search(rf'class="(t )?{kind}"', legends), kind
    assert "Legal token ids at each position (logarithmic)" in text
    for axis in ("count", "position"):
        assert f'{{class: "{axis}", style: ' in text
    assert '"not legal: masked"' in text


def test_the_table_says_what_was_taken_away() -> None:
    said = list(lines(traced()))
    assert any(line.strip().startswith("taken away: `]` (-0.10)") for line in said)
    assert said[-1].endswith("tokens: changed at 1 of them")
    assert said[-3].startswith("next: the name of a property")


def test_the_table_of_a_turn_that_is_not_legal() -> None:
    said = list(lines(followed(ARGUMENTS, Given(V.find(b"[")), Given(V.find(b"]")))))
    assert "✗ `[`" in said[-5]
    assert said[-4].strip().startswith("not legal: `[` does not fit")
    assert said[-3].strip() == "the token after it was not followed"
    assert said[-1].endswith("the last one is not legal")


def test_what_is_expected_is_said_once_for_a_step() -> None:
    wanted = [V.find(each) for each in (b"[", b"]", b",", b":")]
    last = Given(wanted[0], tuple((token, -0.1 - at) for at, token in enumerate(wanted)))
    said = "\n".join(lines(followed(ARGUMENTS, last)))
    assert said.count("does not fit") == 2
    assert said.count("expected ") == 1
    assert "taken away: `[` (-0.10), `]` (-1.10), `,` (-2.10), `:` (-3.10): does not fit" in said


def test_a_token_of_spaces_can_be_seen() -> None:
    """The page's own script does it: nothing here runs one."""
    assert 'text.replace(/ /g, "␣")' in page(traced())


def test_whatever_a_terminal_does_not_show_the_page_does_not_either() -> None:
    """Of what a script would be needed for, its pattern alone is read; a line feed is drawn."""
    [pattern] = re.findall(r"replace\(/(\[\\u0000.*?\])/g", page(traced()))
    shown = set(filter(re.compile(pattern).fullmatch, map(chr, range(0xD800))))
    assert {c for c in map(chr, range(0xD800)) if plain(c) != c} - shown == {"\n"}
    assert not any(c.isalnum() or c in " \u3000.,é" for c in shown)
