"""Leagues and their results in one SQLite file.

A result is written once, keyed by its table's id, all tables of a board in one transaction. One process writes results
at a time, by a lock on the file beside the store; bots and their tokens, each change one short transaction, may be
changed beside it.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import sqlalchemy as sa
from chaodipi.service.match.summary import TableSummary
from chaodipi.service.records.summary import summary_from_json
from chaodipi.service.scheduler.margins import Margin
from chaodipi.service.scheduler.standings import PairOutcome
from chaodipi.service.store.bots import Bots
from chaodipi.service.store.database import Database
from chaodipi.service.store.errors import StoreError
from chaodipi.service.store.rows import Rows
from chaodipi.service.store.tables import leagues, plans, results, summaries, timings
from sqlalchemy.dialects.sqlite import insert

__all__ = ["LeagueRow", "PlannedLeague", "SavedTable", "Store"]


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
        database: The file, its schema and copies.

    Raises:
        StoreError: from here as from every method: not writable, in use by another process, missing, damaged, or no
            store at all.
    """

    def __init__(self, path: Path, *, writing: bool) -> None:
        self.path = path
        self.database = Database(path, writing=writing)
        self.bots = Bots(self.database)

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
        if store.database.is_current():
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
        self.database.close()

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
        with self.database.writing() as connection:
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
            StoreError: there is no such league.
        """
        missing = leagues.c.nonces == _nonces_text(None)
        query = leagues.update().where(leagues.c.name == name, missing).values(nonces=_nonces_text(nonces))
        with self.database.writing() as connection:
            connection.execute(query)
        return self.league(name)

    def league(self, name: str) -> LeagueRow:
        """The league *name*; StoreError if there is none."""
        with self.database.reading() as connection:
            row = connection.execute(sa.select(leagues).where(leagues.c.name == name)).one_or_none()
        if row is None:
            raise StoreError(f"no league {name!r} in {self.path}; there: {', '.join(self.league_names()) or 'none'}")
        return _league(row)

    def league_names(self) -> list[str]:
        """Names of all leagues."""
        with self.database.reading() as connection:
            return list(connection.execute(sa.select(leagues.c.name).order_by(leagues.c.name)).scalars())

    def keep_plan(self, league: str, plan: str) -> None:
        """Keep *plan*, a JSON text without secrets, of a league that was begun; the last one counts."""
        query = insert(plans).values(league=league, plan=plan)
        with self.database.writing() as connection:
            connection.execute(query.on_conflict_do_update(index_elements=["league"], set_={"plan": plan}))

    def planned(self) -> list[PlannedLeague]:
        """Every league whose plan is kept, the newest first."""
        saved = sa.select(sa.func.count()).where(results.c.league == leagues.c.name).scalar_subquery()
        query = sa.select(leagues, plans.c.plan, saved.label("saved")).join(plans, plans.c.league == leagues.c.name)
        with self.database.reading() as connection:
            rows = connection.execute(query.order_by(leagues.c.created_at.desc(), leagues.c.name)).all()
        return [PlannedLeague(_league(row), row.plan, _seconds(row.created_at), row.saved) for row in rows]

    # ---- results

    def saved(self, league: str) -> list[SavedTable]:
        """Every table of *league* that is in the store, in schedule order."""
        query = (
            sa.select(results, summaries.c.saved_at)
            .outerjoin(summaries, summaries.c.table_id == results.c.table_id)
            .where(results.c.league == league)
            .order_by(results.c.pair, results.c.which)
        )
        with self.database.reading() as connection:
            rows = connection.execute(query).all()
        return [
            SavedTable(row.table_id, row.pair, row.how, row.record_sha256, row.saved_at and _seconds(row.saved_at))
            for row in rows
        ]

    def summaries(self, table_ids: Sequence[str]) -> dict[str, TableSummary]:
        """Id → summary of those of *table_ids* that have one."""
        query = sa.select(summaries).where(summaries.c.table_id.in_(table_ids))
        with self.database.reading() as connection:
            rows = connection.execute(query).all()
        return {row.table_id: summary_from_json(row.summary) for row in rows}

    def outcomes(self, league: str) -> dict[int, PairOutcome]:
        """Number → outcome of every pair that is whole in the store."""
        query = (
            sa.select(results, timings.c.first_ms, timings.c.second_ms)
            .outerjoin(timings, timings.c.table_id == results.c.table_id)
            .where(results.c.league == league)
            .order_by(results.c.pair, results.c.which)
        )
        with self.database.reading() as connection:
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
        with self.database.writing() as connection:
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


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
