"""Figures that stand in several places are the same ones."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
RESULTS = (ROOT / "docs/results.md").read_text()
# Columns of the real model's table, counted from that of the requests, which is 0.
REAL = {
    "calls to undeclared tools": 2,
    "arguments that fail the schema": 3,
    "calls that the client never got": 5,
    "cut off by `max_tokens`": 6,
    "**valid calls**": 4,
    "exactly the requested call (160 prompts name one)": 9,
}


def _printed(first: str) -> dict[str, list[str]]:
    """Return a demo's first printed rows in docs/results.md by server, a list of figures each."""
    block, *_ = [
        block
        for block in re.findall(r"^```text\n(.*?)^```$", RESULTS, re.MULTILINE | re.DOTALL)
        if re.search(rf"^ vLLM +{first} ", block, re.MULTILINE)
    ]
    rows = re.findall(r"^ (\S+(?:, \w+)?) {2,}(\d.*?) *$", block, re.MULTILINE)
    return {name: re.findall(r"[\d.]+(?: %| of \d+)?", row) for name, row in rows}


def _cells(text: str, name: str) -> list[str]:
    (line,) = re.findall(rf"^\| {name} \|(.*)\|$", text, re.MULTILINE)
    return [cell.strip() for cell in line.split("|")]


def test_the_readme_has_the_figures_of_the_real_model() -> None:
    rows = _printed("200")
    assert list(rows) == ["vLLM", "vLLM, strict", "Enforcer, open", "Enforcer"]
    shown = [rows[name] for name in ("vLLM", "vLLM, strict", "Enforcer")]
    for name, column in REAL.items():
        assert _cells(README, re.escape(name)) == [row[column].split(" of ")[0] for row in shown]


def test_the_readme_says_what_the_page_of_results_says_that_it_costs() -> None:
    page = RESULTS.split("## What it costs")[1]

    def row(name: str) -> list[str]:
        return [cell.split("(")[0].strip() for cell in _cells(page, name)]

    first_text = "mask, a tool's first text"
    masks = [row(name)[0] for name in ("128 tools, unseen", "text", first_text)]
    shares = [row(f"auto, {n} in flight")[-1] for n in (1, 32)]
    known = page.split("| known tools, ids a second |")[1].split("\n\n")[0]
    beside = re.findall(r"^\| \w+, \d+ at a time \|.*\| ([\d.]+) \(", known, re.MULTILINE)
    said = README.split("| it costs |")[1].split("\n\n")[0]
    told = re.findall(r"\| ([\d.]+)(?: ms| µs)? \|$", said, re.MULTILINE)
    # Of 128 tools: what it adds in the API server and in the engine.
    for word, name in (
        ("no", "the same in vLLM, from HTTP: API server and engine"),
        ("yes", "the same in vLLM, tools that the server has seen"),
    ):
        found = re.search(rf"^\| 128 \| {word} \|(.*)\|$", page, re.MULTILINE)
        assert found is not None
        adds = [float(cell) for cell in found[1].split("|")]
        assert _cells(README, name) == [f"{adds[2]:.1f} and {adds[4]:.1f} ms"]
    assert told == [*masks, *shares, min(beside, key=float)]


def _numbers(name: str) -> list[float]:
    """Return the numbers of what a row of the README's table of alternatives leaves."""
    told = _cells(README, re.escape(name))[0].replace("²", "")
    words = {"two": "2", "eight": "8", "eighteen": "18"}
    told = re.sub(r"\b(two|eighteen|eight)\b", lambda found: words[found[1]], told)
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", told)]


def test_the_readme_says_what_pages_say_that_alternatives_leave() -> None:
    wrong, empty = (_cells(RESULTS, name)[1:] for name in ("wrong ids", "empty replies"))
    kept, right = _cells(RESULTS, "right turns unchanged")[1].split(" of ")
    assert _numbers("vLLM's strict mode, Kimi") == [
        float(wrong[0]),
        260,
        float(empty[0]),
        float(right) - float(kept),
        float(right),
    ]
    assert [wrong[1], empty[1]] == ["0", "0"]

    formats = (ROOT / "docs/formats.md").read_text()
    untagged = re.findall(r"^\| (.*?) \| \*no tag\* \|", formats, re.MULTILINE)
    measured = re.findall(r"^\| `(\w+)` \| \S+ \| (\d+)/(\d+)/\d+ \|", formats, re.MULTILINE)
    others = [(int(calls), int(schema)) for name, calls, schema in measured if name != "kimi_k2"]
    assert _numbers("strict mode, other formats") == [
        sum(cell.count("`") // 2 for cell in untagged),
        len([*(ROOT / "grammars").glob("*.toml")]),
        sum(calls > 0 for calls, _ in others),
        sum(schema > 0 for _, schema in others),
    ]

    first = [cell.split("(")[0].strip() for cell in _cells(RESULTS, "128 tools, unseen")]
    assert _numbers("xgrammar: time") == [float(first[1]), 128, float(first[2]), float(first[0])]

    page = (ROOT / "bench/README.md").read_text()
    names = ("right", "refused", "wrongly rejected", "wrongly accepted", "over 10 s")
    any_order, first_mask = "right in any order of properties", "first mask, ms, median"
    peers = {
        name: dict(zip(("ours", "llguidance", "xgrammar", "", "outlines"), figures, strict=True))
        for name in (*names, any_order, first_mask)
        for figures in ([float(cell) for cell in _cells(page, name)],)
    }
    assert {peers[name]["ours"] for name in names[1:]} == {0}
    assert peers[any_order]["ours"] == peers["right"]["ours"] == 60
    assert _numbers("xgrammar: schemas") == [
        60,
        peers["wrongly accepted"]["xgrammar"],
        peers["wrongly rejected"]["xgrammar"],
    ]
    assert _numbers("guidance (llguidance)") == [
        peers["refused"]["llguidance"],
        60,
        peers[any_order]["llguidance"],
        60,
        peers[first_mask]["llguidance"],
        peers[first_mask]["ours"],
    ]
    assert _numbers("outlines (outlines-core)") == [
        peers["refused"]["outlines"],
        peers["over 10 s"]["outlines"],
        10,
        peers["wrongly accepted"]["outlines"],
    ]
