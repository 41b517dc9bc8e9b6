"""Does a version of vLLM still fit? `python -m tests.support.compat 0.33.0`.

Owns: reading the sources of a vLLM that is not installed, and asserting statically
whatever `enforcer.vllm` imports, replaces or relies upon there. Must not know: what
`enforcer.vllm` does with it.

The wheel is downloaded by pip (340 MB; some seconds to some minutes) and its Python files
are kept in `.cache`. Needs neither vLLM nor torch installed.
"""

import argparse
import ast
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from enforcer.vllm import fit, patches
from tests.support.request_fields import CLASSES, CONSIDERED
from tests.support.vllm_attributes import ATTRIBUTES

_OURS = Path(__file__).resolve().parents[2] / "enforcer" / "vllm"
CACHE = Path(__file__).resolve().parents[2] / ".cache"
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
# Ours in place of vLLM's: whatever is abstract there must be implemented here.
_SUBCLASSES = {
    "backend.EnforcedGrammar": ("vllm.v1.structured_output.backend_types.StructuredOutputGrammar",),
    "tool_parser.EnforcedParser": ("vllm.parser.abstract_parser.Parser",),
    "processor.EnforcerLogitsProcessor": (
        "vllm.v1.sample.logits_processor.interface.LogitsProcessor",
        "vllm.v1.worker.gpu.sample.logits_processor.interface.LogitsProcessor",
    ),
}
_PARSER = "vllm.parser.abstract_parser.Parser"
# What of our parser says nothing of a reply, so that vLLM's own beside it may be asked as well.
_NOT_OF_A_TURN = frozenset(
    {
        *("adjust_request", "always_adjust_request", "is_reasoning_end"),
        *("set_history_tool_call_count", "tool_parser_cls"),
    }
)
# Where vLLM holds one request's parser, and by which names.
_SERVING = ("entrypoints/openai", "entrypoints/scale_out", "renderers")
_PARSER_NAMES = frozenset({"parser", "request_parser", "response_parser"})
# Parts of vLLM that hold another kind of parser by these names.
_ELSEWHERE = ("entrypoints/openai/parser", "renderers/hf.py")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `trouble` is empty where it fits."""

    what: str
    trouble: str = ""


class Sources:
    """The Python files of a package that is not imported.

    Args:
        root: the folder that has `vllm/`.

    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self.module = cache(self._module)

    def _module(self, dotted: str) -> ast.Module | None:
        path = self._root.joinpath(*dotted.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return ast.parse(file.read_text(encoding="utf-8"))
        return None

    def files(self, *folders: str) -> Iterator[Path]:
        """Give the files under folders of the package."""
        for folder in folders:
            yield from sorted((self._root / "vllm" / folder).rglob("*.py"))

    def find(self, dotted: str) -> ast.AST | None:
        """Find a module, class, function or attribute, through re-exports and bases."""
        if (module := self.module(dotted)) is not None:
            return module
        owner, _, name = dotted.rpartition(".")
        if not owner:
            return None
        scope = self.find(owner)
        if isinstance(scope, ast.Module):
            return self._in_module(owner, scope, name)
        if isinstance(scope, ast.ClassDef):
            return self._in_class(owner, scope, name)
        return None

    def _in_module(self, owner: str, module: ast.Module, name: str) -> ast.AST | None:
        for node in ast.walk(module):
            if isinstance(node, _FUNCTIONS | ast.ClassDef) and node.name == name:
                return node
            if isinstance(node, ast.Assign | ast.AnnAssign) and name in _assigned(node):
                return node
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return self.find(f"{self._origin(owner, node)}.{alias.name}")
        # `vllm` itself names its exports in a table: "name": ".module:name".
        for node in ast.walk(module):
            if isinstance(node, ast.Constant) and str(node.value).endswith(f":{name}"):
                return self.find(owner + str(node.value).replace(":", "."))
        return None

    def _origin(self, owner: str, node: ast.ImportFrom) -> str:
        """Name the module that an import is from, also a relative one."""
        if not node.level:
            return node.module or ""
        parts = owner.split(".")
        is_package = self._root.joinpath(*parts, "__init__.py").is_file()
        kept = parts[: len(parts) - node.level + is_package]
        return ".".join([*kept, node.module or ""]).rstrip(".")

    def _in_class(self, owner: str, scope: ast.ClassDef, name: str) -> ast.AST | None:
        for node in scope.body:
            if isinstance(node, _FUNCTIONS) and node.name == name:
                return node
            if isinstance(node, ast.Assign | ast.AnnAssign) and name in _assigned(node):
                return node
        if name in _on_self(scope, ast.Store):
            return scope
        module = owner.rpartition(".")[0]
        for base in scope.bases:
            if isinstance(base, ast.Name):
                found = self.find(f"{module}.{base.id}.{name}")
                if found is not None:
                    return found
        return None

    def abstract(self, dotted: str) -> set[str]:
        """Name the abstract methods of a class."""
        scope = self.find(dotted)
        if not isinstance(scope, ast.ClassDef):
            return set()
        return {
            node.name
            for node in scope.body
            if isinstance(node, _FUNCTIONS)
            and any("abstractmethod" in ast.unparse(mark) for mark in node.decorator_list)
        }


def _assigned(node: ast.Assign | ast.AnnAssign) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _on_self(scope: ast.AST, use: type[ast.expr_context] = ast.expr_context) -> set[str]:
    """Name the attributes of `self` that are used in some way, as set or read."""
    return {
        node.attr
        for node in ast.walk(scope)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, use)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


class Ours:
    """Our own sources, read the same way."""

    @cached_property
    def imports(self) -> list[str]:
        """Every name that we import from vLLM."""
        names = []
        for file in sorted(_OURS.rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("vllm"):
                    names += [f"{node.module}.{alias.name}" for alias in node.names]
        return sorted(set(names))

    def scope(self, dotted: str) -> ast.ClassDef:
        """Find one of our classes.

        Raises:
            LookupError: it is not there.

        """
        module, _, name = dotted.partition(".")
        (file,) = _OURS.rglob(f"{module}.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name == name:
                return node
        raise LookupError(f"enforcer.vllm has no {dotted}")

    def has(self, dotted: str) -> set[str]:
        """Name what a class of ours defines itself."""
        scope = self.scope(dotted)
        defined = {node.name for node in scope.body if isinstance(node, _FUNCTIONS)}
        for node in scope.body:
            if isinstance(node, ast.Assign | ast.AnnAssign):
                defined |= _assigned(node)
        return defined | _on_self(scope, ast.Store)


def check(sources: Sources) -> Iterator[Finding]:
    """Look at everything that `enforcer.vllm` needs of a vLLM."""
    ours = Ours()
    for dotted in ours.imports:
        yield _exists(sources, dotted)
    replaced = patches.PATCHES | patches.COHERE
    for name, expected in (fit.USED | patches.signatures(replaced)).items():
        if name.startswith("vllm."):
            yield _takes(sources, name.replace(":", "."), expected)
    for dotted, names in ATTRIBUTES.items():
        for name in names.split():
            yield _exists(sources, f"{dotted}.{name}")
    for mine, bases in _SUBCLASSES.items():
        for base in bases:
            yield _implements(sources, ours, mine, base)
    yield from _serving(sources, ours)
    for dotted in CLASSES:
        yield _considered(sources, dotted)


def _considered(sources: Sources, dotted: str) -> Finding:
    """Look for public fields of a request that stand in no list of ours."""
    scope = sources.find(dotted)
    what = f"the fields of {dotted} are in tests.support.request_fields"
    if not isinstance(scope, ast.ClassDef):
        return Finding(what, "there is no such class")
    named = {
        name for node in scope.body if isinstance(node, ast.AnnAssign) for name in _assigned(node)
    }
    new = sorted(name for name in named - CONSIDERED if not name.startswith("_"))
    return Finding(what, f"new: {', '.join(new)}" if new else "")


def _exists(sources: Sources, dotted: str) -> Finding:
    return Finding(dotted, "" if sources.find(dotted) is not None else "there is no such thing")


def _takes(sources: Sources, dotted: str, expected: str) -> Finding:
    node = sources.find(dotted)
    if not isinstance(node, _FUNCTIONS):
        return Finding(dotted, "there is no such function")
    arguments = node.args
    found = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    if any(ast.unparse(mark) == "classmethod" for mark in node.decorator_list):
        found = found[1:]  # as `inspect.signature` shows a bound one
    fits = fit.is_signature(found, expected)
    return Finding(f"{dotted}({expected})", "" if fits else f"takes ({', '.join(found)})")


def _implements(sources: Sources, ours: Ours, mine: str, base: str) -> Finding:
    if not isinstance(sources.find(base), ast.ClassDef):
        return Finding(f"{mine} implements {base}", "there is no such class")
    missing = sources.abstract(base) - ours.has(mine)
    trouble = f"not implemented: {', '.join(sorted(missing))}" if missing else ""
    return Finding(f"{mine} implements {base}", trouble)


def _serving(sources: Sources, ours: Ours) -> Iterator[Finding]:
    """Look at what serving code asks of a parser: ours does not run vLLM's constructor."""
    mine = ours.has("tool_parser.EnforcedParser")
    either = ours.has("parser_choice.EitherParser") | _NOT_OF_A_TURN
    for name in sorted(_asked_of_parsers(sources)):
        if name in mine:
            told = "" if name in either else "read by ours, and not handed to it"
            yield Finding(f"parser_choice.EitherParser.{name}, which serving code uses", told)
        what = f"tool_parser.EnforcedParser.{name}, which serving code uses"
        if name in mine:
            yield Finding(what)
            continue
        inherited = sources.find(f"{_PARSER}.{name}")
        if inherited is None:
            yield Finding(what, "neither ours nor vLLM's parser has it")
            continue
        # Methods and properties of the base are not state; what its constructor sets is.
        state = {
            used
            for used in _on_self(inherited)
            if not isinstance(sources.find(f"{_PARSER}.{used}"), _FUNCTIONS)
        }
        missing = state - mine
        trouble = f"inherited, and needs self.{', self.'.join(sorted(missing))}" if missing else ""
        yield Finding(what, trouble)


def _asked_of_parsers(sources: Sources) -> set[str]:
    asked = set()
    for file in sources.files(*_SERVING):
        if any(part in file.as_posix() for part in _ELSEWHERE):
            continue
        text = file.read_text(encoding="utf-8")
        if "vllm.parser" not in text and "arser_cls" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Attribute):
                continue
            owner = node.value
            name = owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")
            if name in _PARSER_NAMES:
                asked.add(node.attr)
    return asked - _HARMONY


# Of gpt-oss's parser, which serving code tells apart by its class.
_HARMONY = frozenset({"process_chunk", "flush"})


class NoWheelError(OSError):
    """pip could not download a version's wheel."""


def download(version: str, folder: Path) -> Path:
    """Download the wheel of a version for GPUs into a folder, and return its file.

    Raises:
        NoWheelError: pip could not, for the reason in the message.

    """
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--no-deps"]
    command += ["--only-binary", ":all:", "--quiet", "--dest", str(folder), f"vllm=={version}"]
    done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
        reason = (said or done.stderr.splitlines() or ["it says nothing"])[-1]
        raise NoWheelError(
            f"pip cannot download vLLM {version}: {reason.removeprefix('ERROR: ')}; "
            "https://pypi.org/project/vllm/#history lists the versions"
        )
    (wheel,) = folder.glob("*.whl")
    return wheel


def fetch(version: str, folder: Path) -> Path:
    """Get the Python files of a version's wheel, once.

    Raises:
        NoWheelError: pip could not download it.

    """
    return unpacked(version, folder / f"vllm-{version}-sources", lambda name: name.endswith(".py"))


def unpacked(
    version: str,
    target: Path,
    wanted: Callable[[str], bool],
    finish: Callable[[Path], object] = lambda _: None,
) -> Path:
    """Unpack a version's wheel into a folder, which is there whole or not at all; once.

    Args:
        version: whose wheel.
        target: the folder.
        wanted: tells by its name in the wheel whether a file is.
        finish: completes the folder before it gets its name.

    Raises:
        NoWheelError: pip could not download it.

    """
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        part = Path(scratch) / "part"
        with zipfile.ZipFile(download(version, Path(scratch))) as wheel:
            wheel.extractall(part, [name for name in wheel.namelist() if wanted(name)])
        finish(part)
        part.rename(target)
    return target


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="Exit status: 0 if all holds, 1 if not, 2 without the wheel."
    )
    parser.add_argument("version", help="for example 0.33.0; any if --sources is given")
    parser.add_argument("--sources", type=Path, help="a folder that has vllm/, not a download")
    parser.add_argument("--verbose", action="store_true", help="print what fits as well")
    options = parser.parse_args()
    try:
        root = options.sources or fetch(options.version, CACHE)
    except NoWheelError as error:
        print(error, file=sys.stderr)
        return 2
    findings = list(check(Sources(root)))
    wrong = [finding for finding in findings if finding.trouble]
    for finding in findings if options.verbose else wrong:
        print(f"{'WRONG' if finding.trouble else 'fits '}  {finding.what}  {finding.trouble}")
    print(f"vLLM {options.version}: {len(findings)} facts, {len(wrong)} do not hold")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
