"""The page on Kubernetes shows what a cluster can read, with settings and flags that exist.

Its arguments are read by vLLM's own parser in `vllm/test_commands.py`, its commands looked at in
`test_orders.py`.
"""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from enforcer.checking import pool, worker
from enforcer.checking.work import LEVELS
from enforcer.schema.bundling import read_documents
from enforcer.tools import cli
from enforcer.turn import dialects
from enforcer.vllm.config import names, settings
from tests.snippets import ROOT, blocks

PAGE = ROOT / "docs/production/kubernetes.md"
OBJECTS: dict[str, dict[str, Any]] = {
    one["kind"]: one for text in blocks(PAGE, "yaml") for one in yaml.safe_load_all(text)
}
POD = OBJECTS["Deployment"]["spec"]["template"]
(CONTAINER,) = POD["spec"]["containers"]
ENVIRONMENT = {one["name"]: one["value"] for one in CONTAINER["env"]}


def test_the_settings_are_ones() -> None:
    assert settings.read(ENVIRONMENT).changed == {"documents": "/etc/schemas"}
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


def test_the_doctor_asks_the_service(calls_of: Callable[..., list[Any]]) -> None:
    (doctor,) = OBJECTS["Job"]["spec"]["template"]["spec"]["containers"]
    assert doctor["image"] == CONTAINER["image"]
    service = OBJECTS["Service"]
    (port,) = service["spec"]["ports"]
    asked = calls_of(cli.doctor, "run", lambda _: 0)
    program, *command = doctor["command"]
    assert (program, cli.main([*command, *doctor["args"]])) == ("enforcer", 0)
    ((options,),) = asked
    assert options.url == f"http://{service['metadata']['name']}:{port['port']}"
    assert options.require_all


def test_the_monitor_finds_the_pods_and_calls_them_as_the_alerts_do() -> None:
    monitor = OBJECTS["PodMonitor"]["spec"]
    assert monitor["selector"]["matchLabels"] == POD["metadata"]["labels"]
    (endpoint,) = monitor["podMetricsEndpoints"]
    assert endpoint["port"] in {one["name"] for one in CONTAINER["ports"]}
    (job,) = (one["replacement"] for one in endpoint["relabelings"] if one["targetLabel"] == "job")
    assert f'up{{job="{job}"}}' in (ROOT / "deploy/prometheus/rules.yml").read_text()


def test_the_rules_become_a_resource(tmp_path: Path) -> None:
    (block,) = (block for block in blocks(PAGE, "sh") if "PrometheusRule" in block)
    shell = shutil.which("sh")
    making = block.partition("kubectl")[0].replace("> prom", f"> {tmp_path}/prom")
    subprocess.run([shell, "-c", making], cwd=ROOT, check=True)
    made = yaml.safe_load((tmp_path / "prometheusrule.yaml").read_text())
    assert made["kind"] == "PrometheusRule"
    assert made["spec"] == yaml.safe_load((ROOT / "deploy/prometheus/rules.yml").read_text())


def _gib(quantity: str) -> int:
    (number,) = re.fullmatch(r"(\d+)Gi", quantity).groups()
    return int(number)


def test_the_limit_on_memory_is_what_the_code_may_take() -> None:
    page = (ROOT / "docs/production/capacity.md").read_text()
    table = page.split("<!-- memory:")[1].split("\n\n")[0]
    sums = [float(cell) for cell in re.findall(r"([\d.]+) GiB", table.splitlines()[-1])]
    source = (ROOT / "enforcer/vllm/engine/compile_executor.py").read_text()
    threads = re.search(r"^_LONG = (\d+)", source, re.MULTILINE)
    one = worker._MEMORY / 2**30
    in_a_front = (pool._MOST_FIRST + len(LEVELS) - 1) * one
    in_an_engine = (int(threads[1]) + 1) * one  # and the thread for what is short
    kept = settings.Settings().cache_mib / 2**10
    assert sums == [fronts * in_a_front + in_an_engine + (fronts + 1) * kept for fronts in (1, 4)]
    resources = CONTAINER["resources"]
    assert _gib(resources["requests"]["memory"]) + sums[0] < _gib(resources["limits"]["memory"])
    assert f"[{sums[0]} GiB for the Enforcer]" in PAGE.read_text()


def test_the_documents_can_be_read(tmp_path: Path) -> None:
    for name, text in OBJECTS["ConfigMap"]["data"].items():
        (tmp_path / name).write_text(text)
    assert len(read_documents([str(tmp_path)])) == 1


def test_the_variables_that_the_page_speaks_of_exist() -> None:
    known = set(settings.VARIABLES)
    assert set(re.findall(r"ENFORCER_[A-Z_]+", PAGE.read_text())) <= known | settings.OTHERS


def _flag(name: str) -> str:
    (value,) = (arg.partition("=")[2] for arg in CONTAINER["args"] if arg.startswith(f"{name}="))
    return str(value)
