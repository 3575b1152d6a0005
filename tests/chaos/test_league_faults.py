"""A whole league as processes, in which a bot keeps dying (T1) or the disk is full (T7): it ends, and says so."""

import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import wait_until

PATIENCE_S = 240
BOTS = Path(sys.executable).parent / "chaodipi-badbots"


def league(folder: Path, bots: str, boards: int = 2, more: str = "") -> Path:
    path = folder / "league.toml"
    head = f'name = "x"\nruleset = "huanle_2"\nboards = {boards}\nseed = "faults"\ntables_in_flight = 2\n{more}\n'
    path.write_text(head + bots)
    return path


def bot(name: str, how: str) -> str:
    return f'[[bots]]\nname = "{name}"\n{how}\n'


def command(path: Path) -> list[str]:
    return [str(Path(sys.executable).parent / "chaodipi"), "league", "run", str(path), "--out", str(path.parent)]


def run(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(path), capture_output=True, text=True, check=False, timeout=PATIENCE_S)


def results(path: Path) -> dict[str, Any]:
    found = json.loads((path.parent / "x" / "results.json").read_text())
    assert isinstance(found, dict)
    return found


@pytest.mark.situation("T1")
def test_t1_a_bot_that_keeps_dying_is_started_again_then_played_by_the_policy_and_the_league_ends(
    tmp_path: Path,
) -> None:
    bots = bot("good", 'baseline = "greedy"') + bot("dying", f'command = ["{BOTS}", "crash-in-deal"]')
    done = run(league(tmp_path, bots, boards=3, more="restarts = 2"))
    assert done.returncode == 0, done.stderr + done.stdout
    # Its three lives end at its tenth decision each.
    assert len(re.findall(r"bot dying ended \(SIGKILL\).*; started again in", done.stdout)) == 2
    assert len(re.findall(r"bot dying ended \(SIGKILL\).*; not started again\n", done.stdout)) == 1
    found = results(tmp_path / "league.toml")
    assert (found["complete"], len(found["pairs"])) == (True, 3)
    for pair in found["pairs"]:
        assert pair["faults"]["good"] == {}
        assert set(pair["faults"]["dying"]) <= {"disconnected", "not_ready"}
    # Tables after its last death begin at once: nobody waits for whom nobody brings back.
    assert found["pairs"][2]["faults"]["dying"] == {"not_ready": 4}


@pytest.mark.situation("T7")
def test_t7_a_full_disk_flags_the_pair_and_the_same_command_plays_it_when_there_is_room(tmp_path: Path) -> None:
    bots = bot("good", 'baseline = "greedy"') + bot("low", 'baseline = "random"')
    faulty, whole = tmp_path / "faulty", tmp_path / "whole"
    for folder in (faulty, whole):
        folder.mkdir()
    records, staged = faulty / "x" / "records", faulty / "x" / "records.staged"
    staged.mkdir(parents=True)
    # A device that is always full stands where the record of one table of the second pair is written.
    full = staged / "x_00001_good-low_2.jsonl.part"
    full.symlink_to("/dev/full")
    # And the log as well: that costs lines, and nothing else.
    log = faulty / "x" / "host.log"
    log.symlink_to("/dev/full")

    done = run(league(faulty, bots, boards=3))
    assert done.returncode == 3, done.stderr + done.stdout
    why = r"pair 1 \(board 1, good against low\): could not be saved: \[Errno 28\] No space left on device"
    assert re.search(rf"1 pair is missing because of faults of the host:\n  {why}\n", done.stdout)
    found = results(faulty / "league.toml")
    assert (found["complete"], found["seed"]) == (False, None)
    assert [pair["number"] for pair in found["pairs"]] == [0, 2]
    assert [pair["number"] for pair in found["missing"]] == [1]
    assert not (records / "x_00001_good-low_1.jsonl").exists()
    shown = subprocess.run(
        [str(Path(sys.executable).parent / "chaodipi"), "league", "standings", "--out", str(faulty)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.search(why, shown.stdout)

    full.unlink()
    log.unlink()
    again = run(faulty / "league.toml")
    assert again.returncode == 0, again.stderr + again.stdout
    assert "missing" not in again.stdout
    assert not list(staged.iterdir())
    assert run(league(whole, bots, boards=3)).returncode == 0
    completed, once = results(faulty / "league.toml"), results(whole / "league.toml")
    completed.pop("timing")
    once.pop("timing")
    assert completed == once


@pytest.mark.situation("T7")
def test_t7_a_locked_store_holds_results_up_and_loses_none(tmp_path: Path) -> None:
    """Another process holds the store for longer than a write waits; when it lets go, all is saved."""
    bots = bot("good", 'baseline = "greedy"') + bot("low", 'baseline = "random"')
    path = league(tmp_path, bots)
    log = tmp_path / "x" / "host.log"
    with subprocess.Popen(command(path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if line.startswith("bots at"):
                    break
            other = sqlite3.connect(tmp_path / "chaodipi.db", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            wait_until(lambda: '"save_again"' in log.read_text(), "a write that was given up for now", PATIENCE_S)
            assert process.poll() is None
            other.execute("ROLLBACK")
            other.close()
            said = process.stdout.read()
            assert process.wait(PATIENCE_S) == 0, said
        finally:
            process.kill()
    assert "database is locked" in log.read_text()
    assert (results(path)["complete"], len(results(path)["pairs"])) == (True, 2)
