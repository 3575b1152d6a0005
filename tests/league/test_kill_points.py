"""Kills at chosen points: before every statement to the store, in its migrations as in its writes, and every sync."""

import asyncio
import itertools
import os
import random
import shutil
import signal
import sqlite3

import pytest
import sqlalchemy as sa
from alembic import command
from chaodipi.engine.ruleset import resolve
from chaodipi.service.boards.board import Secrets
from chaodipi.service.host.identity import hash_token, new_token, token_id
from chaodipi.service.records.record import record_name
from chaodipi.service.scheduler.league import play_league, results_json
from chaodipi.service.scheduler.schedule import Entry, Plan
from chaodipi.service.store import EarlierSchemaError, LeagueRow, Store, StoreError, TokenRow
from chaodipi.service.store.rows import rows_of
from chaodipi.service.store.store import Writer, _migrations

from tests.league.stand_in import StandInHost, default_brain, shower

BRAINS = {"low": default_brain, "shower": shower}
PLAN = Plan("t", resolve("ming_chao"), tuple(map(Entry.of_bot, BRAINS)), 2, Secrets(b"s" * 32, (b"", b"")))
ROW = LeagueRow("t", "c" * 64, PLAN.ruleset.digest, tuple(BRAINS), "points", 2, PLAN.secrets.seed, PLAN.secrets.nonces)


class Remembering(StandInHost):
    """Plays each table once: what is looked at here is what becomes of its result."""

    def __init__(self):
        super().__init__(BRAINS)
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
    config = _migrations()
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
            assert store.is_current()
            if begins != "missing":
                assert [bot.name for bot in store.bots.all()] == ["zed"]
                assert store.outcomes("t")[0].decisions == 100
        if not killed:
            break
    assert at > 20, "the kills met nothing"


def test_a_league_survives_a_kill_anywhere_between_table_and_standings(tmp_path, monkeypatch):
    """
    Before each fsync and rename of its records, and each statement to its store; the next run plays the rest.

    After each kill every result in the store has its record, and only whole pairs count.
    """

    host = Remembering()

    async def play(folder):
        with Store(folder / "x.db", writing=True) as store:
            store.begin_league(ROW)
            done = store.outcomes("t")
            async with Writer(store) as writer:
                return await play_league(
                    PLAN,
                    host,
                    folder / "records",
                    done=done,
                    save=lambda pair: writer.save(rows_of("t", pair)),
                    tables_in_flight=2,
                )

    def ticking(function, countdown):
        def call(*arguments):
            countdown.tick()
            function(*arguments)

        return call

    def work_in(folder):
        def work(countdown):
            Store(folder / "x.db", writing=True).close()
            on_statements(countdown)
            os.fsync = ticking(os.fsync, countdown)
            os.replace = ticking(os.replace, countdown)
            asyncio.run(play(folder))
            os._exit(0)

        return work

    whole = asyncio.run(play(tmp_path))
    records = {path.name: path.read_bytes() for path in (tmp_path / "records").glob("*.jsonl")}
    for at in itertools.count(1):
        folder = tmp_path / str(at)
        folder.mkdir()
        killed = killed_at(at, work_in(folder))
        connection = sqlite3.connect(folder / "x.db")
        stored = [table for (table,) in connection.execute("SELECT table_id FROM result")]
        connection.close()
        assert len(stored) % 2 == 0
        assert all(
            (folder / "records" / record_name(table)).read_bytes() == records[record_name(table)] for table in stored
        )
        outcomes = asyncio.run(play(folder))
        assert results_json(PLAN, outcomes, "points") == results_json(PLAN, whole, "points")
        assert {path.name: path.read_bytes() for path in (folder / "records").glob("*.jsonl")} == records
        assert not list((folder / "records").glob("*.part"))
        shutil.rmtree(folder)
        if not killed:
            break
    assert at > 30, "the kills met nothing"


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
                store.backup(to)
            os._exit(0)

        assert killed_at(at, work)
        assert to.exists() == (at == 2)
    with Store(to, writing=True) as copy:
        assert copy.league_names() == ["t"]
    with Store(path, writing=False) as store:
        with pytest.raises(StoreError, match=r"b\.db exists already"):
            store.backup(to)
        with pytest.raises(StoreError, match=r"backup to .*/no/b\.db: "):
            store.backup(tmp_path / "no" / "b.db")
        store.backup(tmp_path / "c.db")
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
        lambda: Store(later, writing=False).check_schema(),
    ):
        with pytest.raises(StoreError, match=said):
            refused()
    assert later.read_bytes() == before
    old_store(earlier, "0001")
    with (
        Store(earlier, writing=False) as store,
        pytest.raises(EarlierSchemaError, match=r"earlier\.db is of an earlier version: chaodipi db upgrade"),
    ):
        store.check_schema()


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
