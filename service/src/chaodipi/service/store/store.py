"""One SQLite file: WAL, FULL sync, one writer.

A result is written once, keyed by its table's id, both tables of a pair in one transaction. Writes of many pairs share
a commit: :class:`Writer` takes all that wait. One process writes results at a time, by a lock on the file beside the
store; bots and their tokens, each change one short transaction, may be changed beside it.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any

import sqlalchemy as sa
import structlog
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from chaodipi.service.files import sync_folder
from chaodipi.service.match.summary import TableSummary
from chaodipi.service.records.summary import summary_from_json
from chaodipi.service.scheduler.margins import Margin
from chaodipi.service.scheduler.standings import PairOutcome
from chaodipi.service.store.bots import Bots
from chaodipi.service.store.errors import EarlierSchemaError, StoreError
from chaodipi.service.store.rows import Rows
from chaodipi.service.store.tables import leagues, plans, results, summaries, timings
from sqlalchemy.dialects.sqlite import insert

__all__ = ["LeagueRow", "PlannedLeague", "SavedTable", "Store", "StoreError", "Writer"]

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class LeagueRow:
    """A league as stored; ``entries`` in entry order, ``pairs`` planned; ``nonces`` None: not collected yet."""

    name: str
    config_digest: str
    ruleset_digest: str
    entries: tuple[str, ...]
    rank_by: str
    pairs: int
    seed: bytes
    nonces: tuple[bytes, ...] | None


@dataclass(frozen=True, slots=True)
class PlannedLeague:
    """A league with its *plan* as JSON, when it was begun in Unix seconds, and how many tables are *saved*."""

    row: LeagueRow
    plan: str
    created_at: float
    saved: int


@dataclass(frozen=True, slots=True)
class SavedTable:
    """A table in the store; when it was saved in Unix seconds, None if that was not kept."""

    table_id: str
    pair: int
    how: str
    record_sha256: str
    saved_at: float | None


class Store:
    """
    The store at *path*; a context manager.

    Args:
        writing: Lock it for this process and bring its schema up to date. Otherwise it must exist, and of all methods
            only those of :attr:`bots` may write.

    Attributes:
        bots: The bots and their tokens.

    Raises:
        StoreError: not writable, in use by another process, missing, damaged, or no store at all.
    """

    def __init__(self, path: Path, *, writing: bool) -> None:
        self.path = path
        self._lock = _lock(path) if writing else None
        if not writing and not path.exists():
            raise StoreError(f"no store at {path}")
        self._engine = sa.create_engine(f"sqlite:///{path}", poolclass=sa.NullPool)
        sa.event.listen(self._engine, "connect", _on_connect)
        sa.event.listen(self._engine, "begin", _begin)
        self._writes = self._engine.execution_options(writes=True)
        self.bots = Bots(path, self._engine, self._writes)
        try:
            if writing:
                self.check()
                self.upgrade()
            else:
                with self._engine.begin() as connection:
                    connection.execute(sa.select(sa.func.count()).select_from(leagues))
        except StoreError:
            self.close()
            raise
        except sa.exc.DatabaseError as error:
            self.close()
            raise StoreError(f"store {path}: {error.orig}") from error

    @classmethod
    def beside(cls, path: Path) -> "Store":
        """
        The store without its lock, for its bots: also while a league writes results to it.

        It is made, or brought up to date, if need be.

        Raises:
            StoreError: that is needed and another process holds it; or not writable, or no store at all.
        """
        if not path.exists():
            cls(path, writing=True).close()
        store = cls(path, writing=False)
        if store.is_current():
            return store
        store.close()
        cls(path, writing=True).close()
        return cls(path, writing=False)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file and its lock."""
        self._engine.dispose()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def check(self) -> None:
        """
        Look at the whole file.

        Raises:
            StoreError: it is damaged; the disk's fault, or that of whoever copied it while it was written to.
        """
        try:
            with self._engine.connect() as connection:
                found = str(connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar())
        except sa.exc.DatabaseError as error:
            if getattr(error.orig, "sqlite_errorcode", None) != sqlite3.SQLITE_CORRUPT:
                raise
            found = str(error.orig)
        if found != "ok":
            what = " ".join(found.split())
            raise StoreError(f"store {self.path} is damaged: {what}: restore a backup")

    def upgrade(self) -> None:
        """
        Bring the schema up to date, all of it or nothing; nothing happens if it is.

        Raises:
            StoreError: it is of a later version, which may mean by its columns what this one does not know.
        """
        config = _migrations()
        with self._writes.begin() as connection:
            self._check_known(connection)
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def is_current(self) -> bool:
        """Whether the schema is the one of this version."""
        with self._engine.begin() as connection:
            heads = MigrationContext.configure(connection).get_current_heads()
        return set(heads) == set(ScriptDirectory.from_config(_migrations()).get_heads())

    def check_schema(self) -> None:
        """
        Look whether its schema is the one of this version.

        Raises:
            EarlierSchemaError, StoreError: it is of an earlier or a later one; the message says what to do.
        """
        with self._engine.begin() as connection:
            self._check_known(connection)
        if not self.is_current():
            raise EarlierSchemaError(
                f"store {self.path} is of an earlier version: chaodipi db upgrade brings it up to date"
            )

    def _check_known(self, connection: sa.Connection) -> None:
        known = {script.revision for script in ScriptDirectory.from_config(_migrations()).walk_revisions()}
        unknown = set(MigrationContext.configure(connection).get_current_heads()) - known
        if unknown:
            raise StoreError(
                f"store {self.path} is of a later version of chaodipi (schema {', '.join(sorted(unknown))}): "
                "install that version, or restore a backup from before it"
            )

    def damage(self) -> list[str]:
        """What SQLite finds wrong with the file, a line each; nothing if it is sound. Reads all of it."""
        try:
            with self._engine.begin() as connection:
                said = list(connection.exec_driver_sql("PRAGMA integrity_check").scalars())
        except sa.exc.DatabaseError as error:
            return [str(error.orig)]
        return [] if said == ["ok"] else [str(line) for line in said]

    def backup(self, to: Path) -> None:
        """
        Copy the store as it is now to *to*, also while another process writes; it appears there whole or not at all.

        Raises:
            StoreError: *to* exists or cannot be written.
        """
        if to.exists():
            raise StoreError(f"backup: {to} exists already")
        part = to.with_name(to.name + ".part")
        try:
            part.unlink(missing_ok=True)
            with (
                contextlib.closing(sqlite3.connect(self.path)) as source,
                contextlib.closing(sqlite3.connect(part)) as copy,
            ):
                source.backup(copy)
            os.replace(part, to)
            sync_folder(to.parent)
        except (sqlite3.Error, OSError) as error:
            with contextlib.suppress(OSError):
                part.unlink()
            raise StoreError(f"backup to {to}: {getattr(error, 'strerror', None) or error}") from error

    # ---- leagues

    def begin_league(self, league: LeagueRow) -> LeagueRow:
        """
        The league of this name as stored: *league*, or the one begun before (then with its seed and nonces).

        Raises:
            StoreError: it was begun with another configuration; the organiser's mistake.
        """
        row = {
            "name": league.name,
            "config_digest": league.config_digest,
            "ruleset_digest": league.ruleset_digest,
            "entries": json.dumps(league.entries),
            "rank_by": league.rank_by,
            "pairs": league.pairs,
            "seed": league.seed.hex(),
            "nonces": _nonces_text(league.nonces),
            "created_at": _now(),
        }
        with self._writes.begin() as connection:
            connection.execute(insert(leagues).values(row).on_conflict_do_nothing())
        stored = self.league(league.name)
        if stored.config_digest != league.config_digest:
            raise StoreError(
                f"league {league.name!r} was begun with another configuration "
                f"({stored.config_digest[:12]}, now {league.config_digest[:12]}); give it a new name or a new store"
            )
        return stored

    def keep_nonces(self, name: str, nonces: Sequence[bytes]) -> LeagueRow:
        """
        The league *name* with *nonces*, one for each entry, all of them on disk; those stored before are kept instead.

        Raises:
            StoreError: there is no such league, or the store cannot be written.
        """
        missing = leagues.c.nonces == _nonces_text(None)
        query = leagues.update().where(leagues.c.name == name, missing).values(nonces=_nonces_text(nonces))
        try:
            with self._writes.begin() as connection:
                connection.execute(query)
        except sa.exc.DatabaseError as error:
            raise StoreError(f"store {self.path}: {error.orig}") from error
        return self.league(name)

    def league(self, name: str) -> LeagueRow:
        """The league *name*; StoreError if there is none."""
        with self._engine.begin() as connection:
            row = connection.execute(sa.select(leagues).where(leagues.c.name == name)).one_or_none()
        if row is None:
            raise StoreError(f"no league {name!r} in {self.path}; there: {', '.join(self.league_names()) or 'none'}")
        return _league(row)

    def league_names(self) -> list[str]:
        """Names of all leagues."""
        with self._engine.begin() as connection:
            return list(connection.execute(sa.select(leagues.c.name).order_by(leagues.c.name)).scalars())

    def keep_plan(self, league: str, plan: str) -> None:
        """Keep *plan*, a JSON text without secrets, of a league that was begun; the last one counts."""
        query = insert(plans).values(league=league, plan=plan)
        with self._writes.begin() as connection:
            connection.execute(query.on_conflict_do_update(index_elements=["league"], set_={"plan": plan}))

    def planned(self) -> list[PlannedLeague]:
        """Every league whose plan is kept, the newest first. StoreError if the store cannot be read."""
        saved = sa.select(sa.func.count()).where(results.c.league == leagues.c.name).scalar_subquery()
        query = sa.select(leagues, plans.c.plan, saved.label("saved")).join(plans, plans.c.league == leagues.c.name)
        with self._reading() as connection:
            rows = connection.execute(query.order_by(leagues.c.created_at.desc(), leagues.c.name)).all()
        return [PlannedLeague(_league(row), row.plan, _seconds(row.created_at), row.saved) for row in rows]

    # ---- results

    def saved(self, league: str) -> list[SavedTable]:
        """Every table of *league* that is in the store, in schedule order. StoreError if it cannot be read."""
        query = (
            sa.select(results, summaries.c.saved_at)
            .outerjoin(summaries, summaries.c.table_id == results.c.table_id)
            .where(results.c.league == league)
            .order_by(results.c.pair, results.c.which)
        )
        with self._reading() as connection:
            rows = connection.execute(query).all()
        return [
            SavedTable(row.table_id, row.pair, row.how, row.record_sha256, row.saved_at and _seconds(row.saved_at))
            for row in rows
        ]

    def summaries(self, table_ids: Sequence[str]) -> dict[str, TableSummary]:
        """Id → summary of those of *table_ids* that have one. StoreError if the store cannot be read."""
        query = sa.select(summaries).where(summaries.c.table_id.in_(table_ids))
        with self._reading() as connection:
            rows = connection.execute(query).all()
        return {row.table_id: summary_from_json(row.summary) for row in rows}

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except sa.exc.DatabaseError as error:
            raise StoreError(f"store {self.path}: {error.orig}") from error

    def outcomes(self, league: str) -> dict[int, PairOutcome]:
        """Number → outcome of every pair that is whole in the store."""
        query = (
            sa.select(results, timings.c.first_ms, timings.c.second_ms)
            .outerjoin(timings, timings.c.table_id == results.c.table_id)
            .where(results.c.league == league)
            .order_by(results.c.pair, results.c.which)
        )
        with self._engine.begin() as connection:
            rows = connection.execute(query).all()
        tables: dict[int, list[Any]] = {}
        for row in rows:
            tables.setdefault(row.pair, []).append(row)
        return {pair: _outcome(both[0], both[1]) for pair, both in tables.items() if len(both) == 2}

    def save(self, rows: Rows) -> list[str]:
        """
        Write *rows* in one transaction; ids of results that were there before with other content.

        A row that is there already stays as it is; that decisions took another time is no conflict.
        """
        conflicts = []
        with self._writes.begin() as connection:
            for row in rows.results:
                query = insert(results).values(row).on_conflict_do_nothing().returning(results.c.table_id)
                if connection.execute(query).first() is not None:
                    continue
                kept = connection.execute(sa.select(results).where(results.c.table_id == row["table_id"])).one_or_none()
                if kept is None or dict(kept._mapping) != row:
                    conflicts.append(row["table_id"])
            for row in rows.timings:
                connection.execute(insert(timings).values(row).on_conflict_do_nothing())
            for row in rows.summaries:
                connection.execute(insert(summaries).values(row | {"saved_at": _now()}).on_conflict_do_nothing())
        return conflicts


def _nonces_text(nonces: Sequence[bytes] | None) -> str:
    return json.dumps(None if nonces is None else [nonce.hex() for nonce in nonces])


def _nonces(text: str) -> tuple[bytes, ...] | None:
    said = json.loads(text)
    return None if said is None else tuple(bytes.fromhex(nonce) for nonce in said)


def _league(row: Any) -> LeagueRow:
    return LeagueRow(
        name=row.name,
        config_digest=row.config_digest,
        ruleset_digest=row.ruleset_digest,
        entries=tuple(json.loads(row.entries)),
        rank_by=row.rank_by,
        pairs=row.pairs,
        seed=bytes.fromhex(row.seed),
        nonces=_nonces(row.nonces),
    )


def _outcome(one: Any, two: Any) -> PairOutcome:
    return PairOutcome(
        number=one.pair,
        first=one.first,
        second=one.second,
        margins=(Margin(one.points, one.steps, one.win), Margin(two.points, two.steps, two.win)),
        faults={
            one.first: _counts(one.first_faults) + _counts(two.first_faults),
            one.second: _counts(one.second_faults) + _counts(two.second_faults),
        },
        forfeits=Counter(row.first if row.win < 0 else row.second for row in (one, two) if row.how == "forfeit"),
        decisions=one.decisions + two.decisions,
        times={
            one.first: _times(one.first_ms) + _times(two.first_ms),
            one.second: _times(one.second_ms) + _times(two.second_ms),
        },
    )


def _counts(text: str) -> Counter[str]:
    return Counter(json.loads(text))


def _times(text: str | None) -> Counter[int]:
    """Times of a result that was saved before times were are none."""
    counts: Mapping[str, int] = json.loads(text or "{}")
    return Counter({int(ms): count for ms, count in counts.items()})


class Writer:
    """
    The one task that writes results. ``save`` returns when its rows are on disk; what waits shares a commit.

    A context manager; on the way out everything handed over is written.
    """

    def __init__(self, store: Store, took: Callable[[float], None] = lambda _seconds: None) -> None:
        """*took* is told the seconds of each write."""
        self._store = store
        self._took = took
        self._waiting: list[tuple[Rows, asyncio.Future[None]]] = []
        self._wake = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Writer":
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._closing = True
        self._wake.set()
        if self._task is not None:
            await self._task

    async def save(self, rows: Rows) -> None:
        """Write *rows*, all or none; StoreError if the store cannot."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((rows, done))
        self._wake.set()
        await done

    async def _run(self) -> None:
        while not (self._closing and not self._waiting):
            await self._wake.wait()
            self._wake.clear()
            group, self._waiting = self._waiting, []
            if group:
                await self._write(group)

    async def _write(self, group: list[tuple[Rows, asyncio.Future[None]]]) -> None:
        rows = Rows(
            tuple(row for some, _ in group for row in some.results),
            tuple(row for some, _ in group for row in some.timings),
            tuple(row for some, _ in group for row in some.summaries),
        )
        error: StoreError | None = None
        began = time.monotonic()
        try:
            for table_id in await asyncio.to_thread(self._store.save, rows):
                log.error("result_conflict", table=table_id, kept="first")
        except (sa.exc.DatabaseError, OSError) as failure:
            error = StoreError(f"store {self._store.path}: {getattr(failure, 'orig', failure)}")
        except Exception as failure:
            # Ours: whoever waits must hear of it, or the league would wait for ever.
            log.exception("write_failed")
            error = StoreError(f"store {self._store.path}: an internal error, {type(failure).__name__}")
        self._took(time.monotonic() - began)
        for _, done in group:
            if done.done():
                continue
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)


def _lock(path: Path) -> Any:
    """Hold the lock file of *path* for this process; its content is our process id."""
    lock = path.with_name(path.name + ".lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = lock.open("a+")
    except OSError as error:
        raise StoreError(f"store {path} is not writable: {error.strerror}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        owner = file.read().strip()
        file.close()
        raise StoreError(f"store {path} is in use by another process (pid {owner or 'unknown'})") from None
    # Only a help for whoever is refused: on a full disk it stays empty.
    with contextlib.suppress(OSError):
        file.truncate(0)
        os.write(file.fileno(), str(os.getpid()).encode())
    return file


def _on_connect(connection: Any, _record: Any) -> None:
    # pysqlite would begin its own, deferred transactions; ours begin in the event below.
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=10000", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: sa.Connection) -> None:
    # A transaction that reads first and writes later would fail at its write if another process wrote in between.
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _migrations() -> Config:
    config = Config()
    config.set_main_option("script_location", str(files("chaodipi.service.store") / "migrations"))
    return config


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
