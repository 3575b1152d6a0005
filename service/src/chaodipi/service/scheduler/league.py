"""A league from its plan to its standings: play what is missing, write records, save results."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import structlog
from chaodipi.service.match.table import TableResult
from chaodipi.service.records.record import write_record
from chaodipi.service.records.staging import Staging
from chaodipi.service.scheduler.run import TableHost, outcome_of, play_schedule
from chaodipi.service.scheduler.schedule import Pair, Plan, round_robin
from chaodipi.service.scheduler.standings import PairOutcome, Standing, standings
from chaodipi.service.scheduler.timing import decision_times

__all__ = ["MissingPair", "PlayedPair", "SaveFailedError", "play_league", "results_json", "settle_records"]

Results = tuple[TableResult, TableResult]
T = TypeVar("T")

log = structlog.get_logger("chaodipi.scheduler")

SAVE_PAUSES_S = (0.5, 2.0, 8.0)
"""What to wait before a board that could not be saved is saved again."""


class SaveFailedError(Exception):
    """What *save* of :func:`play_league` raises when it cannot write now: a fault of the host, tried again."""


@dataclass(frozen=True, slots=True)
class PlayedPair:
    """A finished pair with its tables' results and the SHA-256 of each record."""

    pair: Pair
    results: tuple[TableResult, TableResult]
    record_digests: tuple[str, str]
    outcome: PairOutcome


@dataclass(frozen=True, slots=True)
class MissingPair:
    """A pair that faults of the host kept from being scored, and why; the same command plays it again."""

    number: int
    board: int
    first: str
    second: str
    why: str

    def __str__(self) -> str:
        return f"pair {self.number} (board {self.board}, {self.first} against {self.second}): {self.why}"

    def as_json(self) -> dict[str, Any]:
        """For ``results.json``."""
        return {"number": self.number, "board": self.board, "entries": [self.first, self.second], "why": self.why}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> "MissingPair":
        """The inverse; KeyError, TypeError or ValueError for anything else."""
        first, second = said["entries"]
        return cls(said["number"], said["board"], first, second, said["why"])


async def _nothing(_board: Sequence[PlayedPair]) -> None:
    return None


async def play_league(
    plan: Plan,
    host: TableHost,
    records: Path,
    *,
    done: Mapping[int, PairOutcome] | None = None,
    save: Callable[[Sequence[PlayedPair]], Awaitable[None]] = _nothing,
    on_outcome: Callable[[PairOutcome], None] = lambda _outcome: None,
    on_rerun: Callable[[Pair], None] = lambda _pair: None,
    on_failed_save: Callable[[int], None] = lambda _board: None,
    on_flagged: Callable[[MissingPair], None] = lambda _missing: None,
    stopping: Callable[[], bool] = lambda: False,
    tables_in_flight: int = 16,
    save_pauses_s: Sequence[float] = SAVE_PAUSES_S,
) -> list[PairOutcome]:
    """
    Play every pair that is not in *done*, by its number; the outcomes of all scored pairs, in schedule order.

    When all tables of a board are over their records are staged, *save* is called with all its pairs of this run, which
    it writes whole or not at all, the records are published (they reveal the board), and the pairs count. Where writing
    or *save* fails (``OSError``, :class:`SaveFailedError`) *on_failed_save* is told the board, the results are kept and
    written again after each of *save_pauses_s* seconds.

    A pair that stays without a score because of the host goes to *on_flagged*, and the league goes on. So do all other
    pairs of its board: a board that will be played again must not be revealed.

    Once *stopping* says so nothing new is begun, and it returns when all that was begun has ended. Pairs that are not
    whole then are dropped, and so are those that wait for others of their board.
    """
    books = _Books(records, plan, save, save_pauses_s, on_outcome, on_failed_save, on_flagged, dict(done or {}))
    await asyncio.to_thread(settle_records, plan, records, books.outcomes)
    missing = (pair for pair in round_robin(plan) if pair.number not in books.outcomes)
    await play_schedule(
        missing,
        host,
        books.take,
        books.flag,
        tables_in_flight=tables_in_flight,
        on_rerun=on_rerun,
        stopping=stopping,
    )
    return [books.outcomes[number] for number in sorted(books.outcomes)]


def settle_records(plan: Plan, records: Path, done: Collection[int]) -> None:
    """
    Have in *records* those of boards of which all pairs are *done*, and no others; these wait in the staging folder.

    Raises:
        OSError: it cannot be; no record is lost.
    """
    boards = _tables_of_boards(plan)
    unsaved = {pair.board.index for pair in round_robin(plan) if pair.number not in done}
    Staging(records).settle(
        (table for board, tables in boards.items() if board not in unsaved for table in tables),
        (table for board in unsaved for table in boards[board]),
    )


def _tables_of_boards(plan: Plan) -> dict[int, list[str]]:
    boards: dict[int, list[str]] = {}
    for pair in round_robin(plan):
        boards.setdefault(pair.board.index, []).extend(spec.table_id for spec in pair.tables)
    return boards


class _Books:
    """What became of the pairs so far; those whose board is not over wait here."""

    def __init__(
        self,
        records: Path,
        plan: Plan,
        save: Callable[[Sequence[PlayedPair]], Awaitable[None]],
        pauses_s: Sequence[float],
        on_outcome: Callable[[PairOutcome], None],
        on_failed_save: Callable[[int], None],
        on_flagged: Callable[[MissingPair], None],
        outcomes: dict[int, PairOutcome],
    ) -> None:
        self.outcomes = outcomes
        self._staging = Staging(records)
        self._plan = plan
        self._save = save
        self._pauses_s = pauses_s
        self._on_outcome = on_outcome
        self._on_failed_save = on_failed_save
        self._on_flagged = on_flagged
        self._held: dict[int, list[tuple[Pair, Results]]] = {}
        self._tables = _tables_of_boards(plan)
        self._open = Counter(pair.board.index for pair in round_robin(plan) if pair.number not in outcomes)
        self._spoilt: dict[int, Pair] = {}

    async def take(self, pair: Pair, results: Results) -> None:
        """*pair* was played."""
        self._held.setdefault(pair.board.index, []).append((pair, results))
        await self._one_less(pair.board.index)

    async def flag(self, pair: Pair, why: str) -> None:
        """*pair* was not played, because of the host."""
        self._spoilt.setdefault(pair.board.index, pair)
        self._missing(pair, why)
        await self._one_less(pair.board.index)

    async def _one_less(self, board: int) -> None:
        self._open[board] -= 1
        if self._open[board]:
            return
        held = self._held.pop(board, [])
        spoiler = self._spoilt.get(board)
        if spoiler is not None:
            why = f"its board is played again for pair {spoiler.number}"
        else:
            why = await self._finish(board, held)
        if why:
            for pair, _ in held:
                self._missing(pair, why)

    def _missing(self, pair: Pair, why: str) -> None:
        missing = MissingPair(pair.number, pair.board.index, pair.first, pair.second, why)
        log.error("pair_missing", pair=pair.number, board=pair.board.index, why=why)
        self._on_flagged(missing)

    async def _finish(self, board: int, held: list[tuple[Pair, Results]]) -> str:
        """Write and count all of *board*; why it could not be written, "" if it was."""

        # In threads: the disk must not hold up the clocks of other tables.
        async def save() -> list[PlayedPair]:
            played = await asyncio.to_thread(self._stage, held)
            await self._save(played)
            return played

        async def publish() -> None:
            await asyncio.to_thread(self._staging.publish, self._tables[board])

        # Staged records of what could not be saved stay: a store may have kept what it could not confirm.
        why, played = await self._again(board, save)
        if played is None:
            return f"could not be saved: {why}"
        # Results are in the store for good now; records that stay where they are have their place at the next start.
        why, _ = await self._again(board, publish)
        if why:
            log.error("records_staged", board=board, why=why, folder=str(self._staging.folder))
        for pair in played:
            self.outcomes[pair.pair.number] = pair.outcome
            self._on_outcome(pair.outcome)
        return ""

    async def _again(self, board: int, work: Callable[[], Awaitable[T]]) -> tuple[str, T | None]:
        """What *work* gives, tried after each pause until it can write; why it could not."""
        why = ""
        for pause in (0.0, *self._pauses_s):
            if why:
                log.warning("save_again", board=board, after_s=pause, why=why)
                await asyncio.sleep(pause)
            try:
                return "", await work()
            except (OSError, SaveFailedError) as error:
                why = str(error)
                self._on_failed_save(board)
        return why, None

    def _stage(self, held: list[tuple[Pair, Results]]) -> list[PlayedPair]:
        played = []
        for pair, results in held:
            one, two = (
                write_record(self._staging.folder, spec, pair.board, self._plan.secrets, result)
                for spec, result in zip(pair.tables, results, strict=True)
            )
            played.append(PlayedPair(pair, results, (one, two), outcome_of(pair, results)))
        return played


def results_json(
    plan: Plan, outcomes: list[PairOutcome], rank_by: str, missing: Sequence[MissingPair] = ()
) -> dict[str, Any]:
    """
    ``results.json``: what was played and what came out; *missing* are the pairs that the host could not have scored.

    While pairs are to be played neither seed nor nonces are revealed: they will be played with them.

    Two runs of one league with deterministic bots share all of it but ``timing``.
    """
    names = [entry.name for entry in plan.entries]
    lines: list[Standing] = standings(names, outcomes, rank_by)
    complete = len(outcomes) == plan.pair_count
    return {
        "schema": "chaodipi/results/1",
        "league": plan.league,
        "ruleset": {"name": plan.ruleset.name, "digest": plan.ruleset.digest},
        "entries": [{"name": entry.name, "bots": list(entry.bots)} for entry in plan.entries],
        "boards_per_pairing": plan.boards,
        "shared_boards": plan.shared,
        "tables": 2 * len(outcomes),
        "complete": complete,
        "missing": [pair.as_json() for pair in sorted(missing, key=lambda pair: pair.number)],
        "seed_commitment": plan.secrets.commitment.hex(),
        "seed": plan.secrets.seed.hex() if complete else None,
        "nonces": [nonce.hex() for nonce in plan.secrets.nonces] if complete else None,
        "rank_by": rank_by,
        "standings": [line.as_json() for line in lines],
        "pairs": [outcome.as_json() for outcome in outcomes],
        "timing": {entry: times.as_json() for entry, times in sorted(decision_times(outcomes).items())},
    }
