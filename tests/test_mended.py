"""What the first trial by a new user found, row by row, and the test that would find it again.

Owns: the table. Must not know: what any of these tests does.
"""

import re
from pathlib import Path

from tests.snippets import PAGES
from tests.support.cases import parametrized

ROOT = Path(__file__).resolve().parents[1]


@parametrized("cases/mended.toml", "mended")
def test_what_was_mended_has_its_tests(tests: list[str]) -> None:
    assert tests
    for named in tests:
        file, _, name = named.partition("::")
        source = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", source, re.MULTILINE), named


def test_a_route_has_one_spelling() -> None:
    """What a reader copies begins with what it is imported from."""
    texts = [*PAGES, *(ROOT / "enforcer").rglob("*.py")]
    # A signature in the reference has the default as the code has it.
    copied = [re.sub(r"```pyi\n.*?```", "", path.read_text(), flags=re.DOTALL) for path in texts]
    assert not [text for text in copied if re.search(r"via=Route\.", text)]
