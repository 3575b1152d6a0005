"""Kills at chosen points: before every statement to the store, in its migrations as in its writes, and every sync."""

import asyncio
import hashlib
import itertools
import os
import random
import shutil
import signal
import sqlite3
import stat
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from chaodipi.engine.ruleset import resolve
from chaodipi.service.boards.board import Secrets
from chaodipi.service.host.identity import hash_token, new_token, token_id
from chaodipi.service.records.record import record_name
from chaodipi.service.records.staging import Staging
from chaodipi.service.scheduler.league import play_league, results_json, settle_records
from chaodipi.service.scheduler.schedule import Entry, Plan, round_robin
from chaodipi.service.store import EarlierSchemaError, LeagueRow, Store, StoreError, TokenRow
from chaodipi.service.store.database import migrations
from chaodipi.service.store.rows import rows_of
from chaodipi.service.store.writer import Writer

from tests.league.stand_in import StandInHost, default_brain, high, shower

BRAINS = {"low": default_brain, "shower": shower}
PLAN = Plan("t", resolve("ming_chao"), tuple(map(Entry.of_bot, BRAINS)), 2, Secrets(b"s" * 32, (b"", b"")))
ROW = LeagueRow("t", "c" * 64, PLAN.ruleset.digest, tuple(BRAINS), "points", 2, PLAN.secrets.seed, PLAN.secrets.nonces)


class Remembering(StandInHost):
    """Plays each table once: what is looked at here is what becomes of its result."""

    def __init__(self):
        super().__init__(BRAINS | {"high": high})
        self.results = {}

    async def play_table(self, spec):
        if spec.table_id not in self.results:
            self.results[spec.table_id] = await super().play_table(spec)
        return self.results[spec.table_id]


class Countdown:
    """Kills this process with SIGKILL at its *at*-th tick."""

    def __init__(self, at):
        self.left = at

    def tick(self, *_):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def killed_at(at, work):
    """Whether *work(countdown)*, in a process of its own, was killed at tick *at*; it must end well otherwise."""
    child = os.fork()
    if not child:
        try:
            work(Countdown(at))
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


def on_statements(countdown):
    """Tick before every statement and commit of every store of this process, and when a connection is given back."""
    for event in ("before_cursor_execute", "commit"):
        sa.event.listen(sa.Engine, event, countdown.tick)
    sa.event.listen(sa.pool.Pool, "checkin", countdown.tick)


def old_store(path, revision):
    """A store of an earlier version, with a bot and a pair of a league in it."""
    config = migrations()
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        connection.exec_driver_sql("INSERT INTO bot VALUES ('zed', 'hash', '2026-01-02T03:04:05+00:00')")
        connection.exec_driver_sql("INSERT INTO league VALUES ('t','c','r','[\"a\",\"b\"]','points',1,'','[]','')")
        for which in (1, 2):
            connection.exec_driver_sql(
                f"INSERT INTO result VALUES ('t/{which}','t',0,{which},'a','b','played',60,20,1,1,3,0,50,'')"
            )
    engine.dispose()


def opened(path):
    def work(countdown):
        on_statements(countdown)
        Store(path, writing=True).close()
        os._exit(0)

    return work


@pytest.mark.parametrize("begins", ["missing", "0001"])
def test_a_store_survives_a_kill_anywhere_in_its_migrations(tmp_path, begins):
    """All of it or nothing: what is opened next is current, and holds what it held. Every third place, for time."""
    first = random.randrange(1, 4)
    print(f"places {first}, {first + 3}, …")
    for at in itertools.count(first, 3):
        path = tmp_path / f"{at}.db"
        if begins != "missing":
            old_store(path, begins)
        killed = killed_at(at, opened(path))
        with Store(path, writing=True) as store:
            assert store.database.is_current()
            if begins != "missing":
                assert [bot.name for bot in store.bots.all()] == ["zed"]
                assert store.outcomes("t")[0].decisions == 100
        if not killed:
            break
    assert at > 20, "the kills met nothing"


def ticking(function, countdown):
    """*function* with a place to be killed at before it and one after."""

    def call(*arguments, **more):
        countdown.tick()
        out = function(*arguments, **more)
        countdown.tick()
        return out

    return call


def on_files(countdown):
    """Tick in every write of text, and before and after every fsync, rename and mkdir of this process."""
    for name in ("fsync", "replace", "mkdir"):
        setattr(os, name, ticking(getattr(os, name), countdown))
    Path.open = lambda path, *how, real=Path.open, **more: Ticking(real(path, *how, **more), countdown)


class Ticking:
    """A file whose writes tick: a kill between two halves of a text leaves a half, as a full buffer would."""

    def __init__(self, file, countdown):
        self.file = file
        self.countdown = countdown

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def __getattr__(self, name):
        return getattr(self.file, name)

    def write(self, text):
        self.file.write(text[: len(text) // 2])
        self.file.flush()
        self.countdown.tick()
        self.file.write(text[len(text) // 2 :])


SHARED = Plan("t", resolve("huanle_2"), tuple(map(Entry.of_bot, (*BRAINS, "high"))), 2, PLAN.secrets, shared=True)


@pytest.mark.situation("T5")
@pytest.mark.parametrize("plan", [PLAN, SHARED], ids=["own", "shared"])
def test_a_league_survives_a_kill_anywhere_between_table_and_standings(tmp_path, plan):
    """
    At each write, fsync and rename of its records, and each statement and commit of its store; the next run plays on.

    After each kill all tables of a board are in the store or none; of a board that is not there is no record to be
    read, and each result that is there has its own. Two boards, of one pair each or of three. Each run tries every
    third or fifth place, for time.
    """
    host = Remembering()
    row = replace(ROW, ruleset_digest=plan.ruleset.digest, pairs=plan.pair_count)

    async def play(folder):
        with Store(folder / "x.db", writing=True) as store:
            store.begin_league(row)
            async with Writer(store) as writer:
                return await play_league(
                    plan,
                    host,
                    folder / "records",
                    done=store.outcomes("t"),
                    save=lambda board: writer.save(rows_of("t", board)),
                    tables_in_flight=2,
                )

    def work_in(folder):
        def work(countdown):
            Store(folder / "x.db", writing=True).close()
            on_statements(countdown)
            on_files(countdown)
            asyncio.run(play(folder))
            os._exit(0)

        return work

    whole = asyncio.run(play(tmp_path))
    records = contents(tmp_path / "records")
    boards = {}
    for pair in round_robin(plan):
        boards.setdefault(pair.board.index, set()).update(spec.table_id for spec in pair.tables)
    step = 5 if plan.shared else 3
    first = random.randrange(1, step + 1)
    print(f"places {first}, {first + step}, …")
    found = Counter()
    for at in itertools.count(first, step):
        folder = tmp_path / str(at)
        folder.mkdir()
        killed = killed_at(at, work_in(folder))
        stored = results_of(folder / "x.db")
        for tables in boards.values():
            names = {record_name(table) for table in tables}
            shown = names & contents(folder / "records").keys()
            assert tables & stored.keys() in (set(), tables)
            assert tables <= stored.keys() or not shown
            found["all shown" if shown == names else "some shown" if shown else "none shown"] += 1
        staging = Staging(folder / "records")
        for table, digest in stored.items():
            assert hashlib.sha256(staging.read(table)).hexdigest() == digest
        if staging.folder.exists():
            assert stat.S_IMODE(staging.folder.stat().st_mode) == 0o700
        outcomes = asyncio.run(play(folder))
        assert results_json(plan, outcomes, "points") == results_json(plan, whole, "points")
        assert contents(folder / "records") == records
        assert len(results_of(folder / "x.db")) == len([name for name in records if name.endswith(".jsonl")])
        assert not list(staging.folder.iterdir())
        shutil.rmtree(folder)
        if not killed:
            break
    assert at > 60, "the kills met nothing"
    assert found["some shown"], "no kill met a board whose records are published"


def contents(folder):
    """Name → bytes of every file of *folder*; nothing where there is none."""
    return {path.name: path.read_bytes() for path in folder.glob("*")}


def results_of(path):
    """Table → SHA-256 of its record, of every result in the store."""
    connection = sqlite3.connect(path)
    found = dict(connection.execute("SELECT table_id, record_sha256 FROM result"))
    connection.close()
    return found


@pytest.mark.situation("T5")
async def test_a_record_whose_result_is_not_in_the_store_is_not_to_be_read_and_not_lost(tmp_path):
    """A store that was put back to an earlier state plays boards again: their cards are hidden until it has."""
    records = tmp_path / "records"
    host = Remembering()
    whole = await play_league(SHARED, host, records)
    shown = contents(records)
    done = {outcome.number: outcome for outcome in whole if outcome.number != 4}
    settle_records(SHARED, records, done)
    assert {name.split("_")[1] for name in contents(records)} == {"00000"}
    settle_records(SHARED, records, {*done, 4})
    assert contents(records) == shown
    settle_records(SHARED, records, done)
    assert await play_league(SHARED, host, records, done=done) == whole
    assert contents(records) == shown


@pytest.mark.situation("T7")
async def test_a_record_that_cannot_be_published_counts_and_is_published_by_the_next_start(tmp_path, monkeypatch):
    """Its result is in the store and cannot be taken back; nobody plays its board again."""
    records = tmp_path / "records"
    real, failed = os.replace, []

    def replace_(old, new):
        if Path(new).parent == records and "_00001_" in Path(new).name:
            raise OSError(28, "No space left on device")
        real(old, new)

    host = Remembering()
    with monkeypatch.context() as full:
        full.setattr(os, "replace", replace_)
        outcomes = await play_league(SHARED, host, records, on_failed_save=failed.append, save_pauses_s=(0.0,))
    assert [outcome.number for outcome in outcomes] == list(range(6))
    assert failed == [1, 1]
    assert {name.split("_")[1] for name in contents(records)} == {"00000"}
    done = {outcome.number: outcome for outcome in outcomes}
    assert await play_league(SHARED, host, records, done=done) == outcomes
    assert len(contents(records)) == 2 * 12


def test_a_bot_that_was_being_added_is_there_whole_or_not_at_all(tmp_path):
    for at in itertools.count(1):
        path = tmp_path / f"{at}.db"
        Store(path, writing=True).close()
        token = new_token()
        row = TokenRow(token_id(token), "zed", hash_token(token), ("play",), 1_000_000.0)

        def work(countdown, path=path, row=row):
            with Store.beside(path) as store:
                on_statements(countdown)
                store.bots.add(row, "Ada")
            os._exit(0)

        killed = killed_at(at, work)
        with Store.beside(path) as store:
            bots = store.bots.all()
            assert all(bot.tokens for bot in bots)
            if not bots:
                store.bots.add(row, "Ada")
        if not killed:
            break
    assert at > 4, "the kills met nothing"


def test_a_backup_is_whole_or_not_there_and_one_that_was_killed_does_not_stand_in_the_way(tmp_path):
    path, to = tmp_path / "x.db", tmp_path / "b.db"
    with Store(path, writing=True) as store:
        store.begin_league(ROW)
    for at in (1, 2):

        def work(countdown):
            real = os.replace
            os.replace = lambda *names: (countdown.tick(), real(*names), countdown.tick())
            with Store(path, writing=False) as store:
                store.database.backup(to)
            os._exit(0)

        assert killed_at(at, work)
        assert to.exists() == (at == 2)
    with Store(to, writing=True) as copy:
        assert copy.league_names() == ["t"]
    with Store(path, writing=False) as store:
        with pytest.raises(StoreError, match=r"b\.db exists already"):
            store.database.backup(to)
        with pytest.raises(StoreError, match=r"backup to .*/no/b\.db: "):
            store.database.backup(tmp_path / "no" / "b.db")
        store.database.backup(tmp_path / "c.db")
    assert not list(tmp_path.glob("*.part*"))


def test_a_store_of_another_version_is_said_to_be_one(tmp_path):
    """A later one is never written to: its columns may mean what this version does not know."""
    later, earlier = tmp_path / "later.db", tmp_path / "earlier.db"
    Store(later, writing=True).close()
    connection = sqlite3.connect(later)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    before = later.read_bytes()
    said = r"store .*/later\.db is of a later version of chaodipi \(schema 9999\): install that version, or restore"
    for refused in (
        lambda: Store(later, writing=True),
        lambda: Store.beside(later),
        lambda: Store(later, writing=False).database.check_schema(),
    ):
        with pytest.raises(StoreError, match=said):
            refused()
    assert later.read_bytes() == before
    old_store(earlier, "0001")
    with (
        Store(earlier, writing=False) as store,
        pytest.raises(EarlierSchemaError, match=r"earlier\.db is of an earlier version: chaodipi db upgrade"),
    ):
        store.database.check_schema()


async def test_whoever_saves_hears_of_every_error_and_the_writer_goes_on(tmp_path, monkeypatch):
    """Also of ours: a league whose writer had gone would wait for ever."""
    with Store(tmp_path / "x.db", writing=True) as store:
        store.begin_league(ROW)
        real = store.save
        trouble = [ZeroDivisionError("ours")]
        monkeypatch.setattr(
            store, "save", lambda rows: real(rows) if not trouble else (_ for _ in ()).throw(trouble.pop())
        )
        failed = []
        async with asyncio.timeout(60), Writer(store) as writer:

            async def save(pair):
                try:
                    await writer.save(rows_of("t", pair))
                except StoreError as error:
                    failed.append(str(error))

            await play_league(PLAN, StandInHost(BRAINS), tmp_path / "records", save=save, tables_in_flight=2)
        assert failed == [f"store {store.path}: an internal error, ZeroDivisionError"]
        assert len(store.outcomes("t")) == 1
