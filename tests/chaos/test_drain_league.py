"""SIGTERM and Ctrl-C of ``league run``: it drains and exits 0, a second one stops at once, and nothing is lost."""

import json
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import below, gone, wait_until

CHAODIPI = [sys.executable, "-c", "from chaodipi.service.cli import main; main()"]
PATIENCE_S = 60
PAIRS = 15

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
name = "d"
ruleset = "ming_chao"
boards = {boards}
seed = "drain"
shared_boards = {shared}
tables_in_flight = 6

[time]
play_ms = 86400000

[[bots]]
name = "waiting"
command = ["{python}", "bot.py"]

[[bots]]
name = "random"
baseline = "random"

[[bots]]
name = "rules"
baseline = "rules"
"""


class League:
    """A league of three bots in a folder of its own, one of which waits for as long as it is held."""

    def __init__(self, folder: Path, *, shared: bool = False, drain_s: int = PATIENCE_S) -> None:
        folder.mkdir()
        self.folder = folder
        self.out = folder / "out" / "d"
        text = LEAGUE.format(boards=PAIRS // 3, shared=str(shared).lower(), python=sys.executable)
        (folder / "league.toml").write_text(text)
        (folder / "serve.toml").write_text(f'listen = "127.0.0.1:0"\ndrain_s = {drain_s}\n')
        (folder / "bot.py").write_text(BOT)

    def start(self) -> subprocess.Popen[str]:
        command = [*CHAODIPI, "league", "run", "league.toml", "--config", "serve.toml"]
        return subprocess.Popen(command, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def finish(self) -> str:
        process = self.start()
        said, _ = process.communicate(timeout=2 * PATIENCE_S)
        assert process.returncode == 0, said
        return said

    def hold(self) -> None:
        (self.folder / "hold").touch()

    def let_go(self) -> None:
        (self.folder / "hold").unlink()

    def saved(self) -> int:
        """Tables whose results are in the store."""
        store = self.folder / "out" / "chaodipi.db"
        if not store.exists():
            return 0
        connection = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
        try:
            return int(connection.execute("SELECT count(*) FROM result").fetchone()[0])
        except sqlite3.OperationalError:  # not made yet
            return 0
        finally:
            connection.close()

    def records(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (self.out / "records").glob("*.jsonl")}

    def results(self) -> dict[str, object]:
        found = json.loads((self.out / "results.json").read_text())
        assert isinstance(found, dict)
        return found

    def events(self, event: str, more: str = "") -> int:
        lines = (self.out / "host.log").read_text().splitlines()
        return sum(f'"event": "{event}"' in line and more in line for line in lines)

    def ended_as(self, whole: "League") -> None:
        """Byte for byte, but for the times of decisions."""
        assert self.records() == whole.records()
        mine, other = self.results(), whole.results()
        mine.pop("timing")
        other.pop("timing")
        assert mine == other
        assert mine["complete"] is True
        assert self.saved() == len(self.records()) == 2 * PAIRS


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> League:
    """The league that nobody interrupted."""
    league = League(tmp_path_factory.mktemp("whole") / "x")
    league.finish()
    return league


@pytest.fixture(scope="module")
def whole_shared(tmp_path_factory: pytest.TempPathFactory) -> League:
    """The same, with boards that all pairings share."""
    league = League(tmp_path_factory.mktemp("whole") / "x", shared=True)
    league.finish()
    return league


def signalled(process: subprocess.Popen[str], number: int) -> list[str]:
    """What was said up to the line that says it drains, after a signal."""
    process.send_signal(number)
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if line.startswith("draining: "):
            return said
    raise AssertionError("".join(said))


def test_sigterm_has_tables_in_flight_end_and_saves_whole_pairs(tmp_path: Path, whole: League) -> None:
    drains(League(tmp_path / "x"), signal.SIGTERM).ended_as(whole)


def test_ctrl_c_is_the_same_and_of_shared_boards_those_that_are_over_are_saved(
    tmp_path: Path, whole_shared: League
) -> None:
    drains(League(tmp_path / "x", shared=True), signal.SIGINT).ended_as(whole_shared)


def drains(league: League, number: int) -> League:
    """The *league*, interrupted once and played on to its end."""
    with league.start() as process:
        try:
            wait_until(lambda: league.saved() >= 6, "pairs are saved", PATIENCE_S)
            league.hold()
            bots = below(process.pid)
            assert len(bots) >= 3
            begun = "".join(signalled(process, number))
            in_flight = league.events("table_started") - league.events("table_over")
            assert f"draining: {in_flight} tables in flight, at most {PATIENCE_S} s; a second signal" in begun
            league.let_go()
            said, _ = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 0, said
    assert gone(bots)
    # Nothing was begun any more, and all that had begun was played to its end.
    assert league.events("table_started") == league.events("table_over", '"how": "played"')
    done = league.saved() // 2
    assert 3 <= done < PAIRS
    assert said.endswith(f"drained: {done} of {PAIRS} pairs are done; the same command plays on\n"), said
    results = league.results()
    assert (results["complete"], results["seed"], results["missing"]) == (False, None, [])
    assert results["tables"] == len(league.records()) == 2 * done
    assert f"{PAIRS} pairs of tables, {done} done" in league.finish()
    return league


@pytest.mark.parametrize("signals", [1, 2])
def test_what_does_not_end_in_time_or_before_a_second_signal_is_dropped_whole(
    tmp_path: Path, whole: League, signals: int
) -> None:
    league = League(tmp_path / "x", drain_s=1 if signals == 1 else 3600)
    with league.start() as process:
        try:
            wait_until(lambda: league.saved() >= 6, "pairs are saved", PATIENCE_S)
            league.hold()
            bots = below(process.pid)
            signalled(process, signal.SIGTERM)
            if signals == 2:
                process.send_signal(signal.SIGTERM)
            said, _ = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == (0 if signals == 1 else 130), said
    assert gone(bots)
    last = "the same command plays on\n" if signals == 1 else "chaodipi: interrupted\n"
    assert said.endswith(last), said
    if signals == 1:
        assert league.saved() == len(league.records())
    else:
        # At once, as by a kill: records of the board that was saved last may wait for the next start.
        assert league.saved() >= len(league.records())
    league.let_go()
    league.finish()
    league.ended_as(whole)


def test_a_signal_while_bots_are_awaited_ends_it_at_once(tmp_path: Path, whole: League) -> None:
    league = League(tmp_path / "x", drain_s=3600)
    (league.folder / "bot.py").write_text("import time\ntime.sleep(3600)\n")
    with league.start() as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("no TLS"):  # from here on bots are awaited
                    break
            said = "".join(signalled(process, signal.SIGTERM)) + process.communicate(timeout=PATIENCE_S)[0]
        finally:
            process.kill()
    assert process.returncode == 0
    assert "draining: 0 tables in flight" in said
    assert said.endswith(f"drained: 0 of {PAIRS} pairs are done; the same command plays on\n"), said
    (league.folder / "bot.py").write_text(BOT)
    league.finish()
    league.ended_as(whole)


def test_a_demo_drains_too(tmp_path: Path) -> None:
    command = [*CHAODIPI, "demo", "--boards", "400", "--out", str(tmp_path)]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            wait_until(lambda: len(list((tmp_path / "records").glob("*.jsonl"))) > 2, "tables are over", PATIENCE_S)
            bots = below(process.pid)
            process.send_signal(signal.SIGTERM)
            said, _ = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 0, said
    assert gone(bots)
    results = json.loads((tmp_path / "results.json").read_text())
    done = len(results["pairs"])
    assert f"drained: {done} of 1200 pairs are done; a demo begins anew each time\n" in said
    assert (results["complete"], results["seed"]) == (False, None)
    assert len(list((tmp_path / "records").glob("*.jsonl"))) == 2 * done
