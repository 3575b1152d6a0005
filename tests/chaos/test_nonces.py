"""A league whose bots are asked for nonces, stopped before its first board: asked again under the same commitment,
and never once the nonces are stored."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chaodipi.service.boards.board import Secrets
from chaodipi.service.cli.nonces import collect
from chaodipi.service.cli.replay import verify_files
from chaodipi.service.scheduler.schedule import Entry
from chaodipi.service.store import LeagueRow, StoreError
from rich.console import Console

from tests.support.processes import wait_until

WAIT_S = 60.0
BOT = """
import asyncio, json, os, secrets, sys
from chaodipi.sdk.badbots.raw import RawBot

class Asked(RawBot):
    "Writes down what it is asked and gives; gives nothing until there is a file `answer`."

    async def receive(self, message):
        if message.WhichOneof("body") != "nonce_request":
            return await super().receive(message)
        request = message.nonce_request
        answers = os.path.exists("answer")
        nonce = secrets.token_bytes(32)
        line = [request.entry, request.seed_commitment.hex(), nonce.hex() if answers else None]
        with open("asked.jsonl", "a") as file:
            file.write(json.dumps(line) + "\\n")
        return [self.nonce(request.entry, nonce)] if answers else []

asyncio.run(Asked(os.environ["CHAODIPI_SERVER"], os.environ["CHAODIPI_TOKEN"]).run())
"""
NAMES = ("low", "other")
LEAGUE = """
name = "fair"
ruleset = "ming_chao"
boards = 2
""" + "".join(f'[[bots]]\nname = "{name}"\ncommand = ["{sys.executable}", "bot.py"]\n' for name in NAMES)


class Run:
    """One league in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "league.toml").write_text(LEAGUE)
        (folder / "bot.py").write_text(BOT)

    def start(self) -> "subprocess.Popen[bytes]":
        command = [str(Path(sys.executable).parent / "chaodipi"), "league", "run", "league.toml"]
        with (self.folder / "run.log").open("ab") as log:
            return subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, start_new_session=True)

    def answer(self) -> None:
        (self.folder / "answer").touch()

    def asked(self) -> list[list[str | None]]:
        """Entry, commitment and what was given, of every request."""
        path = self.folder / "asked.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def stored(self) -> list[str] | None:
        """The nonces in the store; None: none yet."""
        try:
            connection = sqlite3.connect(f"file:{self.folder / 'out/chaodipi.db'}?mode=ro", uri=True)
            [(text,)] = connection.execute("SELECT nonces FROM league").fetchall() or [("null",)]
            connection.close()
        except sqlite3.OperationalError:
            return None
        found: list[str] | None = json.loads(text)
        return found

    def finish(self) -> dict[str, object]:
        """Play to the end; what is revealed, and every record matches it."""
        code = self.start().wait(WAIT_S)
        assert code == 0, (self.folder / "run.log").read_text()[-2000:]
        assert verify_files([self.folder / "out/fair/records"])
        results: dict[str, object] = json.loads((self.folder / "out/fair/results.json").read_text())
        return results


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_league_stopped_while_it_asks_asks_again_under_the_same_commitment(run: Run, number: signal.Signals) -> None:
    """Nothing was dealt, so new nonces choose nothing; the seed was committed to, so it stays."""
    process = run.start()
    wait_until(lambda: len(run.asked()) == len(NAMES), "every bot is asked", WAIT_S)
    os.kill(process.pid, number)
    assert process.wait(WAIT_S) == (0 if number == signal.SIGTERM else -number)
    assert run.stored() is None
    results = run.folder / "out/fair/results.json"
    assert results.exists() == (number == signal.SIGTERM)
    if results.exists():
        told = json.loads(results.read_text())
        assert (told["seed"], told["nonces"], told["tables"]) == (None, None, 0)

    run.answer()
    told = run.finish()
    asked = run.asked()
    assert [entry for entry, _, _ in sorted(asked, key=str)] == [
        f"leagues/fair/entries/{name}" for name in NAMES for _ in range(2)
    ]
    assert {commitment for _, commitment, _ in asked} == {told["seed_commitment"]}
    given = {entry: nonce for entry, _, nonce in asked if nonce}
    assert told["nonces"] == [given[f"leagues/fair/entries/{name}"] for name in NAMES] == run.stored()
    assert Secrets(bytes.fromhex(str(told["seed"]))).commitment.hex() == told["seed_commitment"]


def test_a_league_killed_once_its_nonces_are_stored_asks_nobody_again(run: Run) -> None:
    run.answer()
    process = run.start()
    wait_until(lambda: run.stored() is not None, "the nonces are stored", WAIT_S)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(WAIT_S)
    stored = run.stored()
    assert stored is not None
    told = run.finish()
    assert told["nonces"] == stored == run.stored()
    assert len(run.asked()) == len(NAMES)
    assert sorted(stored) == sorted(str(nonce) for _, _, nonce in run.asked())


def test_a_bot_that_answers_nothing_counts_as_empty_and_the_league_says_so(run: Run) -> None:
    told = run.finish()
    assert told["nonces"] == ["", ""]
    assert "no nonce came from low, other: counted as empty" in (run.folder / "run.log").read_text()


def test_the_owner_of_a_bot_checks_what_it_kept_against_what_the_host_reveals(tmp_path: Path) -> None:
    """A bot of the SDK with --nonces; one digit of what it kept changed stands for a host that used another nonce."""
    bots = Path(sys.executable).parent
    command = f'["{bots / "chaodipi-bot"}", "run", "greedy", "--nonces", "mine.jsonl"]'
    mine = f'[[bots]]\nname = "mine"\ncommand = {command}\n[[bots]]\nname = "theirs"\nbaseline = "rules"\n'
    (tmp_path / "league.toml").write_text(LEAGUE.partition("[[bots]]")[0] + mine)

    def chaodipi(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [str(bots / "chaodipi"), *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=WAIT_S)

    played = chaodipi("league", "run", "league.toml")
    assert "every entry gave its nonce" in played.stdout, played.stderr
    checked = chaodipi("replay", "verify", "out/fair/records", "--nonces", "mine.jsonl")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout.endswith("commitment and nonce are those of mine\n")
    kept = json.loads((tmp_path / "mine.jsonl").read_text())
    kept["nonce"] = f"{int(kept['nonce'], 16) ^ 1:064x}"
    (tmp_path / "mine.jsonl").write_text(json.dumps(kept) + "\n")
    checked = chaodipi("replay", "verify", "out/fair/records", "--nonces", "mine.jsonl")
    assert checked.returncode == 1
    assert f"results.json: nonce: mine gave {kept['nonce']}, here it is " in checked.stdout


async def test_nonces_that_cannot_be_stored_for_a_while_are_stored_then_and_never_played_without() -> None:
    row = LeagueRow("t", "c" * 64, "d" * 64, NAMES, "points", 1, b"s" * 32, None)

    class Answering:
        async def collect_nonces(self, bots: Any, seed_commitment: bytes, within_ms: int) -> dict[str, bytes]:
            return {entry: bot.encode() for entry, bot in bots.items()}

    class Locked:
        def __init__(self, times: int) -> None:
            self.times = times

        def keep_nonces(self, name: str, nonces: Any) -> LeagueRow:
            self.times -= 1
            if self.times >= 0:
                raise StoreError("database is locked")
            return replace(row, nonces=tuple(nonces))

    async def collected(times: int) -> LeagueRow:
        store: Any = Locked(times)
        entries = tuple(map(Entry.of_bot, NAMES))
        return await collect(Console(quiet=True), Answering(), store, row, entries, pauses_s=(0, 0, 0))

    for times in range(4):
        assert (await collected(times)).nonces == (b"low", b"other")
    with pytest.raises(StoreError, match="database is locked"):
        await collected(4)
