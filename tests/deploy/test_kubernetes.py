"""The page on Kubernetes shows what a cluster can read, with settings and flags that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from enforcer.schema.bundling import read_documents
from enforcer.turn import dialects
from enforcer.vllm import names, settings
from tests.snippets import blocks

PAGE = Path(__file__).parents[2] / "docs/production/kubernetes.md"
(TEXT,) = blocks(PAGE, "yaml")
OBJECTS: dict[str, dict[str, Any]] = {one["kind"]: one for one in yaml.safe_load_all(TEXT)}
POD = OBJECTS["Deployment"]["spec"]["template"]
(CONTAINER,) = POD["spec"]["containers"]
ENVIRONMENT = {one["name"]: one["value"] for one in CONTAINER["env"]}


def test_the_settings_are_ones() -> None:
    chosen = settings.read(ENVIRONMENT)
    assert chosen.changed() == {"documents": "/etc/schemas"}
    assert names.is_enforced(_flag("--tool-call-parser"))
    assert names.stock(_flag("--tool-call-parser")) in dialects.parsers()


def test_what_is_stopped_has_time_to_finish() -> None:
    assert POD["spec"]["terminationGracePeriodSeconds"] > int(_flag("--shutdown-timeout"))


def test_what_is_mounted_is_there_and_what_is_written_is_mounted() -> None:
    volumes = {one["name"] for one in POD["spec"]["volumes"]}
    mounted = {one["mountPath"]: one["name"] for one in CONTAINER["volumeMounts"]}
    assert set(mounted.values()) == volumes
    assert {ENVIRONMENT[name] for name in ("TMPDIR", "HF_HOME", "ENFORCER_DOCUMENTS")} < set(
        mounted
    )


def test_the_names_agree() -> None:
    labels = POD["metadata"]["labels"]
    assert OBJECTS["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert OBJECTS["Service"]["spec"]["selector"] == labels
    ports = {one["name"] for one in CONTAINER["ports"]}
    probes = [CONTAINER[f"{kind}Probe"]["httpGet"] for kind in ("startup", "readiness", "liveness")]
    assert {probe["port"] for probe in probes} <= ports
    assert {one["targetPort"] for one in OBJECTS["Service"]["spec"]["ports"]} <= ports
    (volume,) = (one for one in POD["spec"]["volumes"] if "configMap" in one)
    assert volume["configMap"]["name"] == OBJECTS["ConfigMap"]["metadata"]["name"]


def test_the_documents_can_be_read(tmp_path: Path) -> None:
    for name, text in OBJECTS["ConfigMap"]["data"].items():
        (tmp_path / name).write_text(text)
    assert len(read_documents([str(tmp_path)])) == 1


def test_the_variables_that_the_page_speaks_of_exist() -> None:
    known = {f"{settings.PREFIX}{name.upper()}" for name in settings.Settings.__slots__}
    spoken = set(re.findall(r"ENFORCER_[A-Z_]+", PAGE.read_text()))
    assert spoken <= known | settings.OTHERS


def _flag(name: str) -> str:
    (value,) = (arg.partition("=")[2] for arg in CONTAINER["args"] if arg.startswith(f"{name}="))
    return str(value)
