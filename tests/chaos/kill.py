"""Kill -9 of the host at random moments of one league, again and again: ``make chaos``, or one kill as a test.

The same command plays on each time. What comes out must be, to the byte, what an uninterrupted run gives: pairs,
scores, standings and canonical records. After every kill each result in the store has its record on disk, boards are in
the store whole or not at all, and no record can be read of one that is not: it will be played again.
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
shared_boards = {shared}
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
    shared: bool
    tables: int
    moments: Counter[str] = field(default_factory=Counter)
    begun_twice: int = 0
    open_at_kills: int = 0
    lost: list[str] = field(default_factory=list)
    took_s: float = 0.0

    def __str__(self) -> str:
        when = ", ".join(f"{count} {moment}" for moment, count in sorted(self.moments.items()))
        return (
            f"kill and resume, seed {self.seed}: {self.tables} tables in {self.took_s:.1f} s,\n"
            f"    {'shared boards' if self.shared else 'boards of their own'}\n"
            f"  injected: kill -9 of the host, {when}\n"
            f"  begun again after a kill: {self.begun_twice} tables that had no result in the store yet, of at\n"
            f"    most {self.open_at_kills} that could be open; played from the start, counted once\n"
            f"  compared with the same league without a kill: results, standings, records to\n"
            f"    the byte, and their number with that of the results in the store\n"
            f"  lost: {len(self.lost)}" + "".join(f"\n    {line}" for line in self.lost)
        )


class Run:
    """One league in a folder of its own."""

    def __init__(self, folder: Path, text: str, *, shared: bool = False) -> None:
        self.folder = folder
        self.tables_of_board = 2 * PAIRINGS if shared else 2
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

    def broken(self) -> list[str]:
        """What a kill must not leave: results without their record, half a board, a record of what is played again."""
        staged = {path.name: path for path in (self.out / "records.staged").glob("*.jsonl")}
        records = staged | self.records()
        stored = {table.replace("/", "_") + ".jsonl": digest for table, digest in self.stored()}
        wrong = [
            f"{name}: in the store, and its record is not on disk"
            for name, digest in stored.items()
            if name not in records or hashlib.sha256(records[name].read_bytes()).hexdigest() != digest
        ]
        boards = Counter(name.split("_")[1] for name in stored)
        wrong += [
            f"{count} tables of board {board} are in the store"
            for board, count in boards.items()
            if count != self.tables_of_board
        ]
        return wrong + [f"{name} can be read and is not in the store" for name in self.records().keys() - stored.keys()]


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
    shared = rng.random() < 0.5
    text = LEAGUE.format(boards=boards, seed=seed, in_flight=IN_FLIGHT, shared=str(shared).lower())
    killed, whole = (Run(folder / name, text, shared=shared) for name in ("killed", "whole"))
    report = Report(seed, shared, PAIRINGS * boards * 2)
    began = time.monotonic()
    for _ in range(kills):
        report.moments[kill_once(killed, rng, max(1, report.tables // (kills + 1)))] += 1
        report.lost += killed.broken()
    killed.finish()
    whole.finish()
    report.took_s = time.monotonic() - began
    report.begun_twice = killed.begun() - report.tables
    report.lost += differences(killed, whole, report.tables)
    # With shared boards tables that were over are begun again, too: up to three boards are open at once.
    report.open_at_kills = kills * (3 * killed.tables_of_board if shared else IN_FLIGHT)
    if report.begun_twice > report.open_at_kills:
        report.lost.append(f"{report.begun_twice} tables were begun again, at most {report.open_at_kills} were open")
    return report


def differences(killed: Run, whole: Run, tables: int) -> list[str]:
    """How the end of *killed* differs from that of *whole*, and its store from its records."""
    lost = killed.broken()
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
