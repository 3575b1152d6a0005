"""The demo as a stranger runs it: watched from outside while it runs, checked against its records when it is over."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

BIN = Path(sys.executable).parent
COMMAND = [sys.executable, "-c", "from chaodipi.service.cli import main; main()"]
PATIENCE_S = 120.0


class Demo:
    """``chaodipi demo`` as a process; every process below it carries a mark in its environment."""

    def __init__(self, *arguments: object) -> None:
        self.mark = f"demo-{os.getpid()}-{time.monotonic_ns()}"
        self.process = subprocess.Popen(
            [*COMMAND, "demo", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"DEMO_MARK": self.mark},
        )
        self.said = ""
        self.address = ""
        self.metrics_url = ""

    def __enter__(self) -> "Demo":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing outlives a test that failed."""
        for pid in self.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.communicate()

    def wait_for_addresses(self) -> None:
        """Read on until the line that says where bots and metrics are."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line
            found = re.fullmatch(r"bots at (\S+), metrics at (\S+)\n", line)
            if found:
                self.address, self.metrics_url = found.groups()
                return
        raise AssertionError(f"no addresses in {self.said!r}")

    def finish(self) -> tuple[int, str]:
        """Wait for the end; the exit code and what was said on standard error."""
        out, errors = self.process.communicate(timeout=PATIENCE_S)
        self.said += out
        return self.process.returncode, errors

    def left(self) -> list[int]:
        """Processes of this demo, children of children too."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if f"DEMO_MARK={self.mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(int(entry.name))
                except OSError:  # it went away, or is another user's
                    continue
        return found

    def answers(self) -> list[str]:
        """Which of its addresses still take a connection."""
        found = []
        for address in (self.address, self.metrics_url.removeprefix("http://").partition("/")[0]):
            host, _, port = address.rpartition(":")
            try:
                socket.create_connection((host, int(port)), timeout=1).close()
                found.append(address)
            except OSError:
                continue
        return found


class Scrape:
    """One answer of ``/metrics``."""

    def __init__(self, text: str) -> None:
        self.samples = [s for family in text_string_to_metric_families(text) for s in family.samples]

    def total(self, name: str) -> float:
        """The sum over all labels."""
        return sum(s.value for s in self.samples if s.name == name)

    def by(self, name: str, *labels: str) -> dict[tuple[str, ...], float]:
        """The values by *labels*, the other labels summed up, zeros left out."""
        found: Counter[tuple[str, ...]] = Counter()
        for s in self.samples:
            if s.name == name and s.value:
                found[tuple(s.labels[label] for label in labels)] += s.value  # type: ignore[assignment]
        return dict(found)


def scrape(url: str) -> Scrape:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return Scrape(answer.read().decode())


def counted(records: Path) -> tuple[dict[tuple[str, ...], int], dict[tuple[str, ...], int], dict[tuple[str, ...], int]]:
    """What the records say: answers by bot, faults by bot and kind, tables by ending."""
    answers: Counter[tuple[str, ...]] = Counter()
    faults: Counter[tuple[str, ...]] = Counter()
    endings: Counter[tuple[str, ...]] = Counter()
    for path in records.glob("*.jsonl"):
        head, *decisions, result = (json.loads(line) for line in path.read_text().splitlines())
        for line in decisions:
            if not line.get("by_host"):
                answers[head["bots"][line["seat"]],] += 1
        for seat, kinds in result["faults"].items():
            for kind, count in kinds.items():
                faults[head["bots"][int(seat)], kind] += count
        endings[result["how"],] += 1
    return dict(answers), dict(faults), dict(endings)


def test_a_demo_is_seen_while_it_runs_counted_as_recorded_and_leaves_nothing(tmp_path: Path) -> None:
    """Metrics and reflection answer in mid-play; at the end counters equal records, and no process or port is left."""
    out = tmp_path / "demo"
    with Demo("--boards", 10, "--seed", "seen", "--out", out) as demo:
        check_demo(demo, out)


def check_demo(demo: Demo, out: Path) -> None:
    demo.wait_for_addresses()
    seen = scrape(demo.metrics_url)
    until = time.monotonic() + PATIENCE_S
    while not (seen.total("chaodipi_decisions_total") and seen.total("chaodipi_tables_in_flight")):
        assert demo.process.poll() is None, "the demo ended before anything was seen"
        assert time.monotonic() < until
        time.sleep(0.02)
        seen = scrape(demo.metrics_url)
    assert seen.total("chaodipi_decision_seconds_count") == seen.total("chaodipi_decisions_total")
    listed = subprocess.run(
        [BIN / "buf", "curl", "--protocol", "grpc", "--http2-prior-knowledge", "--list-services", f"http://{demo.address}"],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    code, errors = demo.finish()

    assert (code, errors) == (0, "")
    assert {"chaodipi.v1.BotSessionService", "chaodipi.v1.RulesService", "grpc.health.v1.Health"} <= set(
        listed.stdout.split()
    ), listed.stderr
    assert demo.left() == []
    assert demo.answers() == []

    end = Scrape((out / "metrics.prom").read_text())
    answers, faults, endings = counted(out / "records")
    assert end.by("chaodipi_decisions_total", "bot") == answers
    assert end.by("chaodipi_faults_total", "bot", "kind") == faults
    assert end.by("chaodipi_tables_total", "ending") == endings == {("played",): 60}
    assert end.total("chaodipi_decision_seconds_count") == sum(answers.values())
    assert end.total("chaodipi_decision_seconds_sum") > 0
    assert end.total("chaodipi_tables_in_flight") == 0

    results = json.loads((out / "results.json").read_text())
    assert results["tables"] == 60
    assert results["standings"][-1]["entry"] == "random"
    assert all((line["faults"], line["forfeits"]) == ({}, 0) for line in results["standings"])
    assert {name: (time["answers"],) for name, time in results["timing"].items()} == {
        name: (count,) for (name,), count in answers.items()
    }
    assert "time of a decision: median/99 %" in demo.said
    assert max(map(len, demo.said.splitlines()[:2])) <= 80
    checked = subprocess.run(
        [*COMMAND, "replay", "verify", out / "records"], capture_output=True, text=True, check=False
    )
    assert checked.stdout == (
        "60 records, 60 match, 0 do not (with the league's seed)\npairs and standings are those of the records\n"
    )


@pytest.mark.parametrize(
    ("number", "moment"), [(signal.SIGINT, "start"), (signal.SIGINT, "play"), (signal.SIGTERM, "play")]
)
def test_a_demo_that_is_told_to_stop_leaves_nothing(tmp_path: Path, number: signal.Signals, moment: str) -> None:
    """At the start and in mid-play: drained, no process, no port."""
    with Demo("--boards", 500, "--out", tmp_path / "demo") as demo:
        demo.wait_for_addresses()
        until = time.monotonic() + PATIENCE_S
        while moment == "play" and not scrape(demo.metrics_url).total("chaodipi_decisions_total"):
            assert time.monotonic() < until
            time.sleep(0.02)
        demo.process.send_signal(number)

        assert demo.finish() == (0, "")
        assert demo.left() == []
        assert demo.answers() == []


def test_two_bots_play_and_a_changed_record_is_found(tmp_path: Path) -> None:
    """A small demo end to end: shown as text, and verification fails with the line after a change."""
    out = tmp_path / "demo"
    with Demo("--boards", 1, "--bots", "greedy,rules", "--out", out) as demo:
        assert demo.finish() == (0, "")
    record = sorted((out / "records").glob("*.jsonl"))[0]

    def chaodipi(*arguments: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False)

    assert "result   played" in chaodipi("replay", "show", record).stdout
    record.write_text(record.read_text().replace('"seat":1', '"seat":2', 1))
    again = chaodipi("replay", "verify", record)
    assert again.returncode == 1
    assert re.search(r"line \d+: chain: ", again.stdout)
