"""A host that is restarted with ten tables in flight: bots of strangers come back by themselves (spare a)."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.support.processes import wait_until

CHAODIPI = [sys.executable, "-c", "from chaodipi.service.cli import main; main()"]
PATIENCE_S = 90
BOTS = ("ann", "bob", "cid")
TABLES = 10

BOT = """
import pathlib, time
from chaodipi.sdk import run
from chaodipi.sdk.baselines.greedy import GreedyBot

class Waiting(GreedyBot):
    # Answers nothing while the organiser holds his hand up.
    def play(self, decision):
        while pathlib.Path("hold").exists():
            time.sleep(0.01)
        return super().play(decision)

run(Waiting)
"""

LEAGUE = """
name = "a"
ruleset = "ming_chao"
boards = 10
seed = "restart"
tables_in_flight = 20

[time]
play_ms = 86400000

[[bots]]
name = "ann"
remote = true
[[bots]]
name = "bob"
remote = true
[[bots]]
name = "cid"
remote = true
"""


class Event:
    """A league of remote bots; host and bots are processes of their own, and the bots outlive the host."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.server = f"127.0.0.1:{probe.getsockname()[1]}"
        (folder / "league.toml").write_text(LEAGUE)
        (folder / "serve.toml").write_text(f'listen = "{self.server}"\ndrain_s = 1\n')
        (folder / "bot.py").write_text(BOT)
        self.tokens = {name: self._run("bot", "add", name, "--out", "out").strip() for name in BOTS}

    def _run(self, *command: str) -> str:
        return subprocess.run([*CHAODIPI, *command], cwd=self.folder, capture_output=True, text=True, check=True).stdout

    def bot(self, name: str) -> subprocess.Popen[bytes]:
        environment = os.environ | {"CHAODIPI_SERVER": self.server, "CHAODIPI_TOKEN": self.tokens[name]}
        with (self.folder / f"{name}.log").open("wb") as log:
            command = [sys.executable, "bot.py"]
            return subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)

    def host(self) -> subprocess.Popen[bytes]:
        with (self.folder / "host.txt").open("ab") as log:
            command = [*CHAODIPI, "league", "run", "league.toml", "--config", "serve.toml"]
            return subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)

    @property
    def said(self) -> str:
        return (self.folder / "host.txt").read_text()

    def log(self) -> list[dict[str, object]]:
        path = self.folder / "out" / "a" / "host.log"
        return [json.loads(line) for line in path.read_text().splitlines() if line] if path.exists() else []

    def counted(self, event: str) -> int:
        return sum(line["event"] == event for line in self.log())

    def results(self) -> dict[str, object]:
        results = json.loads((self.folder / "out" / "a" / "results.json").read_text())
        results.pop("timing")
        assert isinstance(results, dict)
        return results


def played(event: Event, interrupt: int | None) -> list[dict[str, object]]:
    """Play *event*, interrupted in mid-league by the signal *interrupt*; the host's log since the last start."""
    bots = [event.bot(name) for name in BOTS]
    try:
        host, before = event.host(), 0
        if interrupt is not None:
            wait_until(lambda: event.counted("table_over") >= 2, "tables are over", PATIENCE_S)
            # Of each of ten pairs a table is in flight at least; the other one may be over.
            (event.folder / "hold").touch()
            wait_until(
                lambda: event.counted("table_started") - event.counted("table_over") >= TABLES,
                f"{TABLES} tables are in flight",
                PATIENCE_S,
            )
            host.send_signal(interrupt)
            assert host.wait(PATIENCE_S) == (-signal.SIGKILL if interrupt == signal.SIGKILL else 0), event.said
            before = len(event.log())
            (event.folder / "hold").unlink()
            host = event.host()
        assert host.wait(2 * PATIENCE_S) == 0, event.said
        return event.log()[before:]
    finally:
        for process in (*bots, host):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Results of the event that nobody interrupted."""
    event = Event(tmp_path_factory.mktemp("whole") / "x")
    played(event, None)
    return event.results()


@pytest.mark.situation("a")
@pytest.mark.parametrize("interrupt", [signal.SIGKILL, signal.SIGTERM])
def test_a_bots_come_back_to_a_host_that_is_restarted_and_no_seat_is_given_twice(
    tmp_path: Path, whole: dict[str, object], interrupt: int
) -> None:
    event = Event(tmp_path / "x")
    since = played(event, interrupt)
    started = Counter(line["table"] for line in since if line["event"] == "table_started")
    assert len(started) >= TABLES
    assert set(started.values()) == {1}
    assert sum(line["event"] == "table_over" for line in since) == len(started)
    # Each bot is there once, and nobody lost a decision by the restart.
    opened = [line for line in since if line["event"] == "session_opened"]
    assert sorted(str(line["bot"]) for line in opened) == sorted(BOTS)
    results = event.results()
    assert results["complete"] is True
    assert not any(pair["faults"][name] for pair in results["pairs"] for name in pair["faults"])  # type: ignore[attr-defined]
    # Nonces are fixed by the league's seed: the same cards, the same bots, the same end.
    assert results == whole
    connection = sqlite3.connect(event.folder / "out" / "chaodipi.db")
    tables = [table for (table,) in connection.execute("SELECT table_id FROM result")]
    connection.close()
    records = list((event.folder / "out" / "a" / "records").glob("*.jsonl"))
    assert len(tables) == len(set(tables)) == len(records) == 60
