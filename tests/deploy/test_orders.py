"""What the pages have an operator type on a cluster: names, resources and patches that exist.

Owns: `kubectl` lines, and what runs inside containers. Where `kubectl` is installed it applies
patches to the Deployment as it stands on its page, without a server.
"""

import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from enforcer.tools import cli
from enforcer.vllm.config import names, settings
from tests import processes
from tests.snippets import ROOT, Command, blocks, commands, every

RUNBOOK = ROOT / "docs/production/runbook.md"
PATCHES = ROOT / "deploy/kubernetes"
OUT = ROOT / "docs/production/removal.md"
OBJECTS: dict[str, dict[str, Any]] = {
    one["kind"]: one
    for text in blocks(ROOT / "docs/production/kubernetes.md", "yaml")
    for one in yaml.safe_load_all(text)
}
KINDS = {"deploy": "Deployment", "deployment": "Deployment", "job": "Job"}
VERBS = {
    *("apply", "delete", "describe", "exec", "get", "logs", "patch", "rollout", "set", "top"),
    *("wait",),
}
NAMED = re.compile(r"(?<!=)\b(deploy|deployment|job)[/ ](?!=)([a-z][\w-]*)")


def _lines() -> Iterator[Any]:
    for line in dict.fromkeys(each.line for each in commands(every())):
        if "kubectl " in line or "docker compose" in line:
            yield pytest.param(line, id=line[:60])


LINES = list(_lines())
FILES = [
    each
    for each in commands(every())
    if each.words[:1] == ("kubectl",) and re.search(r" -f |--patch-file", " ".join(each.words))
]


@pytest.mark.parametrize("line", LINES)
def test_what_is_named_is_there(line: str) -> None:
    assert set(re.findall(r"kubectl ([a-z]+)", line)) <= VERBS
    for kind, name in NAMED.findall(line.partition(" -- ")[0]):
        assert OBJECTS[KINDS[kind]]["metadata"]["name"] == name
    for label, value in re.findall(r"-l (\w+)=(\w+)", line):
        labels = OBJECTS["Deployment"]["spec"]["template"]["metadata"]["labels"]
        assert labels[label] == value


@pytest.mark.parametrize("line", [one for one in LINES if "enforcer doctor" in one.values[0]])
def test_what_runs_in_a_container_is_a_command(
    line: str, calls_of: Callable[..., list[Any]]
) -> None:
    asked = calls_of(cli.doctor, "run", lambda _: 0)
    (words,) = re.findall(r"enforcer (doctor.*?)(?:;|$)", line)
    assert cli.main(shlex.split(words)) == 0
    assert asked


@pytest.mark.parametrize("line", [one for one in LINES if " ps " in one.values[0]])
def test_processes_are_listed_by_their_memory(line: str) -> None:
    if shutil.which("ps") is None:
        pytest.skip("no ps")
    (words,) = re.findall(r" (ps .*)", line)
    done = processes.run(*shlex.split(words), check=True)
    head, *rows = (row.split() for row in done.stdout.splitlines())
    sizes = [int(row[head.index("RSS")]) for row in rows]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("command", FILES, ids=str)
def test_a_file_that_is_handed_over_is_shown_or_made(command: Command) -> None:
    block = command.block
    files = re.findall(r"(?: -f|--patch-file)[ =](\S+)", " ".join(command.words))
    before = (ROOT / block.page).read_text().split(block.text)[0]
    assert files
    for file in files:
        is_shown = f"`{file}`, " in before or f"> {file}\n" in block.text
        assert is_shown or (ROOT / file).is_file() or (file == "-" and "| kubectl" in command.line)


def _patched(document: dict[str, Any], patch: list[dict[str, Any]]) -> dict[str, Any]:
    """Apply a patch (RFC 6902), as far as these go."""
    found = deepcopy(document)
    for step in patch:
        *way, last = step["path"].split("/")[1:]
        at: Any = found
        for key in way:
            at = at[int(key)] if isinstance(at, list) else at[key]
        if step["op"] == "add":
            assert last == "-"
            at.append(step["value"])
            continue
        place = int(last) if isinstance(at, list) else last
        if step["op"] == "test":
            assert at[place] == step["value"]
        else:
            assert step["op"] == "replace"
            at[place] = step["value"]
    return found


def _is_out(deployment: dict[str, Any]) -> None:
    """See that a Deployment has neither plugin nor parser of ours."""
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    (before,) = OBJECTS["Deployment"]["spec"]["template"]["spec"]["containers"]
    flag = "--tool-call-parser="
    (parser,) = (arg.removeprefix(flag) for arg in container["args"] if arg.startswith(flag))
    assert not names.is_enforced(parser)
    assert f"{flag}{names.enforced(parser)}" in before["args"]
    assert len(container["args"]) == len(before["args"])
    added = [one for one in container["env"] if one not in before["env"]]
    assert [(one["name"], one.get("value", "")) for one in added] == [("VLLM_PLUGINS", "")]


def _is_in_shadow_mode(deployment: dict[str, Any]) -> None:
    chosen, parser = _stage(deployment)
    assert chosen.changed == {"documents": "/etc/schemas", "shadow": "on"}
    assert not names.is_enforced(parser)
    assert names.enforced(parser) == _stage(OBJECTS["Deployment"])[1]


def _isolates(deployment: dict[str, Any]) -> None:
    chosen, parser = _stage(deployment)
    assert chosen.changed == {"documents": "/etc/schemas", "on_unsupported": "isolate"}
    assert parser == _stage(OBJECTS["Deployment"])[1]


def _stage(deployment: dict[str, Any]) -> tuple[settings.Settings, str]:
    """Return a Deployment's settings, in which its server starts, and its parser."""
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    environment = {one["name"]: one.get("value", "") for one in container["env"]}
    (before,) = OBJECTS["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert len(container["args"]) == len(before["args"])
    assert len(container["env"]) == len(before["env"])
    flag = "--tool-call-parser="
    (parser,) = (arg.removeprefix(flag) for arg in container["args"] if arg.startswith(flag))
    return settings.read(environment), parser


STAGES = {"off": _is_out, "shadow": _is_in_shadow_mode, "isolate": _isolates}


def test_every_patch_is_tested() -> None:
    assert {file.stem for file in PATCHES.iterdir()} == STAGES.keys()


@pytest.mark.parametrize("stage", STAGES)
def test_a_patch_makes_its_stage(stage: str) -> None:
    patch = json.loads((PATCHES / f"{stage}.json").read_text())
    STAGES[stage](_patched(OBJECTS["Deployment"], patch))


def test_the_page_names_what_each_stage_changes() -> None:
    page = (ROOT / "docs/production/kubernetes.md").read_text()
    rows = re.findall(
        r"^\| \S+ \| (?:`(\w+)\.json`|none) \| `(\w+)` \| [^|]*?`(\w+)=(\w*)`", page, re.MULTILINE
    )
    assert {patch for patch, *_ in rows} - {""} == STAGES.keys()
    for patch, parser, name, value in rows:
        if patch:
            text = (PATCHES / f"{patch}.json").read_text()
            assert f"--tool-call-parser={parser}" in text
            assert f'"{value}"' in text
            assert name in text


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.parametrize("stage", STAGES)
def test_kubectl_applies_it(stage: str, tmp_path: Path) -> None:
    (tmp_path / "deployment.yaml").write_text(yaml.safe_dump(OBJECTS["Deployment"]))
    (line,) = (one.values[0] for one in LINES if "patch --local" in one.values[0])
    words = shlex.split(line.partition("|")[0].replace("/shadow.json", f"/{stage}.json"))
    words = [word.replace("=deploy/", f"={ROOT}/deploy/") for word in words]
    STAGES[stage](yaml.safe_load(processes.run(*words, cwd=tmp_path, check=True).stdout))


def test_it_is_taken_out_by_the_same_patch() -> None:
    (line,) = (one.values[0] for one in LINES if one.values[0].startswith("kubectl patch deploy"))
    words = shlex.split(line)
    assert words[2:5] == ["deployment", "kimi", "--type=json"]
    assert words[5:] == ["--patch-file=deploy/kubernetes/off.json"]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_sets_the_image(tmp_path: Path) -> None:
    old = deepcopy(OBJECTS["Deployment"])
    old["spec"]["template"]["spec"]["containers"][0]["image"] += "-old"
    (tmp_path / "kimi.yaml").write_text(yaml.safe_dump(old))
    (line,) = (one.values[0] for one in LINES if one.values[0].startswith("kubectl set image "))
    *words, target, image = shlex.split(line)
    assert target == "deployment/kimi"
    done = processes.run(
        *words, "--local", "-f", "kimi.yaml", image, "-o", "yaml", cwd=tmp_path, check=True
    )
    (container,) = yaml.safe_load(done.stdout)["spec"]["template"]["spec"]["containers"]
    (shown,) = OBJECTS["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == image.partition("=")[2] == shown["image"]


def test_compose_takes_plugin_and_parser_out() -> None:
    (line,) = (one.values[0] for one in LINES if "VLLM_PLUGINS= " in one.values[0])
    given = dict(re.findall(r"([A-Z_]+)=(\S*) ", line.partition("docker")[0]))
    assert not names.is_enforced(given["TOOL_CALL_PARSER"])
    text = (ROOT / "deploy/compose.yaml").read_text()
    service = yaml.safe_load(text)["services"]["vllm-gpu"]
    assert service["environment"]["VLLM_PLUGINS"] is None  # as it is given
    assert any("${TOOL_CALL_PARSER:-" in word for word in service["command"])


def test_the_switch_is_a_word_that_requests_may_have() -> None:
    (body,) = (json.loads(one) for one in blocks(OUT, "json") if one.startswith("{"))
    (gateway,) = (yaml.safe_load(one) for one in blocks(OUT, "yaml"))
    (model,) = gateway["model_list"]
    word = body["vllm_xargs"]["enforcer"]
    assert model["litellm_params"]["extra_body"] == {"vllm_xargs": {"enforcer": word}}
    assert settings.read({"ENFORCER_ALLOW_CLIENT": word}).allow_client == {word}
    assert body["model"] == model["model_name"]


def test_the_limits_that_the_runbook_names_are_ones() -> None:
    said = RUNBOOK.read_text().split("### Slow masks")[1].split("\n## ")[0]
    (first,) = re.findall(r"`ENFORCER_LIMITS=(\S+)`", said)
    others = re.findall(r"`((?:properties|enum)=\d+)`", said)
    chosen = settings.read({"ENFORCER_LIMITS": ",".join([first, *others])}).options.limits
    default = settings.read({}).options.limits
    assert chosen.regex_growth < default.regex_growth == 20_000
    assert chosen.properties < default.properties
    assert chosen.enum < default.enum
