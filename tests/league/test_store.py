"""The store: results once, pairs whole, one process, and a league that plays on where it stopped."""

import asyncio
import sqlite3
import subprocess
import sys
from dataclasses import replace

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from chaodipi.engine.ruleset import resolve
from chaodipi.service.boards.board import Secrets
from chaodipi.service.scheduler.league import play_league, results_json
from chaodipi.service.scheduler.schedule import Entry, Plan
from chaodipi.service.store import LeagueRow, Store, StoreError
from chaodipi.service.store.rows import rows_of
from chaodipi.service.store.store import Writer
from chaodipi.service.store.tables import METADATA

from tests.league.stand_in import StandInHost, default_brain, high, shower

BRAINS = {"low": default_brain, "shower": shower, "high": high}
PLAN = Plan("t", resolve("ming_chao"), tuple(map(Entry.of_bot, BRAINS)), 3, Secrets(b"s" * 32, (b"", b"", b"")))
ROW = LeagueRow("t", "c" * 64, PLAN.ruleset.digest, tuple(BRAINS), "points", 9, PLAN.secrets.seed, PLAN.secrets.nonces)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "x.db", writing=True) as opened:
        opened.begin_league(ROW)
        yield opened


class StoppedError(Exception):
    pass


async def play(store, folder, stop_after=None, host=None):
    host = host or StandInHost(BRAINS, stagger=True)
    async with Writer(store) as writer:
        saved = 0

        async def save(played):
            nonlocal saved
            if saved == stop_after:
                raise StoppedError
            saved += 1
            await writer.save(rows_of("t", played))

        return await play_league(PLAN, host, folder, done=store.outcomes("t"), save=save, tables_in_flight=4)


async def test_a_league_that_was_stopped_ends_as_one_that_was_not(tmp_path, store):
    with pytest.raises(StoppedError):
        await play(store, tmp_path / "records", stop_after=4)
    assert len(store.outcomes("t")) == 4
    host = StandInHost(BRAINS)
    stopped = await play(store, tmp_path / "records", host=host)
    assert len(host.played) == 2 * 5
    whole = await play_league(PLAN, StandInHost(BRAINS), tmp_path / "other")
    assert results_json(PLAN, stopped, "points") == results_json(PLAN, whole, "points")
    assert list(store.outcomes("t").values()) == whole
    for path in (tmp_path / "other").glob("*.jsonl"):
        assert path.read_bytes() == (tmp_path / "records" / path.name).read_bytes()


async def test_a_result_is_written_once_and_the_first_is_kept(tmp_path, store):
    rows = []

    async def save(played):
        rows.extend(rows_of("t", played))

    await play_league(PLAN, StandInHost(BRAINS), tmp_path / "records", save=save)
    assert store.save(rows) == []
    assert store.save(rows) == []
    before = store.outcomes("t")
    assert store.save([rows[0] | {"score": 999, "points": -919}]) == [rows[0]["table_id"]]
    assert store.outcomes("t") == before


def test_half_a_pair_does_not_count(store):
    zero = dict.fromkeys(("score", "points", "steps", "win", "first_faults", "second_faults", "decisions"), 0)
    row = {"table_id": "t/0/a-b/1", "league": "t", "pair": 0, "which": 1, "first": "a", "second": "b", "how": "played"}
    store.save([row | zero | {"record_sha256": ""}])
    assert store.outcomes("t") == {}


def test_another_configuration_is_refused(store):
    assert store.begin_league(replace(ROW, seed=b"other")) == ROW
    with pytest.raises(StoreError, match="begun with another configuration"):
        store.begin_league(replace(ROW, config_digest="d" * 64))


def test_a_second_process_stops_with_one_clear_line(store):
    code = (
        "import pathlib, sys; from chaodipi.service.store import Store\n"
        "try: Store(pathlib.Path(sys.argv[1]), writing=True)\n"
        "except Exception as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(store.path)], capture_output=True, text=True, check=False)
    assert done.stdout.startswith(f"store {store.path} is in use by another process (pid ")
    with Store(store.path, writing=False) as reader:
        assert reader.league_names() == ["t"]


def test_migrations_make_the_tables_of_the_code(store):
    engine = sa.create_engine(f"sqlite:///{store.path}")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    engine.dispose()


def test_tokens_are_kept_as_hashes_only(store):
    store.add_bot("zed", "secret-token")
    assert list(store.bot_hashes()) == ["zed"]
    with pytest.raises(StoreError, match="exists already"):
        store.add_bot("zed", "other")
    store.backup(store.path.with_name("b.db"))
    assert b"secret-token" not in store.path.with_name("b.db").read_bytes()


def test_a_file_that_is_no_store(tmp_path):
    (tmp_path / "x.db").write_text("not a database, but long enough to be looked at" * 10)
    with pytest.raises(StoreError, match="file is not a database"):
        Store(tmp_path / "x.db", writing=True)
    sqlite3.connect(tmp_path / "y.db").close()
    with pytest.raises(StoreError, match="no such table"):
        Store(tmp_path / "y.db", writing=False)


async def test_writes_that_wait_share_a_commit(store, monkeypatch):
    groups = []
    real = store.save
    monkeypatch.setattr(store, "save", lambda rows: groups.append(len(rows)) or real(rows))
    zero = dict.fromkeys(("score", "points", "steps", "win", "first_faults", "second_faults", "decisions"), 0)
    base = {"league": "t", "first": "a", "second": "b", "how": "played", "record_sha256": ""} | zero
    async with Writer(store) as writer:
        rows = [base | {"table_id": f"{n}", "pair": n, "which": 1} for n in range(20)]
        await asyncio.gather(*(writer.save([row]) for row in rows))
    assert sum(groups) == 20
    assert len(groups) < 5
