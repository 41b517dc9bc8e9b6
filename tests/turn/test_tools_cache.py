"""Values by tools, kept from one request to the next."""

from enforcer.turn.tools_cache import ToolsCache


class Growing:
    """A value that weighs more and more."""

    weight = 0


def test_values_that_grow_behind_their_last_neighbour_have_a_bound() -> None:
    tools: ToolsCache[Growing] = ToolsCache()
    for key in range(200):
        tools.get(key, Growing)
    for key in range(200):
        tools.get(key, Growing).weight += 1 << 20
        assert tools.weight <= (16 + 64) << 20
