"""The store: results once, pairs whole, one process, and a league that plays on where it stopped."""

import asyncio
import sqlite3
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from importlib.resources import files

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from chaodipi.engine.cards import SEATS
from chaodipi.engine.ruleset import resolve
from chaodipi.service.boards.board import Secrets
from chaodipi.service.cli.admission import grant_of
from chaodipi.service.host.errors import SessionRefused
from chaodipi.service.host.identity import Tokens, hash_token, new_token, token_id
from chaodipi.service.scheduler.league import play_league, results_json
from chaodipi.service.scheduler.schedule import Entry, Plan
from chaodipi.service.scheduler.standings import standings
from chaodipi.service.scheduler.timing import decision_times, quantile
from chaodipi.service.store import LeagueRow, Store, StoreError, TokenRow
from chaodipi.service.store.rows import Rows, rows_of
from chaodipi.service.store.tables import METADATA
from chaodipi.service.store.writer import Writer

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


@pytest.mark.situation("T5")
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


@pytest.mark.situation("T6")
async def test_a_result_is_written_once_and_the_first_is_kept(tmp_path, store):
    pairs = []

    async def save(played):
        pairs.append(rows_of("t", played))

    await play_league(PLAN, StandInHost(BRAINS), tmp_path / "records", save=save)
    rows = Rows(sum((pair.results for pair in pairs), ()), sum((pair.timings for pair in pairs), ()))
    assert store.save(rows) == []
    assert store.save(rows) == []
    before = store.outcomes("t")
    first = rows.results[0]
    assert store.save(Rows((first | {"score": 999, "points": -919},))) == [first["table_id"]]
    assert store.outcomes("t") == before


def test_half_a_pair_does_not_count(store):
    zero = dict.fromkeys(("score", "points", "steps", "win", "decisions"), 0)
    zero |= {"first_faults": "{}", "second_faults": "{}"}
    row = {"table_id": "t/0/a-b/1", "league": "t", "pair": 0, "which": 1, "first": "a", "second": "b", "how": "played"}
    store.save(Rows((row | zero | {"record_sha256": ""},)))
    assert store.outcomes("t") == {}


def test_another_configuration_is_refused(store):
    assert store.begin_league(replace(ROW, seed=b"other")) == ROW
    with pytest.raises(StoreError, match="begun with another configuration"):
        store.begin_league(replace(ROW, config_digest="d" * 64))


def test_nonces_are_kept_once_and_under_the_seed_that_was_committed_to(tmp_path):
    """Until they are there the league begins again with its first seed; then with them, whatever is brought later."""
    path = tmp_path / "asked.db"
    asked = replace(ROW, nonces=None)
    with Store(path, writing=True) as store:
        assert store.begin_league(asked) == asked
    with Store(path, writing=True) as store:
        assert store.begin_league(replace(asked, seed=b"another seed")) == asked
        full = replace(asked, nonces=(b"\0" * 32, b"", b"x"))
        assert store.keep_nonces("t", full.nonces) == full
        assert store.keep_nonces("t", (b"1", b"2", b"3")) == full
    with Store(path, writing=True) as store:
        assert store.begin_league(asked) == full


def test_nonces_that_a_league_began_with_are_not_replaced(store):
    assert store.keep_nonces("t", (b"1", b"2", b"3")) == ROW
    with pytest.raises(StoreError, match="no league 'u'"):
        store.keep_nonces("u", (b"1",))


def test_nonces_that_cannot_be_written_are_a_fault_of_the_store(store):
    broken = sqlite3.connect(store.path)
    broken.execute("DROP TABLE league")
    broken.close()
    with pytest.raises(StoreError, match=r"x\.db: no such table: league"):
        store.keep_nonces("t", (b"1", b"2", b"3"))


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
    token = new_token()
    store.bots.add(row_of("zed", token))
    with pytest.raises(StoreError, match="exists already"):
        store.bots.add(row_of("zed", new_token()))
    assert [bot.name for bot in store.bots.all()] == ["zed"]
    store.database.backup(store.path.with_name("b.db"))
    assert token[9:].encode() not in store.path.with_name("b.db").read_bytes()


def row_of(bot, token, **more):
    return TokenRow(token_id(token), bot, hash_token(token), ("play",), 1_000_000.0, **more)


def test_a_token_of_before_lets_its_bot_in_after_the_migration(tmp_path):
    """Its id is not in the store of before; it is found by what its hash makes of it, and its bot has no owner."""
    token = new_token()
    path = tmp_path / "old.db"
    engine = sa.create_engine(f"sqlite:///{path}")
    config = Config()
    config.set_main_option("script_location", str(files("chaodipi.service.store") / "migrations"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0002")
        connection.exec_driver_sql(f"INSERT INTO bot VALUES ('zed','{hash_token(token)}','2026-01-02T03:04:05+00:00')")
    with Store.beside(path) as store:
        [bot] = store.bots.all()
    known = Tokens()
    known.set(grant_of(bot.tokens[0]))
    assert (bot.name, bot.owner, known.check(token, 0.0).name) == ("zed", "", "zed")
    with pytest.raises(SessionRefused, match="belongs to no bot"):
        known.check(new_token(), 0.0)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
        command.downgrade(config, "0002")
        kept = connection.exec_driver_sql("SELECT * FROM bot").all()
    engine.dispose()
    assert kept == [("zed", hash_token(token), "2026-01-02T03:04:05+00:00")]


def test_bots_may_be_changed_while_another_process_holds_the_store(store):
    """The lock is for results: an organiser adds and revokes tokens while a league is played."""
    with Store.beside(store.path) as other:
        other.bots.add(row_of("zed", token := new_token()))
        other.bots.used({token_id(token): 2_000_000.0, "unknown": 1.0})
        [row] = store.bots.tokens()
        assert (row.holds(2e6), row.used_at) == (True, 2_000_000.0)
        other.bots.revoke("zed", 3_000_000.0)
        assert not store.bots.get("zed").tokens[0].holds(2e6)
    with pytest.raises(StoreError, match=r"no bot and no token 'yak' in .*; bots there: zed"):
        store.bots.revoke("yak", 0.0)


def test_rotation_ends_older_tokens_now_or_at_the_end_of_grace_and_never_later_than_they_would_have(store):
    first, second, third = new_token(), new_token(), new_token()
    store.bots.add(row_of("zed", first, expires_at=1_000_050.0))
    store.bots.rotate(row_of("zed", second), 1_000_100.0)
    assert [token.expires_at for token in store.bots.tokens()] == [1_000_050.0, None]
    store.bots.rotate(row_of("zed", third), 1_000_000.0)
    assert [(token.id, token.revoked_at is None) for token in store.bots.tokens()] == [
        (first[:8], False),
        (second[:8], False),
        (third[:8], True),
    ]


def test_a_file_that_is_no_store(tmp_path):
    (tmp_path / "x.db").write_text("not a database, but long enough to be looked at" * 10)
    with pytest.raises(StoreError, match="file is not a database"):
        Store(tmp_path / "x.db", writing=True)
    sqlite3.connect(tmp_path / "y.db").close()
    for writing in (True, False):
        with pytest.raises(StoreError, match=r"y\.db has nothing of chaodipi in it: restore a backup, or remove it"):
            Store(tmp_path / "y.db", writing=writing)
    assert (tmp_path / "y.db").read_bytes() == b""


async def test_writes_that_wait_share_a_commit(store, monkeypatch):
    groups = []
    real = store.save
    monkeypatch.setattr(store, "save", lambda rows: groups.append(len(rows.results)) or real(rows))
    zero = dict.fromkeys(("score", "points", "steps", "win", "decisions"), 0)
    zero |= {"first_faults": "{}", "second_faults": "{}"}
    base = {"league": "t", "first": "a", "second": "b", "how": "played", "record_sha256": ""} | zero
    async with Writer(store) as writer:
        rows = [base | {"table_id": f"{n}", "pair": n, "which": 1} for n in range(20)]
        await asyncio.gather(*(writer.save(Rows((row,))) for row in rows))
    assert sum(groups) == 20
    assert len(groups) < 5


async def test_faults_forfeits_and_times_come_back_as_they_were_counted(tmp_path, store):
    """What a resumed league reads from the store is what it would have counted itself, times included."""

    class FaultyHost(StandInHost):
        """Every action of "low" takes 7 ms, of others 3; at each first table "low" forfeits."""

        async def play_table(self, spec):
            result = await super().play_table(spec)
            result = replace(
                result,
                decisions=tuple(replace(d, think_ms=7 if spec.bots[d.seat] == "low" else 3) for d in result.decisions),
            )
            seat = next((seat for seat in SEATS if spec.bots[seat] == "low"), None)
            if seat is None or not spec.table_id.endswith("/1"):
                return result
            return replace(
                result,
                how="forfeit",
                score=0,
                dealer=None,
                settlement=None,
                faults={seat: {"timeout": 2, "illegal": 1}, seat.next: {"malformed": 1}},
                forfeiting_seat=seat,
            )

    live = await play(store, tmp_path / "records", host=FaultyHost(BRAINS))
    stored = [outcome for _, outcome in sorted(store.outcomes("t").items())]
    assert stored == live
    assert [outcome.times for outcome in stored] == [outcome.times for outcome in live]
    low, shower_, high_ = (
        next(line for line in standings(list(BRAINS), stored) if line.entry == name) for name in BRAINS
    )
    assert (low.faults, low.forfeits) == ({"illegal": 6, "timeout": 12}, 6)
    assert (shower_.faults, shower_.forfeits) == (high_.faults, high_.forfeits) == ({"malformed": 3}, 0)
    times = decision_times(stored)
    assert {name: (t.median_ms, t.p99_ms, t.mean_ms) for name, t in times.items()} == {
        "low": (7, 7, 7.0),
        "shower": (3, 3, 3.0),
        "high": (3, 3, 3.0),
    }


def test_a_quantile_is_the_least_time_within_which_the_share_was_decided():
    times = Counter({1: 50, 2: 49, 900: 1})
    assert [quantile(times, share) for share in (0.0, 0.5, 0.51, 0.99, 1.0)] == [1, 1, 2, 2, 900]


def test_a_store_of_before_keeps_its_results(tmp_path):
    """Migrating from the first schema: margins stay, faults become ones of unknown kind, times are none."""
    path = tmp_path / "old.db"
    engine = sa.create_engine(f"sqlite:///{path}")
    config = Config()
    config.set_main_option("script_location", str(files("chaodipi.service.store") / "migrations"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.exec_driver_sql("INSERT INTO league VALUES ('t','c','r','[\"a\",\"b\"]','points',1,'','[]','')")
        for which, faults in ((1, 3), (2, 0)):
            connection.exec_driver_sql(
                f"INSERT INTO result VALUES ('t/{which}','t',0,{which},'a','b','played',60,20,1,1,{faults},0,50,'')"
            )
    engine.dispose()
    with Store(path, writing=True) as store:
        [outcome] = store.outcomes("t").values()
    assert outcome.faults == {"a": {"unknown": 3}, "b": {}}
    assert (outcome.margins[0].points, outcome.decisions, outcome.times["a"].total()) == (20, 100, 0)
