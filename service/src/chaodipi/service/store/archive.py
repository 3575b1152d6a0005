"""What anybody with the right may read of the leagues in a store, and nothing that is still secret.

The one rule: of a table that is over nothing is told before *every* table of its board is, wherever that board is
played, because its result says something of the cards that others still play with. So a result is shown when all pairs
of its board are in the store, and no other league that goes on has the same seed. Secrets are read only for what may
be told: the schedule is made from the plan, which has none.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Protocol, TypeVar

from chaodipi.engine.ruleset import Ruleset
from chaodipi.service.boards.shuffle import seed_commitment
from chaodipi.service.match.summary import TableSummary
from chaodipi.service.match.table import TableSpec
from chaodipi.service.records.show import show
from chaodipi.service.records.staging import Staging
from chaodipi.service.records.verify import Record
from chaodipi.service.scheduler.plan_json import labels_from_json, plan_from_json
from chaodipi.service.scheduler.schedule import Entry, round_robin
from chaodipi.service.scheduler.standings import PairOutcome
from chaodipi.service.store.bots import BotRow
from chaodipi.service.store.store import PlannedLeague, SavedTable, Store

__all__ = [
    "Archive",
    "BusyError",
    "DamagedError",
    "LeagueSeen",
    "MatchQuery",
    "MatchSeen",
    "MissingError",
    "PlaceError",
    "Progress",
    "SecretError",
    "StandingsSeen",
]

T = TypeVar("T")

MAX_WAITING = 64
"""Questions that may wait for the thread that reads."""


class MissingError(Exception):
    """There is no such league or match; the caller's mistake."""


class PlaceError(Exception):
    """A list cannot go on after a match that there is not; the caller's mistake."""


class SecretError(Exception):
    """The match may not be shown yet: a table of its board is open, or will be played again."""


class DamagedError(Exception):
    """A record is missing or was changed after it was written; the operator's to look at."""


class BusyError(Exception):
    """Too many questions wait; ask again."""


class Progress(Protocol):
    """How far the tables of a league that is played in this process are."""

    def stage(self, table_id: str) -> str:
        """``pending``, ``waiting`` for its bots, or ``running``, which it stays until it may be shown."""
        ...


@dataclass(frozen=True, slots=True)
class LeagueSeen:
    """
    A league as it may be seen now; times in Unix seconds.

    Attributes:
        tables: Tables planned.
        done: Tables whose results may be seen.
        over: All results are in.
        ended_at: When the last result was saved; None while it is not over, and where that was not kept.
        seed, nonces: Empty until they may be known.
    """

    name: str
    ruleset: Ruleset
    entries: tuple[Entry, ...]
    boards: int
    rank_by: str
    tables: int
    done: int
    over: bool
    created_at: float
    ended_at: float | None
    commitment: bytes
    seed: bytes
    nonces: tuple[bytes, ...]
    labels: dict[str, str]


@dataclass(frozen=True, slots=True)
class MatchSeen:
    """
    A match as it may be seen now.

    Attributes:
        entries: Names of the entries at seats 0 to 3.
        stage: See :class:`Progress`, or ``over``.
        summary: What came out; None until the match may be shown, and where that was not kept.
        ended_at: When its result was saved, Unix seconds; None like the summary.
    """

    league: LeagueSeen
    spec: TableSpec
    entries: tuple[str, str, str, str]
    stage: str
    summary: TableSummary | None
    ended_at: float | None


@dataclass(frozen=True, slots=True)
class MatchQuery:
    """Which matches; what is empty leaves all. ``stages``: in one of them; ``labels``: with all of them."""

    league: str = ""
    bot: str = ""
    stages: frozenset[str] = frozenset()
    labels: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class StandingsSeen:
    """What the standings of a league are made of, and when the newest of it was saved (None: never)."""

    league: LeagueSeen
    outcomes: tuple[PairOutcome, ...]
    deals: Counter[str]
    newest_at: float | None


@dataclass(frozen=True, slots=True)
class _Planned:
    """A table of the schedule."""

    spec: TableSpec
    entries: tuple[str, str, str, str]
    pair: int
    board: int


@dataclass(frozen=True, slots=True)
class _Schedule:
    """All tables of a league in schedule order, also by id, and the pairs of each board."""

    ruleset: Ruleset
    entries: tuple[Entry, ...]
    boards: int
    tables: tuple[_Planned, ...]
    by_id: dict[str, _Planned]
    pairs: dict[int, frozenset[int]]
    labels: dict[str, str]


@lru_cache(maxsize=16)
def _schedule(league: str, plan_text: str) -> _Schedule:
    plan = plan_from_json(league, plan_text)
    tables: list[_Planned] = []
    pairs: dict[int, set[int]] = {}
    for pair in round_robin(plan):
        pairs.setdefault(pair.board.index, set()).add(pair.number)
        for spec, (a, b) in zip(pair.tables, ((pair.first, pair.second), (pair.second, pair.first)), strict=True):
            tables.append(_Planned(spec, (a, b, a, b), pair.number, pair.board.index))
    return _Schedule(
        plan.ruleset,
        plan.entries,
        plan.boards,
        tuple(tables),
        {table.spec.table_id: table for table in tables},
        {board: frozenset(numbers) for board, numbers in pairs.items()},
        labels_from_json(plan_text),
    )


def boards_over(pairs: Mapping[int, frozenset[int]], saved: Set[int]) -> set[int]:
    """Boards of *pairs*, board → its pairs, of which every pair is *saved*."""
    return {board for board, own in pairs.items() if own <= saved}


def others_play_on(league: PlannedLeague, leagues: Iterable[PlannedLeague]) -> bool:
    """Whether another of *leagues* that is not over has the seed of *league*, and so perhaps its boards."""
    return any(
        other.row.seed == league.row.seed and other.saved < 2 * other.row.pairs
        for other in leagues
        if other.row.name != league.row.name
    )


@dataclass(frozen=True, slots=True)
class _Open:
    """A league that is looked at: what is planned, what may be seen, which tables those are."""

    schedule: _Schedule
    seen: LeagueSeen
    shown: dict[str, SavedTable]


class Archive:
    """
    The leagues of *store*; its methods are for the loop, the reading is done in one thread of its own.

    Attributes:
        playing: League that is played in this process → how far its tables are.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.playing: dict[str, Progress] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="archive")
        self._waiting = 0
        self._saved: dict[str, tuple[int, list[SavedTable]]] = {}

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Let go of the thread; what it reads now is read to its end."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    async def league(self, name: str) -> LeagueSeen:
        """The league *name*; MissingError, and the errors of every method: BusyError, StoreError."""
        return await self._ask(lambda: self._one(name).seen)

    async def standings(self, name: str) -> StandingsSeen:
        """What the standings of league *name* are made of; MissingError."""
        return await self._ask(lambda: self._standings(name))

    async def match(self, table_id: str) -> MatchSeen:
        """The match of table *table_id*; MissingError."""
        return await self._ask(lambda: self._match(table_id))

    async def matches(self, query: MatchQuery, after: str, limit: int) -> tuple[list[MatchSeen], bool]:
        """
        Up to *limit* matches, the newest league first and in it the last planned first, and whether there are more.

        *after* is the id of the last match of the page before, "" for the first page.

        Raises:
            MissingError: no such league.
            PlaceError: no match *after*.
        """
        return await self._ask(lambda: self._matches(query, after, limit))

    async def record(self, table_id: str) -> bytes:
        """The record file of *table_id*, byte by byte; MissingError, SecretError, DamagedError."""
        return await self._ask(lambda: self._record(table_id))

    async def record_text(self, table_id: str) -> str:
        """The record of *table_id* for people; errors as :meth:`record`."""
        return await self._ask(lambda: self._record_text(table_id))

    async def bots(self) -> dict[str, BotRow]:
        """Every bot of the store by its name."""
        return await self._ask(lambda: {bot.name: bot for bot in self._store.bots.all()})

    async def _ask(self, question: Callable[[], T]) -> T:
        if self._waiting >= MAX_WAITING:
            raise BusyError(f"{self._waiting} questions wait for the store")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, question)
        finally:
            self._waiting -= 1

    # ---- in the thread

    def _leagues(self) -> list[PlannedLeague]:
        return self._store.planned()

    def _one(self, name: str) -> _Open:
        leagues = self._leagues()
        for league in leagues:
            if league.row.name == name:
                return self._open(league, leagues)
        raise MissingError(f"no league {name!r}")

    def _open(self, league: PlannedLeague, leagues: Sequence[PlannedLeague]) -> _Open:
        """*league* as it may be seen, which depends on all *leagues*."""
        row = league.row
        schedule = _schedule(row.name, league.plan)
        saved = self._tables(league)
        over = len(saved) == 2 * row.pairs
        told = not others_play_on(league, leagues)
        whole = {pair for pair, count in Counter(table.pair for table in saved).items() if count == 2}
        done = boards_over(schedule.pairs, whole) if told else set()
        shown = {table.table_id: table for table in saved if schedule.by_id[table.table_id].board in done}
        times = [table.saved_at for table in saved if table.saved_at is not None]
        seen = LeagueSeen(
            name=row.name,
            ruleset=schedule.ruleset,
            entries=schedule.entries,
            boards=schedule.boards,
            rank_by=row.rank_by,
            tables=len(schedule.tables),
            done=len(shown),
            over=over,
            created_at=league.created_at,
            ended_at=max(times) if over and len(times) == len(saved) else None,
            commitment=seed_commitment(row.seed),
            seed=row.seed if over and told else b"",
            nonces=(row.nonces or ()) if over and told else (),
            labels=schedule.labels,
        )
        return _Open(schedule, seen, shown)

    def _tables(self, league: PlannedLeague) -> list[SavedTable]:
        """The saved tables of *league*: none is ever taken back, so their number says whether we know them all."""
        name = league.row.name
        known = self._saved.get(name)
        if known is None or known[0] != league.saved:
            tables = self._store.saved(name)
            known = self._saved[name] = (len(tables), tables)
        return known[1]

    def _standings(self, name: str) -> StandingsSeen:
        at = self._one(name)
        pairs = {at.schedule.by_id[table_id].pair for table_id in at.shown}
        outcomes = self._store.outcomes(name)
        deals: Counter[str] = Counter()
        for table_id, table in at.shown.items():
            if table.how in ("played", "jump"):
                deals.update(set(at.schedule.by_id[table_id].entries))
        times = [table.saved_at for table in at.shown.values() if table.saved_at is not None]
        return StandingsSeen(
            at.seen, tuple(outcomes[pair] for pair in sorted(pairs)), deals, max(times, default=None)
        )  # fmt: skip

    def _match(self, table_id: str) -> MatchSeen:
        at, planned = self._find(table_id)
        return self._seen(at, [planned])[0]

    def _find(self, table_id: str) -> tuple[_Open, _Planned]:
        try:
            at = self._one(table_id.partition("/")[0])
            return at, at.schedule.by_id[table_id]
        except (MissingError, KeyError):
            raise MissingError(f"no match {table_id!r}") from None

    def _seen(self, at: _Open, tables: Sequence[_Planned]) -> list[MatchSeen]:
        shown = [table.spec.table_id for table in tables if table.spec.table_id in at.shown]
        summaries = self._store.summaries(shown) if shown else {}
        out = []
        for table in tables:
            key = table.spec.table_id
            saved = at.shown.get(key)
            out.append(
                MatchSeen(
                    at.seen,
                    table.spec,
                    table.entries,
                    self._stage(at, key),
                    None if saved is None else summaries.get(key),
                    None if saved is None else saved.saved_at,
                )
            )
        return out

    def _stage(self, at: _Open, table_id: str) -> str:
        if table_id in at.shown:
            return "over"
        progress = self.playing.get(at.seen.name)
        return "pending" if progress is None else progress.stage(table_id)

    def _matches(self, query: MatchQuery, after: str, limit: int) -> tuple[list[MatchSeen], bool]:
        if query.league:
            self._one(query.league)
        out: list[MatchSeen] = []
        more = False
        for at, tables in self._following(query, after):
            chosen: list[_Planned] = []
            for table in tables:
                if len(out) + len(chosen) == limit:
                    more = True
                    break
                chosen.append(table)
            out += self._seen(at, chosen)
            if more:
                break
        return out, more

    def _following(self, query: MatchQuery, after: str) -> Iterator[tuple[_Open, Iterator[_Planned]]]:
        """League by league the tables that *query* means and that come after the one of id *after*."""
        leagues = self._leagues()
        last = after.partition("/")[0]
        names = [league.row.name for league in leagues]
        if after and last not in names:
            raise PlaceError(f"no match {after!r}")
        for league in leagues[names.index(last) if after else 0 :]:
            if query.league in ("", league.row.name):
                at = self._open(league, leagues)
                if query.labels <= at.seen.labels.items():
                    yield at, self._chosen(at, query, after if league.row.name == last else "")

    def _chosen(self, at: _Open, query: MatchQuery, after: str) -> Iterator[_Planned]:
        tables = reversed(at.schedule.tables)
        if after:
            if after not in at.schedule.by_id:
                raise PlaceError(f"no match {after!r}")
            while next(tables).spec.table_id != after:
                continue
        for table in tables:
            if query.bot and query.bot not in table.spec.bots:
                continue
            if query.stages and self._stage(at, table.spec.table_id) not in query.stages:
                continue
            yield table

    def _record(self, table_id: str) -> bytes:
        at, _ = self._find(table_id)
        saved = at.shown.get(table_id)
        if saved is None:
            raise SecretError(table_id)
        try:
            data = Staging(self._store.path.parent / at.seen.name / "records").read(table_id)
        except OSError as error:
            raise DamagedError(f"the record of {table_id} cannot be read: {error.strerror}") from error
        if hashlib.sha256(data).hexdigest() != saved.record_sha256:
            raise DamagedError(f"the record of {table_id} is not the one that was saved")
        return data

    def _record_text(self, table_id: str) -> str:
        record = Record.parse(self._record(table_id), f"the record of {table_id}")
        return "".join(f"{line}\n" for line in show(record))
