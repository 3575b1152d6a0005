"""A league whose host is killed at any moment ends as one that was not."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

LEAGUE = """
name = "kill"
ruleset = "ming_chao"
boards = 8
rank_by = "points"
seed = "kill and resume"
tables_in_flight = 4

[[bots]]
name = "random"
baseline = "random"

[[bots]]
name = "greedy"
baseline = "greedy"

[[bots]]
name = "rules"
baseline = "rules"
"""
TABLES = 3 * 8 * 2
IN_FLIGHT = 4
PATIENCE_S = 120


def _start(folder: Path) -> subprocess.Popen[bytes]:
    command = [str(Path(sys.executable).parent / "chaodipi"), "league", "run", "league.toml"]
    with (folder / "run.log").open("ab") as log:
        return subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, start_new_session=True)


def _records(folder: Path) -> list[Path]:
    return sorted((folder / "out" / "kill" / "records").glob("*.jsonl"))


def _until_records(folder: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    """Wait for *count* records; polling files is all that an outsider can do."""
    end = time.monotonic() + PATIENCE_S
    while len(_records(folder)) < count and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)


def _results(folder: Path) -> dict[str, Any]:
    results = json.loads((folder / "out" / "kill" / "results.json").read_text())
    assert isinstance(results, dict)
    return results


def test_kill_9_in_mid_league_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Same final pairs, scores, standings and canonical records; the second run plays only what was missing."""
    seed = int(os.environ.get("CHAODIPI_KILL_SEED", random.randrange(2**32)))
    print(f"seed {seed}")
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    for folder in (killed, whole):
        folder.mkdir()
        (folder / "league.toml").write_text(LEAGUE)

    process = _start(killed)
    _until_records(killed, random.Random(seed).randrange(2, TABLES - 8), process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in _records(killed)}
    assert _start(killed).wait(PATIENCE_S) == 0
    assert _start(whole).wait(PATIENCE_S) == 0

    # Every start of both runs is in the host's log; at most the tables in flight at the kill were begun twice.
    starts = (killed / "out" / "kill" / "host.log").read_text().count('"event": "table_started"')
    assert TABLES <= starts <= TABLES + IN_FLIGHT
    rewritten = sum(path.stat().st_mtime_ns != kept[path.name][1] for path in _records(killed) if path.name in kept)
    assert rewritten <= IN_FLIGHT
    assert [path.name for path in _records(killed)] == [path.name for path in _records(whole)]
    assert len(_records(whole)) == TABLES
    for a, b in zip(_records(killed), _records(whole), strict=True):
        assert a.read_bytes() == b.read_bytes(), a.name
    again, once = _results(killed), _results(whole)
    # Decision times are of the clock; all else is the same, and none of the first run's times are lost.
    times, times_once = again.pop("timing"), once.pop("timing")
    assert again == once
    assert {name: time["answers"] for name, time in times.items()} == {
        name: time["answers"] for name, time in times_once.items()
    }
