"""What is in the wheel, what it needs, and what importing it loads."""

import os
import re
import shlex
import shutil
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from tests import processes
from tests.snippets import PAGES
from tests.support import wheel as wheel_command

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
HEAVY = ("torch", "vllm", "transformers", "xgrammar", "outlines_core")

# A vocabulary of the 256 bytes and the dialect's markers, and a call spelled byte by byte.
USE = """
import enforcer
markers = ["<|im_end|>", "<|im_assistant|>", "<|im_middle|>", "<|tool_calls_section_begin|>",
           "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>",
           "<|tool_calls_section_end|>"]
ids = {name: 256 + n for n, name in enumerate(markers)}
vocabulary = enforcer.Vocabulary([bytes([n]) for n in range(256)] + [b""] * len(ids), ids)
schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
tools = [{"type": "function", "function": {"name": "weather", "parameters": schema}}]
def turn(name, arguments):
    return [ids[markers[3]], ids[markers[4]], *f"functions.{name}:0".encode(), ids[markers[5]],
            *arguments.encode(), ids[markers[6]], ids[markers[7]], ids[markers[0]]]
matcher = enforcer.Enforcer(vocabulary).matcher(tools)
good = turn("weather", '{"city": "Oslo"}')
assert matcher.validate(good) == len(good), "a valid call is blocked"
assert matcher.validate(turn("img_gen", "{}")) == 2 + len("functions."), "undeclared"
assert matcher.validate(turn("weather", "{}")) < len(turn("weather", "{}")), "off schema"
from enforcer.machine.compiled import require_compiled
require_compiled()
"""


def python(interpreter: str, *arguments: str, cwd: Path) -> CompletedProcess[str]:
    """Run an interpreter that sees neither the repository nor this process's settings.

    Nothing that is compiled is measured here: without optimizations it takes a third of the time.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    kept = {"CFLAGS": "-O0 -g0", **kept}
    return processes.run(interpreter, *arguments, cwd=cwd, env=kept)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ("--no-deps", "--no-build-isolation", "--wheel-dir", str(folder))
    built = python(sys.executable, "-m", "pip", "wheel", *options, str(ROOT), cwd=folder)
    assert built.returncode == 0, built.stderr
    [path] = folder.glob("kimi_enforcer-*.whl")
    return path


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    options = ("-t", "sdist", "-d", str(folder))
    built = python(sys.executable, "-m", "hatchling", "build", *options, cwd=ROOT)
    assert built.returncode == 0, built.stderr
    [path] = folder.glob("kimi_enforcer-*.tar.gz")
    return path


@pytest.mark.slow
def test_source_distribution_has_the_same_wheel(source: Path, wheel: Path, tmp_path: Path) -> None:
    options = ("--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path))
    built = python(sys.executable, "-m", "pip", "wheel", *options, str(source), cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    archive, expected = zipfile.ZipFile(tmp_path / wheel.name), zipfile.ZipFile(wheel)
    assert sorted(archive.namelist()) == sorted(expected.namelist())
    for name in expected.namelist():
        assert archive.read(name) == expected.read(name), name


def test_source_distribution_has_the_package_and_little_else(source: Path) -> None:
    with tarfile.open(source) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {name.split("/")[0] for name in names} == {
        *("enforcer", "grammars", "pyproject.toml", "PKG-INFO"),
        *("README.md", "LICENSE", "CHANGELOG.md", ".gitignore", "hatch_build.py"),
    }
    assert not [name for name in names if name.endswith(".so")]


@pytest.mark.slow
def test_wheel_has_the_dialects_the_types_and_the_licence(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    grammars = sorted(path.name for path in (ROOT / "grammars").glob("*.toml"))
    assert "kimi_k2.toml" in grammars
    assert {f"enforcer/grammars/{name}" for name in grammars} <= names
    assert "enforcer/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_wheel_has_every_module_and_nothing_else(wheel: Path) -> None:
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")}
    assert packed == {str(path.relative_to(ROOT)) for path in (ROOT / "enforcer").rglob("*.py")}


@pytest.mark.slow
def test_wheel_has_the_compiled_modules_for_every_python_from_3_11_on(wheel: Path) -> None:
    assert re.fullmatch(r"kimi_enforcer-[^-]+-cp311-abi3-linux_\w+\.whl", wheel.name)
    compiled = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".so")]
    assert compiled == ["enforcer/kernel/native.abi3.so"]


@pytest.mark.slow
def test_wheel_announces_the_plugin(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    [points] = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
    assert "[vllm.general_plugins]\nenforcer = enforcer.vllm:register" in (
        archive.read(points).decode()
    )


@pytest.mark.slow
def test_what_has_changed_is_compiled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "enforcer", tmp_path / "enforcer")
    shutil.copy(ROOT / "hatch_build.py", tmp_path)
    with (tmp_path / "enforcer/kernel/walk.py").open("a") as source:
        source.write("\n# another line\n")
    use = ("-c", "from enforcer.machine.compiled import require_compiled; require_compiled()")
    monkeypatch.setenv("CC", "no-such-compiler")
    failed = python(sys.executable, "hatch_build.py", cwd=tmp_path)
    assert failed.returncode != 0
    assert "A C compiler and Python's headers are needed" in failed.stderr
    assert "other sources" in python(sys.executable, *use, cwd=tmp_path).stderr
    monkeypatch.delenv("CC")
    for _ in range(2):
        done = python(sys.executable, "hatch_build.py", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        monkeypatch.setenv("CC", "no-such-compiler")  # the second time there is nothing to do
    used = python(sys.executable, *use, cwd=tmp_path)
    assert used.returncode == 0, used.stderr


def test_the_core_depends_on_no_host() -> None:
    core = " ".join(PYPROJECT["project"]["dependencies"])
    assert not [name for name in HEAVY if name.replace("_", "-") in core]


def test_importing_the_core_loads_no_host(tmp_path: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import enforcer; print(*sys.modules)"
    done = python(sys.executable, "-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not set(HEAVY) & set(done.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize("built", ["wheel", "source"])
def test_builds_work_standalone(built: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    file: Path = request.getfixturevalue(built)
    venv.create(tmp_path / "bare", with_pip=True)
    bare = str(tmp_path / "bare" / "bin" / "python")
    quiet = ("-m", "pip", "install", "-qq", "--disable-pip-version-check")
    # Of the source distribution pip makes a wheel first, in an environment of its own.
    backend = PYPROJECT["build-system"]["requires"] if built == "source" else []
    wanted = (*PYPROJECT["project"]["dependencies"], *backend)
    needed = python(bare, *quiet, *wanted, cwd=tmp_path)
    if needed.returncode != 0 and "CI" not in os.environ:
        pytest.skip(f"the core's dependencies cannot be had: {needed.stderr[-500:]}")
    if backend:
        names = [re.match(r"[\w-]+", each)[0] for each in backend]
        removed = python(bare, "-m", "pip", "uninstall", "-qq", "-y", *names, cwd=tmp_path)
        assert removed.returncode == 0, removed.stderr
    installed = python(bare, *quiet, str(file), cwd=tmp_path)
    assert installed.returncode == 0, needed.stderr + installed.stderr
    used = python(bare, "-c", USE, cwd=tmp_path)
    assert used.returncode == 0, used.stderr
    said = python(bare, "-m", "enforcer", "--version", cwd=tmp_path)
    assert said.stdout == f"enforcer {PYPROJECT['project']['version']}\n", said.stderr


def test_the_readme_has_the_commands_and_no_dead_link() -> None:
    readme = (ROOT / "README.md").read_text()
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    commands = re.findall(r"^make ([\w-]+)", readme, re.MULTILINE)
    assert commands == ["demo", "test"]  # one that does all, one that tests it
    assert set(re.findall(r"`make ([\w-]+)", readme)) | {"test"} <= set(targets)
    assert "make test" in (ROOT / ".ci" / "run").read_text()
    links = [link for link in re.findall(r"\]\(([^)]+)\)", readme) if "://" not in link]
    assert links
    assert not [link for link in links if not (ROOT / link.partition("#")[0]).exists()]


def test_pages_install_what_can_be_had() -> None:
    """Nothing is published yet: from a checkout, or from what was built in it."""
    # Another environment's pip, which has a path, installs what others publish.
    own = re.compile(r"(?<!/)pip install ([^`#\n]+)")
    lines = [line for page in PAGES for line in own.findall(page.read_text())]
    assert len(lines) > 4
    for line in lines:
        words = shlex.split(line)
        if words[0] == "--group":
            assert words[1] in PYPROJECT["dependency-groups"]
            continue
        # A version of vLLM's may stand behind it, or of the engine that a server has.
        *_, what = (word for word in words if not word.startswith(("vllm==", "llguidance==")))
        where, extras = re.fullmatch(r"(\.|dist/\*\.whl)(?:\[([\w,]+)\])?", what).groups()
        assert where
        named = set(extras.split(",")) if extras else set()
        assert named <= set(PYPROJECT["project"]["optional-dependencies"])


RELEASE = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())


def _step(job: str, name: str, cwd: Path, **variables: Any) -> CompletedProcess[str]:
    (script,) = [step["run"] for step in RELEASE["jobs"][job]["steps"] if step.get("name") == name]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return processes.run("bash", "-e", "-c", script, cwd=cwd, env={"PATH": path, **variables})


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def test_the_release_refuses_a_tag_that_is_not_the_version(checkout: Path) -> None:
    name, version = "The tag is the version, and the changelog knows it", "9.8.7"
    text = (checkout / "pyproject.toml").read_text()
    now = PYPROJECT["project"]["version"]
    (checkout / "pyproject.toml").write_text(text.replace(f'"{now}"', f'"{version}"', 1))
    assert "tag" in _step("check", name, checkout, GITHUB_REF_NAME="v9.8.6").stderr
    assert "CHANGELOG" in _step("check", name, checkout, GITHUB_REF_NAME="v9.8.7").stderr
    (checkout / "CHANGELOG.md").write_text(f"# Changelog\n\n## {version}\n")
    done = _step("check", name, checkout, GITHUB_REF_NAME="v9.8.7")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_release_builds_a_wheel_for_each_kind_of_processor_and_tests_it() -> None:
    build = RELEASE["jobs"]["build"]
    assert build["strategy"]["matrix"]["runner"] == ["ubuntu-24.04", "ubuntu-24.04-arm"]
    commands = [step.get("run", "").split("  #")[0] for step in build["steps"]]
    assert "python -m cibuildwheel --output-dir dist" in commands
    given = PYPROJECT["tool"]["cibuildwheel"]
    listed = [line.rsplit(" ", 1)[1] for line in PYPROJECT["project"]["classifiers"]]
    versions = [f"cp{version.replace('.', '')}" for version in listed if version.startswith("3.")]
    assert given["build"] == [f"{version}-manylinux_*" for version in versions]
    assert set(given["test-groups"]) <= set(PYPROJECT["dependency-groups"])
    assert set(given["test-sources"]) == set(wheel_command.NEEDED)


def test_the_image_compiles_the_wheel_and_asks_whether_it_is() -> None:
    stages = (ROOT / "deploy/Dockerfile").read_text().split("\nFROM ")
    [compiling] = [stage for stage in stages if " AS wheel\n" in stage]
    [serving] = [stage for stage in stages if " AS gpu\n" in stage]
    assert compiling.index("install -y --no-install-recommends gcc") < compiling.index("pip wheel")
    [code] = re.findall(r'python3 -c "(.+)"', serving)
    exec(code)  # noqa: S102 - that the function is there, and that this checkout is compiled


def test_the_release_writes_links_to_its_own_repository(checkout: Path) -> None:
    given = {
        "GITHUB_SERVER_URL": "https://git.example",
        "GITHUB_REPOSITORY": "us/it",
        "GITHUB_REF_NAME": "v1.0.0",
    }
    done = _step("build", "Project links, to the repository that this runs in", checkout, **given)
    assert done.returncode == 0, done.stderr
    written = tomllib.loads((checkout / "pyproject.toml").read_text())
    assert written["project"]["urls"]["Changelog"].endswith("us/it/blob/v1.0.0/CHANGELOG.md")
    assert written["project"]["urls"]["Source"] == "https://git.example/us/it"
    assert written["project"]["dependencies"] == PYPROJECT["project"]["dependencies"]


def test_each_version_has_its_site_beside_the_earlier_ones(tmp_path: Path) -> None:
    """In a repository of its own, with a folder in the place of what the generator builds."""

    def git(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
        return processes.run("git", *who, *words, cwd=tmp_path, check=True).stdout

    git("init", "-q", "--bare", "origin")
    for version in ("1.0.0", "1.1.0"):
        git("clone", "-q", "origin", version)
        own = tmp_path / version
        (own / "README.md").write_text(version)
        git("-C", version, "add", "README.md")
        git("-C", version, "commit", "-qm", version)
        git("-C", version, "push", "-q", "origin", "HEAD:main")
        names = ("The sites of earlier versions, if there are any", "Publish the site")
        before = _step("site", names[0], own)
        assert before.returncode == 0, before.stderr
        assert not (own / "site" / "README.md").exists()
        (own / "site" / version).mkdir()
        (own / "site" / version / "index.html").write_text(version)
        done = _step("site", names[1], own, GITHUB_REF_NAME=f"v{version}")
        assert done.returncode == 0, done.stderr
    listed = git("-C", "origin", "ls-tree", "-r", "--name-only", "gh-pages").split()
    assert listed == [".nojekyll", "1.0.0/index.html", "1.1.0/index.html"]


def test_the_release_needs_what_the_readme_asks_for_and_builds_the_site() -> None:
    def steps(job: str) -> str:
        return "\n".join(step.get("run", "") for step in RELEASE["jobs"][job]["steps"])

    asked = re.search(r"Debian's `(\w+)`", (ROOT / "README.md").read_text())[1]
    assert f"install --yes {asked}" in steps("test")
    assert "make docs" in steps("build")
    assert 'make docs VERSION="${GITHUB_REF_NAME#v}"' in steps("site")


def test_only_the_last_job_of_the_release_may_publish() -> None:
    jobs = RELEASE["jobs"]
    trusted = [name for name, job in jobs.items() if "id-token" in job.get("permissions", {})]
    assert trusted == ["publish"]
    assert set(jobs["publish"]["needs"]) == {"test", "build"}
    may_write = [name for name, job in jobs.items() if "contents" in job.get("permissions", {})]
    assert may_write == ["site"]
    assert jobs["site"]["needs"] == "publish"
    assert RELEASE["permissions"] == {"contents": "read"}
    # YAML 1.1 reads the key `on` as true.
    assert RELEASE[True] == {"push": {"tags": ["v*"]}}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def test_the_version_stands_in_one_place() -> None:
    version = PYPROJECT["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text()
    released = re.findall(r"^## (\d\S*)", changelog, re.MULTILINE)
    # After a release the version is the next one's, with `.dev0`: what is not released has another.
    coming, dev, _ = version.partition(".dev")
    assert dev == ("" if coming in released else ".dev")
    assert ("\n## Unreleased\n" in changelog) is bool(dev)
    if dev:
        assert _numbers(coming) > _numbers(released[0])
    assert not [path for path in (ROOT / "enforcer").rglob("*.py") if version in path.read_text()]
