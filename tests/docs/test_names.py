"""Names of modules, files and classes in the pages exist, and versions are of the next release."""

import re
from pathlib import Path

import pytest

from enforcer.vllm.config.names import TESTED_VERSIONS
from tests.snippets import PAGES, RELEASE, ROOT

# What an upgrade from an old release needs names what is gone.
_PAST = set((ROOT / "docs/production").glob("upgrading-*.md"))
_PAGES = [page for page in (*PAGES, ROOT / "CONTRIBUTING.md", *(ROOT / "bench").rglob("*.md"))
          if page not in _PAST and "node_modules" not in page.parts]  # fmt: skip
_INSIDE = [ROOT / "docs/compiler.md", ROOT / "docs/concepts.md",
           *(ROOT / "docs/decisions").glob("*.md")]  # fmt: skip
_ROOTS = (ROOT, ROOT / "enforcer", ROOT / "enforcer/vllm", ROOT / "bench")
# Folders by which a path is one of this project; `vllm` alone is vLLM's.
_FOLDERS = {"enforcer", "tests", "bench"} | {
    each.name for root in _ROOTS[1:] for each in root.iterdir() if each.is_dir()
} - {"vllm"}  # fmt: skip
_PATHS_OF_OTHERS = {
    *("enforcer/a/b.py", "tests/a/test_b.py"),  # any module
    "enforcer/grammars",  # of a wheel
    "tests/v1/structured_output",  # vLLM's
    "tools/list",  # a method of MCP
}
# vLLM's, and Python's.
_NAMES_OF_OTHERS = {
    *("KimiK2ToolParser", "_create_grammar", "async_scheduler", "pending_structured_output_tokens"),
    *("ProcessPoolExecutor", "raw_logprobs", "stat_logger_plugins", "to_beam_search_params"),
}


def _quoted(page: Path) -> list[str]:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    # A measurement that is gone, with the commit that has it.
    text = re.sub(r"`bench\.[^`\n]+`,\s+last\s+in\s+commit\s+[0-9a-f]{8}\b", "", text)
    return re.findall(r"`([^`\n]+)`", text)


def _is_there(path: str) -> bool:
    return any((root / end).exists() for root in _ROOTS for end in (path, f"{path}.py"))


def _is_importable(dotted: str) -> bool:
    """Return whether a module is there, and has what follows in the name."""
    parts, folder = dotted.split("."), ROOT
    while parts and (folder / parts[0]).is_dir():
        folder /= parts.pop(0)
    file = folder / "__init__.py"
    if parts and (folder / f"{parts[0]}.py").is_file():
        file = folder / f"{parts.pop(0)}.py"
    return not parts or re.search(rf"\b{parts[0]}\b", file.read_text()) is not None


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_modules_and_files_exist(page: Path) -> None:
    quoted = _quoted(page)
    paths = {each for each in quoted if re.fullmatch(r"\w+(/\w+)+(\.\w+)?/?", each)}
    own = {path for path in paths - _PATHS_OF_OTHERS if path.partition("/")[0] in _FOLDERS}
    assert {path for path in own if not _is_there(path)} == set()
    pattern = r"(?<![\w./-])(?:enforcer|tests|bench)(?:\.[A-Za-z_]\w*)+"
    dotted = {name for each in quoted for name in re.findall(pattern, each)}
    assert {name for name in dotted if not _is_importable(name)} == set()


def test_names_of_classes_and_functions_exist() -> None:
    sources = " ".join(
        file.read_text()
        for folder in ("enforcer", "grammars", "bench", "tests")
        for suffix in ("py", "toml")
        for file in (ROOT / folder).rglob(f"*.{suffix}")
        if file.name != "test_names.py"
    )
    known = set(re.findall(r"\w+", sources)) | _NAMES_OF_OTHERS
    dotted = {each for page in _INSIDE for each in _quoted(page) if re.fullmatch(r"[\w.]+", each)}
    names = {name for each in dotted for name in each.split(".")}
    assert {each for each in names if re.search(r"[a-z]_?[A-Z]|_", each)} - known == set()


def test_versions_in_examples_are_those_of_the_next_release() -> None:
    pattern = (
        r"(?:vllm-kimi-enforcer:([\d.]+)-|\bversion=|install kimi-enforcer )(\d+\.\d+\.\d+)"
        r"|(\d+\.\d+\.\d+)\.dev0"
    )
    found = [
        (str(page.relative_to(ROOT)), vllm, release or development)
        for page in _PAGES
        for vllm, release, development in re.findall(pattern, page.read_text())
    ]
    assert [each for each in found if each[2] != RELEASE] == []
    images = {vllm for _, vllm, _ in found if vllm}
    assert images
    assert images <= set(TESTED_VERSIONS)
