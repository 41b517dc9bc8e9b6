"""`python -m bench.arguments --format NAME`: whole turns beside xgrammar, of two tools."""

import pytest

pytest.importorskip("vllm")
pytest.importorskip("xgrammar")

from bench.arguments import turn_report, whole_turns
from bench.arguments.whole_turns import OURS, PEER
from bench.first_mask.tools import generated
from bench.formats.catalogue import FORMATS


@pytest.mark.slow
def test_turns_of_two_tools_are_timed_in_both_engines() -> None:
    try:
        found = whole_turns.measure("hermes", [generated(seed) for seed in (1, 2)], 1)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    counted = 2 * (whole_turns.TURNS - 1)
    assert (found.tools, found.turns, found.refused) == (2, counted, {})
    ours, peer = found.times[OURS], found.times[PEER]
    for place in (True, False):
        lengths = {
            len(each[place]) for each in (ours.masks, ours.accepts, peer.masks, peer.accepts)
        }
        assert len(lengths) == 1
        assert lengths.pop() >= counted
    counts, *table = turn_report.report([found]).splitlines()
    assert counts.startswith(f"hermes: 2 tools, {counted} turns, ")
    assert counts.endswith("; refused: none")
    assert [line.split(" ")[0] for line in table[-3:]] == ["hermes,", "hermes,", ""]


def test_a_format_without_a_structural_tag_has_no_peer() -> None:
    row = FORMATS["pythonic"]
    assert whole_turns.structural_tag_model(row) is None
    with pytest.raises(ValueError, match="no structural tag"):
        whole_turns.XGrammar(row, None)
