"""The dashboard and the alert rules show metrics that exist, by labels and values that exist."""

import importlib.util
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from enforcer.vllm.config import settings as settings_of
from enforcer.vllm.observe import metric_defs
from tests import processes
from tests.promql import Selector, grouped_by, selectors
from tests.shown import PROCESS, SHOWN
from tests.snippets import blocks, commands, every
from tests.support.cases import parametrized

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana/dashboards/enforcer.json").read_text())
RULES = yaml.safe_load((DEPLOY / "prometheus/rules.yml").read_text())
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
TARGETS = [(panel["title"], target) for panel in PANELS for target in panel["targets"]]
ADDED = {"job", "instance"}  # by whoever scrapes
RUNBOOK = "https://docs.example.com/kimi-enforcer/"


def _vllm(name: str) -> bool:
    """Tell whether vLLM shows a metric, by its sources; it is not imported."""
    spec = importlib.util.find_spec("vllm")
    if spec is None:
        pytest.skip("vLLM is not installed")
    loggers = Path(spec.origin).parent / "v1/metrics/loggers.py"
    plain = re.sub(r"_(bucket|sum|count|total)$", "", name)
    return f'"{plain}"' in loggers.read_text()


def _faults(selector: Selector) -> list[str]:
    """Say what of a selector no server shows."""
    if selector.metric in {"up", "ALERTS"}:
        return []
    if selector.metric in PROCESS:
        return []
    if selector.metric.startswith("vllm:"):
        return [] if _vllm(selector.metric) else [selector.metric]
    if selector.metric not in SHOWN:
        return [selector.metric]
    labels = SHOWN[selector.metric]
    faults = []
    for label, operator, value in selector.matchers:
        if label in ADDED:
            continue
        asked = value.split("|") if operator in {"=~", "!~"} else [value]
        faults += [f"{label}={one}" for one in asked if one not in labels.get(label, ())]
    return faults


@pytest.mark.parametrize(
    ("selector", "faults"),
    [
        (Selector("enforcer_calls_total", (("outcome", "=", "dropped"),)), []),
        (Selector("enforcer_calls_total", (("outcome", "=~", "dropped|lost"),)), ["outcome=lost"]),
        (Selector("enforcer_calls_total", (("reason", "=", "start"),)), ["reason=start"]),
        (Selector("enforcer_calls", ()), ["enforcer_calls"]),
        (Selector("vllm:num_requests_running", ()), []),
        (Selector("vllm:num_requests_dancing", ()), ["vllm:num_requests_dancing"]),
    ],
)
def test_what_is_not_shown_is_noticed(selector: Selector, faults: list[str]) -> None:
    assert _faults(selector) == faults


def test_expressions_are_read() -> None:
    text = 'sum by (job, le) (rate(a_bucket{x="y", z=~"$job"}[5m])) > 0.5 unless on (k) c:d'
    assert selectors(text) == [
        Selector("a_bucket", (("x", "=", "y"), ("z", "=~", "$job"))),
        Selector("c:d", ()),
    ]
    assert grouped_by(text) == {"job", "le", "k"}


def _check(expression: str, legend: str = "") -> None:
    read = selectors(expression)
    assert read
    assert not [fault for selector in read for fault in _faults(selector)]
    known = ADDED.union(*(SHOWN.get(selector.metric, {"le": ()}) for selector in read))
    assert grouped_by(expression) <= known
    assert set(re.findall(r"{{(\w+)}}", legend)) <= grouped_by(expression)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_an_alert_reads_what_is_shown(alert: dict[str, Any]) -> None:
    _check(alert["expr"])
    assert alert["labels"]["severity"] in {"critical", "warning", "info"}
    assert set(alert["annotations"]) == {"summary", "description", "runbook_url"}


def test_the_library_shows_these_of_a_process() -> None:
    client = pytest.importorskip("prometheus_client")
    assert {family.name for family in client.ProcessCollector(registry=None).collect()} >= PROCESS


def _expressions() -> list[str]:
    pages = ("production/monitoring.md", "vllm/rolling-out.md")
    (of_all,), (of_shadow,) = (blocks(ROOT / "docs" / page, "promql") for page in pages)
    lines = [*of_all.splitlines(), *of_shadow.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("expression", _expressions())
def test_what_the_page_asks_reads_what_is_shown(expression: str) -> None:
    _check(expression)


@pytest.mark.parametrize(("title", "target"), TARGETS, ids=lambda value: str(value)[:40])
def test_a_panel_reads_what_is_shown(title: str, target: dict[str, Any]) -> None:
    assert title
    _check(target["expr"], target["legendFormat"])


def test_a_variable_reads_what_is_shown() -> None:
    queries = [v["definition"] for v in DASHBOARD["templating"]["list"] if v["type"] == "query"]
    assert len(queries) == 2
    for query in queries:
        inner, label = re.fullmatch(r"label_values\((.*), (\w+)\)", query).groups()
        assert label in ADDED
        # Not one of ours: a server without the plugin has to be in the list.
        (selector,) = selectors(inner)
        assert selector.metric.startswith("vllm:")
        assert not _faults(selector)


def test_the_dashboard_leaves_no_family_out() -> None:
    read = {s.metric for _, target in TARGETS for s in selectors(target["expr"])}
    names = {re.sub(r"_(bucket|sum|count)$", "", name) for name in read}
    plain = {re.sub(r"_(bucket|sum|count)$", "", name) for name in SHOWN}
    assert plain <= names


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    taken: set[Any] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not taken & cells
        taken |= cells


@pytest.mark.parametrize(
    "tile", [p for p in PANELS if p["type"] == "stat"], ids=lambda p: p["title"]
)
def test_a_tile_without_data_is_not_green(tile: dict[str, Any]) -> None:
    defaults = tile["fieldConfig"]["defaults"]
    assert "noValue" not in defaults  # it is drawn in the colour of 0
    mapped = {each["options"]["match"]: each["options"]["result"] for each in defaults["mappings"]}
    assert mapped["null"]["color"].startswith("#")


@parametrized("deploy/cases/monitoring.toml", "lines")
def test_a_line_is_drawn_where_the_alert_fires(title: str, alert: str) -> None:
    (panel,) = [panel for panel in PANELS if panel["title"] == title]
    (rule,) = [rule for rule in ALERTS if rule["alert"] == alert]
    (_, limit) = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    assert str(limit["value"]) in re.findall(r"> ([\d.]+)", rule["expr"])


def test_a_doctor_each_minute_is_below_the_volume_of_refusals() -> None:
    (rule,) = [rule for rule in ALERTS if rule["alert"] == "EnforcerRefusesRequests"]
    volume = int(re.match(r"sum by \(job, instance\) \(increase.*\) > (\d+)\n", rule["expr"])[1])
    assert volume > 15 * 5  # requests of a run that may be refused: `rules.test.yml` has them


def test_the_page_says_what_to_do_about_each_alert() -> None:
    page = (ROOT / "docs/production/alerts.md").read_text()
    assert re.findall(r"^\| `(Enforcer\w+)` \| (\w+) \| (\S*) \|", page, re.MULTILINE) == [
        (alert["alert"], alert["labels"]["severity"], alert.get("for", "-")) for alert in ALERTS
    ]


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_an_alert_leads_where_the_page_does(alert: dict[str, Any]) -> None:
    page = ROOT / "docs/production/alerts.md"
    row = re.search(rf"^\| `{alert['alert']}` .*$", page.read_text(), re.MULTILINE)[0]
    file, _, anchor = re.findall(r"\]\(([^)]+)\)", row)[-1].partition("#")
    place = (page.parent / file).resolve().relative_to(ROOT / "docs").with_suffix("")
    address = f"{RUNBOOK}{place}/" + (f"#{anchor}" if anchor else "")
    assert alert["annotations"]["runbook_url"] == address


def test_the_runbook_begins_with_a_row_for_each_section_and_each_alert() -> None:
    page = (ROOT / "docs/production/runbook.md").read_text()
    table = page.split("<!-- symptoms:")[1].split("\n\n")[0]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()[3:]]
    assert any("HTTP 400" in seen for seen, _, _ in rows)
    links = {re.search(r"\]\(([^)]+)\)", section)[1] for _, _, section in rows}
    headings = re.findall(r"^##+ (.+)$", re.sub(r"(?ms)^```.*?^```$", "", page), re.MULTILINE)
    anchors = {f"#{re.sub(r'[^a-z0-9_]+', '-', each.lower()).strip('-')}" for each in headings}
    assert {link for link in links if link.startswith("#")} == anchors
    leads = {alert.strip("`"): section for _, alert, section in rows if alert}
    assert set(leads) == {alert["alert"] for alert in ALERTS}
    for alert in ALERTS:
        link = re.search(r"\]\(([^)]+)\)", leads[alert["alert"]])[1]
        place = link.removeprefix("../").replace(".md", "/")
        place = f"production/runbook/{link}" if link.startswith("#") else place
        assert alert["annotations"]["runbook_url"] == f"{RUNBOOK}{place}"


def test_the_address_of_the_docs_is_one_word_to_change() -> None:
    (block,) = blocks(ROOT / "docs/production/alerts.md", "sh")
    old, new = re.fullmatch(
        r"sed -i 's\|(.*)\|(.*)\|' \\\n    deploy/prometheus/rules.yml\n", block
    ).groups()
    assert f"{old}/" == RUNBOOK
    assert not new.endswith("/")


def test_the_runbook_has_every_error_that_a_refusal_is_counted_as() -> None:
    page = (ROOT / "docs/production/runbook.md").read_text()
    table = page.split("\n## Refused\n")[1].split("\n## ")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    (_, errors), _ = metric_defs.REFUSED.labels
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == set(errors) - {"other"}


def test_what_compose_mounts_is_there() -> None:
    mounted = [
        volume.split(":")[0]
        for service in COMPOSE["services"].values()
        for volume in service.get("volumes", ())
        if volume.startswith("./")
    ]
    assert len(mounted) == 3
    assert all((DEPLOY / path).is_dir() for path in mounted)
    for service in COMPOSE["services"].values():
        if "build" in service:
            built = (DEPLOY / service["build"]["context"]).resolve()
            assert built == ROOT
            stage = service["build"]["target"]
            assert f" AS {stage}\n" in (built / service["build"]["dockerfile"]).read_text()


def test_containers_are_built_and_run_as_pages_say() -> None:
    typed = [" ".join(each.words) for each in commands(every()) if each.words[:1] == ("docker",)]
    assert len(typed) > 7
    stages = set(re.findall(r" AS (\w+)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE))
    profiles = {p for service in COMPOSE["services"].values() for p in service["profiles"]}
    for command in typed:
        assert set(re.findall(r"--target (\S+)", command)) <= stages
        assert set(re.findall(r"--profile (\S+)", command)) <= profiles
        for profile, service in re.findall(r"--profile (\S+) (?:exec|logs) (\S+)", command):
            assert profile in COMPOSE["services"][service]["profiles"]
        assert set(re.findall(r"VLLM_IMAGE=(\S+)", command)) <= {_argument("VLLM_IMAGE")}
        assert all((ROOT / file).is_file() for file in re.findall(r" -f (\S+)", command))


def _argument(name: str) -> str:
    (value,) = re.findall(rf"^ARG {name}=(\S+)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    return str(value)


def test_what_is_provisioned_has_its_place() -> None:
    grafana = COMPOSE["services"]["grafana"]
    provider = yaml.safe_load(
        (DEPLOY / "grafana/provisioning/dashboards/enforcer.yml").read_text()
    )["providers"][0]
    source = yaml.safe_load(
        (DEPLOY / "grafana/provisioning/datasources/prometheus.yml").read_text()
    )["datasources"][0]
    assert f"./grafana/dashboards:{provider['options']['path']}:ro" in grafana["volumes"]
    assert source["type"] == DASHBOARD["templating"]["list"][0]["query"]
    host, port = re.fullmatch(r"http://(\w+):(\d+)", source["url"]).groups()
    assert COMPOSE["services"][host]["ports"] == [f"127.0.0.1:{port}:{port}"]
    scraped = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())
    assert scraped["rule_files"] == ["rules.yml"]
    (target,) = scraped["scrape_configs"][0]["static_configs"][0]["targets"]
    name, port = target.split(":")
    for profile in ("vllm-gpu", "vllm-cpu"):
        service = COMPOSE["services"][profile]
        assert service["networks"]["default"]["aliases"] == [name]
        assert service["ports"] == [f"127.0.0.1:{port}:{port}"]


def test_containers_pass_on_all_settings_that_concern_one_machine_and_set_none() -> None:
    settings = set(settings_of.VARIABLES)
    for name in ("vllm-gpu", "vllm-cpu"):
        given = COMPOSE["services"][name]["environment"]
        passed = {each for each in given if each.startswith(settings_of.PREFIX)}
        left = {"ENFORCER_DIALECT", "ENFORCER_DOCUMENTS", "ENFORCER_METRICS_PORT"}
        assert settings - passed == left
        assert passed <= settings
        assert not [each for each in passed if given[each] is not None]


def test_a_page_lists_the_variables_of_compose_with_their_defaults() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    read = re.findall(r"\$\{(\w+):-([^}]*)\}", text)
    page = (ROOT / "docs/production/monitoring.md").read_text()
    listed = re.findall(r"^\| `([A-Z_]+)` \| `(.+?)` \|", page, re.MULTILINE)
    assert len(read) == len(set(read)) == 5  # each is read in one place
    assert sorted(read) == sorted(listed)
    assert text.count("moonshotai/") == 1


def test_both_models_have_the_name_that_clients_use() -> None:
    for name in ("vllm-gpu", "vllm-cpu"):
        assert COMPOSE["x-name"] in COMPOSE["services"][name]["command"]
    assert COMPOSE["x-name"].startswith("--served-model-name=")


def _promtool(*words: str, cwd: Path | None = None) -> str:
    """Run promtool, which has to succeed, and return what it prints."""
    done = processes.run("promtool", *words, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
class TestPromtool:
    @pytest.mark.slow
    def test_the_rules_are_rules_that_fire_when_they_should(self) -> None:
        folder = DEPLOY / "prometheus"
        for words in (("check", "rules", "rules.yml"), ("test", "rules", "rules.test.yml")):
            _promtool(*words, cwd=folder)

    @pytest.mark.parametrize(
        ("engines", "without"),
        [
            ({"a": 1, "b": 2}, 0),
            ({"a": 1, "b": 0}, 1),  # its API server alone has the plugin
            ({"a": 1, "b": None, "c": None}, 2),
            ({"a": None}, 1),
            ({}, None),
        ],
    )
    def test_a_tile_counts_the_servers_without_the_plugin(
        self, tmp_path: Path, engines: dict[str, int | None], without: int | None
    ) -> None:
        (tile,) = [t["expr"] for title, t in TARGETS if title == "Servers without the plugin"]
        series = []
        for name, count in engines.items():
            at = f'job="vllm", instance="{name}"'
            series += [f'vllm:num_requests_running{{{at}, engine="{n}"}}' for n in range(2)]
            if count is not None:
                series.append(f'enforcer_processes{{{at}, part="front"}}')
        counts = [
            {
                "series": f'enforcer_processes{{job="vllm", instance="{name}", part="engine"}}',
                "values": f"{count}x5",
            }
            for name, count in engines.items()
            if count is not None
        ]
        test = {
            "interval": "1m",
            "input_series": [*counts, *({"series": one, "values": "1x5"} for one in series)],
            "promql_expr_test": [
                {
                    "expr": tile.replace("$job", ".*").replace("$instance", ".*"),
                    "eval_time": "5m",
                    "exp_samples": [] if without is None else [{"labels": "{}", "value": without}],
                }
            ],
        }
        file = tmp_path / "tile.yml"
        file.write_text(yaml.safe_dump({"rule_files": [], "tests": [test]}))
        _promtool("test", "rules", str(file))

    def test_every_expression_of_the_page_is_one(self, tmp_path: Path) -> None:
        rules = [{"record": f"asked:{n}", "expr": e} for n, e in enumerate(_expressions())]
        file = tmp_path / "asked.yml"
        file.write_text(yaml.safe_dump({"groups": [{"name": "asked", "rules": rules}]}))
        _promtool("check", "rules", str(file))

    def test_every_panel_has_an_expression(self, tmp_path: Path) -> None:
        rules = [
            {
                "record": f"panel:{number}",
                "expr": target["expr"]
                .replace("$__rate_interval", "1m")
                .replace("$__range", "3h")
                .replace("$job", ".*")
                .replace("$instance", ".*"),
            }
            for number, (_, target) in enumerate(TARGETS)
        ]
        file = tmp_path / "panels.yml"
        file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
        assert f"{len(TARGETS)} rules found" in _promtool("check", "rules", str(file))
