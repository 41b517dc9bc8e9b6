"""Every module of the rooms below has a test module of its name, where a newcomer looks for it.

And every package is in the table that says where things are.
"""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("schema", "numbers", "regex", "request", "turn", "layouts", "tokenizers")
# Modules that are tested elsewhere, and why that is the better place.
ELSEWHERE = {
    "schema/keywords.py": "tables; their use: schema/reading/test_keywords.py, vllm/observe",
    "schema/algebra/children.py": "a protocol; what answers it is tested in test_normal_form.py",
    "tokenizers/parts.py": "a value; what is read into it is tested in test_hugging_face.py",
    "turn/events.py": "values alone; what is read into them is tested in test_parser.py",
    "regex/automata/alphabet.py": "classes of characters; their use: test_determinizing.py",
    "regex/automata/exploring.py": "a worklist; what it explores: test_determinizing.py",
}


def missing() -> Iterator[str]:
    for room in ROOMS:
        for module in sorted((ROOT / "enforcer" / room).rglob("*.py")):
            path = module.relative_to(ROOT / "enforcer")
            mirror = ROOT / "tests" / path.parent / f"test_{path.stem}.py"
            if path.stem != "__init__" and not mirror.exists():
                yield path.as_posix()


def test_every_module_has_a_mirror_or_a_reason() -> None:
    assert set(missing()) == set(ELSEWHERE), (
        "give a new module tests/<its folder>/test_<its name>.py; "
        "a module that has one now is no exception any more"
    )


def test_the_table_of_packages_is_whole() -> None:
    page = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^- ((?:`\w+`(?:, )?)+): ", page.split("\n## Where things are\n")[1], re.MULTILINE
    )
    listed = re.findall(r"`(\w+)`", " ".join(rows))
    packages = {
        each.stem
        for each in (ROOT / "enforcer").iterdir()
        if each.suffix == ".py" or (each / "__init__.py").exists()
    }
    assert sorted(listed) == sorted(packages - {"__init__", "__main__"})
