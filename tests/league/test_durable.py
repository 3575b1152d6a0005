"""What was announced is on disk: records before results, results before standings, and a broken store is noticed."""

import asyncio
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from chaodipi.engine.ruleset import resolve
from chaodipi.service.boards.board import Secrets
from chaodipi.service.records.record import record_name
from chaodipi.service.scheduler.league import play_league
from chaodipi.service.scheduler.schedule import Entry, Plan
from chaodipi.service.store import LeagueRow, Store, StoreError
from chaodipi.service.store.rows import rows_of
from chaodipi.service.store.writer import Writer

from tests.league.stand_in import StandInHost, default_brain, shower

BRAINS = {"low": default_brain, "shower": shower}
PLAN = Plan("t", resolve("ming_chao"), tuple(map(Entry.of_bot, BRAINS)), 6, Secrets(b"s" * 32, (b"", b"")))
ROW = LeagueRow("t", "c" * 64, PLAN.ruleset.digest, tuple(BRAINS), "points", 6, PLAN.secrets.seed, PLAN.secrets.nonces)


async def played(folder: Path) -> Path:
    """A store with a whole league in it."""
    path = folder / "chaodipi.db"
    with Store(path, writing=True) as store:
        store.begin_league(ROW)
        async with Writer(store) as writer:
            await play_league(
                PLAN, StandInHost(BRAINS), folder / "records", save=lambda pair: writer.save(rows_of("t", pair))
            )
    return path


async def test_a_record_and_its_name_are_on_disk_before_its_result_is_written(tmp_path, monkeypatch):
    """Each record: its bytes, its staged name, the folder that holds it, its result, its place among the records."""
    done: list[tuple[str, str]] = []
    sync, rename = os.fsync, os.replace

    def fsync(file: int) -> None:
        done.append(("sync", Path(os.readlink(f"/proc/self/fd/{file}")).name))
        sync(file)

    def replace(old: Path, new: Path) -> None:
        done.append(("name", f"{Path(new).parent.name}/{Path(new).name}"))
        rename(old, new)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)

    async def save(board):
        done.extend(("result", record_name(spec.table_id)) for pair in board for spec in pair.pair.tables)

    await play_league(
        PLAN,
        StandInHost(BRAINS),
        tmp_path / "records",
        save=save,
        on_outcome=lambda outcome: done.append(("outcome", str(outcome.number))),
    )
    results = [name for kind, name in done if kind == "result"]
    assert len(results) == 12
    for name in results:
        steps = [
            done.index(("sync", f"{name}.part")),
            done.index(("name", f"records.staged/{name}")),
            done.index(("sync", "records.staged"), done.index(("name", f"records.staged/{name}"))),
            done.index(("result", name)),
            done.index(("name", f"records/{name}")),
            done.index(("sync", "records"), done.index(("name", f"records/{name}"))),
        ]
        assert steps == sorted(steps), (name, steps)
    assert [kind for kind, _ in done].count("outcome") == 6
    assert done[-1][0] == "outcome"


def roots(path: Path) -> dict[str, int]:
    """Name of every table and index → number of its first page, from 1."""
    connection = sqlite3.connect(path)
    found = dict(connection.execute("SELECT name, rootpage FROM sqlite_master WHERE rootpage > 0").fetchall())
    connection.close()
    return found


def damaged(path: Path, page: int) -> None:
    """Overwrite one page of 4,096 bytes, as a bad disk or a half copy would."""
    with path.open("r+b") as file:
        file.seek(4096 * (page - 1))
        file.write(b"\xa5" * 4096)


async def test_a_damaged_store_is_refused_at_the_start_wherever_it_is(tmp_path):
    """In any table or index, also where no query would meet it: nobody plays on into what cannot be trusted."""
    whole = await played(tmp_path)
    places = roots(whole)
    assert {"league", "result", "timing", "bot"} < places.keys()
    for name, page in places.items():
        copy = tmp_path / f"{name}.db"
        shutil.copy(whole, copy)
        damaged(copy, page)
        with pytest.raises(StoreError, match=f"store {copy} is damaged: .*: restore a backup"):
            Store(copy, writing=True)
        with pytest.raises(StoreError, match=f"store {copy} is damaged: .*: restore a backup"):
            Store(copy, writing=False)
    with Store(whole, writing=True) as store:
        assert len(store.outcomes("t")) == 6


def cut_off(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 8192 * 4096)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def overwritten(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(path.stat().st_size))


@pytest.mark.parametrize("harm", [cut_off, emptied, overwritten])
async def test_a_store_that_was_cut_off_or_overwritten_is_refused_by_all_and_left_as_it_is(tmp_path, harm):
    path = await played(tmp_path)
    harm(path)
    before = path.read_bytes()
    for opened in (
        lambda: Store(path, writing=True),
        lambda: Store(path, writing=False),
        lambda: Store.beside(path),
    ):
        with pytest.raises(StoreError, match=f"store {path} .*: restore a backup") as refused:
            opened()
        assert "\n" not in str(refused.value)
    assert path.read_bytes() == before


async def test_a_store_without_its_wal_is_as_it_was_before_what_was_in_it(tmp_path):
    """Nothing else knows of it: what is lost is played again."""
    path = await played(tmp_path)
    reader = sqlite3.connect(path)  # whoever has it open keeps its WAL from being written back
    reader.execute("SELECT * FROM league").fetchall()
    with Store(path, writing=True) as store, store.database.writing() as connection:
        for table in ("timing", "summary", "result"):
            connection.exec_driver_sql(f"DELETE FROM {table}")
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    with Store(path, writing=False) as store:
        assert store.outcomes("t") == {}
    reader.close()
    with Store(copy, writing=False) as store:
        assert len(store.outcomes("t")) == 6


COMMANDS = [
    ["league", "run", "league.toml"],
    ["league", "standings"],
    ["bot", "list"],
    ["bot", "add", "ant"],
    ["db", "backup", "copy.db"],
    ["db", "upgrade"],
    ["serve", "--config", "serve.toml"],
    ["doctor", "--config", "serve.toml", "--json"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: "-".join(command[:2]))
async def test_a_command_on_a_damaged_store_ends_with_one_clear_line(tmp_path, command):
    (tmp_path / "out").mkdir()
    store = await played(tmp_path / "out")
    damaged(store, roots(store)["result"])
    (tmp_path / "serve.toml").write_text('store = "out/chaodipi.db"\nlisten = "127.0.0.1:0"\n')
    (tmp_path / "league.toml").write_text(
        'name = "t"\nruleset = "ming_chao"\n[[bots]]\nname = "a"\nbaseline = "random"\n'
        '[[bots]]\nname = "b"\nbaseline = "greedy"\n'
    )
    chaodipi = str(Path(sys.executable).parent / "chaodipi")
    done = subprocess.run([chaodipi, *command], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    if command[0] == "doctor":
        assert (done.returncode, done.stderr) == (1, "")
        assert "store out/chaodipi.db is damaged: " in done.stdout
        return
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("chaodipi: store out/chaodipi.db is damaged: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.situation("T6")
async def test_t6_the_same_result_twice_is_no_change_and_another_one_is_an_alarm(tmp_path, capsys):
    """Through the writer, as a worker that lost its answer would repeat it; the first of two that differ is kept."""
    pairs = []

    async def save(pair):
        pairs.append(rows_of("t", pair))

    await play_league(PLAN, StandInHost(BRAINS), tmp_path / "records", save=save)
    with Store(tmp_path / "x.db", writing=True) as store:
        store.begin_league(ROW)
        async with Writer(store) as writer:
            for rows in [*pairs, *pairs]:
                await writer.save(rows)
            before = store.outcomes("t")
            assert len(before) == 6
            assert "result_conflict" not in capsys.readouterr().out
            first = pairs[0]
            other = type(first)(tuple(row | {"score": 999, "points": 1} for row in first.results), first.timings)
            saves = await asyncio.gather(writer.save(other), writer.save(pairs[1]), return_exceptions=True)
            assert (
                str(saves[0]) == f"store {store.path} has another result of {first.results[0]['table_id']}, which stays"
            )
            assert saves[1] is None
            assert capsys.readouterr().out.count("result_conflict") == 1
            assert store.outcomes("t") == before
