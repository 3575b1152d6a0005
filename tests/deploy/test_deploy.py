"""The files in deploy/: what they name exists, and the tools that will read them can.

No container engine runs where the tests do: the image and the composition are held to the tree by parsing.
"""

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from chaodipi.service.config import load_server_config
from chaodipi.service.metrics import Metrics

from tests.support.tools import needs_tool

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana/chaodipi.json").read_text())
ALERTS = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())["groups"][0]["rules"]
EXPRESSIONS = {
    **{f"alert {rule['alert']}": rule["expr"] for rule in ALERTS},
    **{
        f"panel {panel['title']} {target['refId']}": target["expr"]
        for panel in DASHBOARD["panels"]
        for target in panel["targets"]
    },
}
SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}


def known_metrics():
    """Every time series' name that the host shows."""
    return {family.name + suffix for family in Metrics().registry.collect() for suffix in SUFFIXES[family.type]}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_every_query_names_metrics_that_exist(name):
    named = set(re.findall(r"chaodipi_\w+", EXPRESSIONS[name]))
    assert named or name == "alert HostDown"
    assert named <= known_metrics()


def test_every_metric_is_on_the_dashboard():
    """A metric that nobody sees is not worth counting."""
    shown = " ".join(EXPRESSIONS.values())
    for family in Metrics().registry.collect():
        assert family.name in shown, family.name


def promtool(*arguments):
    return subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, check=False)


@needs_tool("promtool")
def test_prometheus_can_read_its_files_and_the_alerts_do_what_they_say():
    for arguments in (
        ("check", "config", DEPLOY / "prometheus/prometheus.yml"),
        ("test", "rules", DEPLOY / "prometheus/alerts_test.yml"),
    ):
        done = promtool(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_test():
    tests = yaml.safe_load((DEPLOY / "prometheus/alerts_test.yml").read_text())["tests"]
    tried = {case["alertname"] for test in tests for case in test["alert_rule_test"] if case["exp_alerts"]}
    assert tried == {rule["alert"] for rule in ALERTS}


@needs_tool("promtool")
def test_prometheus_can_read_every_query_and_finds_a_planted_mistake(tmp_path):
    def check(expressions):
        rules = [{"record": f"r{i}", "expr": e} for i, e in enumerate(expressions)]
        path = tmp_path / "rules.yml"
        path.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
        return promtool("check", "rules", path).returncode

    good = [expression.replace("$__rate_interval", "5m") for expression in EXPRESSIONS.values()]
    assert check(good) == 0
    assert check([*good, "sum(rate(chaodipi_tables_total[5m])"]) != 0


@needs_tool("promtool")
def test_prometheus_likes_the_names_of_the_metrics():
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=Metrics().text(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_runbook_says_what_each_alert_means():
    said = re.findall(r"^\* \*\*(\w+)\*\*:", (ROOT / "docs/runbook.md").read_text(), re.M)
    assert said == [rule["alert"] for rule in ALERTS]


def test_the_settings_of_the_runbook_are_accepted(tmp_path):
    block = re.search(r"```toml\n(.*?)```", (ROOT / "docs/runbook.md").read_text(), re.S)
    path = tmp_path / "serve.toml"
    path.write_text(block[1])
    assert load_server_config(path, env={}).metrics_host == "0.0.0.0"


def test_what_the_image_copies_is_in_the_tree():
    text = (DEPLOY / "Dockerfile").read_text()
    sources = re.findall(r"^COPY (?!--from)(\S+) ", text, re.M)
    assert {"proto", "engine", "bot_sdk", "service"} <= set(sources)
    for source in sources:
        assert (ROOT / source).exists(), source
    command = json.loads(re.search(r"^CMD (.*)$", text, re.M)[1])
    assert command[0] == "serve"
    assert json.loads(re.search(r"^ENTRYPOINT (.*)$", text, re.M)[1]) == ["chaodipi"]


def test_the_image_is_given_all_that_the_distributions_need():
    locked = set(re.findall(r"^([\w.-]+)==", (DEPLOY / "requirements-server.txt").read_text(), re.M))
    for name in ("proto", "engine", "bot_sdk", "service"):
        for need in tomllib.loads((ROOT / name / "pyproject.toml").read_text())["project"].get("dependencies", []):
            wanted = re.match(r"[\w.-]+", need)[0]
            assert wanted in locked or wanted.startswith("chaodipi-"), f"{name} needs {wanted}"


def test_both_locks_agree():
    def pins(name):
        return dict(re.findall(r"^([\w.-]+)==(\S+)", (DEPLOY / name).read_text(), re.M))

    development = pins("requirements-dev.txt")
    assert all(development.get(name) == version for name, version in pins("requirements-server.txt").items())


def test_what_the_composition_mounts_is_in_the_tree():
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    build = services["services"]["host"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()
    for name, service in services["services"].items():
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            if source.startswith("."):
                assert (DEPLOY / source).exists(), f"{name}: {source}"
            else:
                assert source in services["volumes"], f"{name}: {source}"
    targets = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())["scrape_configs"][0]["static_configs"]
    assert targets[0]["targets"] == ["host:9464"]


def test_grafana_finds_its_source_and_its_dashboard():
    provisioning = DEPLOY / "grafana/provisioning"
    [source] = yaml.safe_load((provisioning / "datasources/prometheus.yaml").read_text())["datasources"]
    assert {panel["datasource"]["uid"] for panel in DASHBOARD["panels"]} == {source["uid"]}
    [provider] = yaml.safe_load((provisioning / "dashboards/chaodipi.yaml").read_text())["providers"]
    mounts = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["grafana"]["volumes"]
    assert any(mount.startswith(f"./grafana/chaodipi.json:{provider['options']['path']}/") for mount in mounts)


@needs_tool("systemd-analyze")
def test_systemd_can_read_the_unit(tmp_path):
    unit = tmp_path / "chaodipi.service"
    text = (DEPLOY / "systemd/chaodipi.service").read_text()
    # The program is not installed where the tests run.
    unit.write_text(text.replace("/opt/chaodipi/bin/chaodipi", shutil.which("true")))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "chaodipi.service" not in done.stderr
    unit.write_text(text.replace("ExecStart=", "ExecStrat="))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert "ExecStrat" in done.stderr
