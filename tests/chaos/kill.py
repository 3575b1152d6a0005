"""Kill -9 of the host at random moments of one league, again and again: ``make chaos``, or one kill as a test.

The same command plays on each time. What comes out must be, to the byte, what an uninterrupted run gives: pairs,
scores, standings and canonical records; and after every kill each result in the store has its record on disk.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LEAGUE = """
name = "kill"
ruleset = "ming_chao"
boards = {boards}
rank_by = "points"
seed = "kill and resume {seed}"
tables_in_flight = {in_flight}

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
PAIRINGS = 3
IN_FLIGHT = 4
PATIENCE_S = 300.0


@dataclass
class Report:
    """The kills, and what is wrong with the league after them; nothing, if the host keeps its word."""

    seed: int
    tables: int
    moments: Counter[str] = field(default_factory=Counter)
    begun_twice: int = 0
    lost: list[str] = field(default_factory=list)
    took_s: float = 0.0

    def __str__(self) -> str:
        when = ", ".join(f"{count} {moment}" for moment, count in sorted(self.moments.items()))
        return (
            f"kill and resume, seed {self.seed}: {self.tables} tables in {self.took_s:.1f} s\n"
            f"  injected: kill -9 of the host, {when}\n"
            f"  tables begun twice: {self.begun_twice}\n"
            f"  lost: {len(self.lost)}" + "".join(f"\n    {line}" for line in self.lost)
        )


class Run:
    """One league in a folder of its own."""

    def __init__(self, folder: Path, text: str) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "league.toml").write_text(text)

    @property
    def out(self) -> Path:
        return self.folder / "out" / "kill"

    def start(self) -> subprocess.Popen[bytes]:
        command = [str(Path(sys.executable).parent / "chaodipi"), "league", "run", "league.toml"]
        with (self.folder / "run.log").open("ab") as log:
            return subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, start_new_session=True)

    def finish(self) -> None:
        """Play to the end."""
        code = self.start().wait(PATIENCE_S)
        assert code == 0, f"exit code {code}:\n{(self.folder / 'run.log').read_text()[-2000:]}"

    def records(self) -> dict[str, Path]:
        return {path.name: path for path in sorted((self.out / "records").glob("*.jsonl"))}

    def results(self) -> dict[str, Any]:
        results = json.loads((self.out / "results.json").read_text())
        assert isinstance(results, dict)
        return results

    def begun(self) -> int:
        """Tables begun by all starts, by the host's log."""
        log = self.out / "host.log"
        return log.read_text().count('"event": "table_started"') if log.exists() else 0

    def stored(self) -> list[tuple[str, str]]:
        """Table and SHA-256 of its record, of every result in the store."""
        store = self.folder / "out" / "chaodipi.db"
        if not store.exists():
            return []
        connection = sqlite3.connect(store)
        try:
            return connection.execute("SELECT table_id, record_sha256 FROM result ORDER BY table_id").fetchall()
        except sqlite3.OperationalError:  # killed before there were tables
            return []
        finally:
            connection.close()

    def unrecorded(self) -> list[str]:
        """Results in the store whose record is not there, or is another."""
        records = self.records()
        wrong = []
        for table, digest in self.stored():
            path = records.get(table.replace("/", "_") + ".jsonl")
            if path is None or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
                wrong.append(f"{table} is in the store, its record is not on disk")
        return wrong


def kill_once(run: Run, rng: random.Random, most: int) -> str:
    """Start the host and kill it: while it starts, or when up to *most* tables more are recorded; what it was."""
    before = len(run.records())
    process = run.start()
    if rng.random() < 0.2:
        time.sleep(rng.uniform(0.0, 2.0))
        moment = "at the start"
    else:
        wanted = before + rng.randrange(1, most + 1)
        end = time.monotonic() + PATIENCE_S
        # Polling files is all that an outsider can do.
        while len(run.records()) < wanted and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.05))
        moment = "in play"
    if process.poll() is not None:
        moment = "after the end"
    os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
    process.wait()
    return moment


def play(folder: Path, seed: int, *, boards: int, kills: int) -> Report:
    """Play one league with *kills* kills and once without, and compare."""
    rng = random.Random(seed)
    text = LEAGUE.format(boards=boards, seed=seed, in_flight=IN_FLIGHT)
    killed, whole = Run(folder / "killed", text), Run(folder / "whole", text)
    report = Report(seed, PAIRINGS * boards * 2)
    began = time.monotonic()
    for _ in range(kills):
        report.moments[kill_once(killed, rng, max(1, report.tables // (kills + 1)))] += 1
        report.lost += killed.unrecorded()
    killed.finish()
    whole.finish()
    report.took_s = time.monotonic() - began
    report.begun_twice = killed.begun() - report.tables
    report.lost += differences(killed, whole, report.tables)
    if report.begun_twice > kills * IN_FLIGHT:
        report.lost.append(f"{report.begun_twice} tables were begun twice, at most {kills * IN_FLIGHT} were in flight")
    return report


def differences(killed: Run, whole: Run, tables: int) -> list[str]:
    """How the end of *killed* differs from that of *whole*, and its store from its records."""
    lost = killed.unrecorded()
    mine, others = killed.records(), whole.records()
    counts = {"records": len(mine), "records without a kill": len(others), "results in the store": len(killed.stored())}
    lost += [f"{count} {what}, {tables} expected" for what, count in counts.items() if count != tables]
    lost += [f"{path} was left behind" for path in (killed.out / "records").glob("*.part")]
    lost += [
        f"record {name} differs"
        for name in sorted(mine.keys() | others.keys())
        if name not in mine or name not in others or mine[name].read_bytes() != others[name].read_bytes()
    ]
    again, once = killed.results(), whole.results()
    # Decision times are of the clock; all else is the same, and none of an earlier run's times are lost.
    times, times_once = again.pop("timing"), once.pop("timing")
    lost += [f"results.json: {key} differs" for key in once if again.get(key) != once[key]]
    lost += [
        f"times of {name}: {times[name]['answers']} answers, {time_once['answers']} expected"
        for name, time_once in times_once.items()
        if times[name]["answers"] != time_once["answers"]
    ]
    return lost


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill the host of a league again and again.")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--boards", type=int, default=40)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("CHAODIPI_CHAOS_SEED", random.randrange(2**32))))
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        report = play(Path(folder), args.seed, boards=args.boards, kills=args.kills)
    print(report)
    sys.exit(1 if report.lost else 0)


if __name__ == "__main__":
    main()
