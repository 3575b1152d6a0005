"""A league from its plan to its standings: play what is missing, write records, save results."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaodipi.service.match.table import TableResult
from chaodipi.service.records.record import write_record
from chaodipi.service.scheduler.run import TableHost, outcome_of, play_schedule
from chaodipi.service.scheduler.schedule import Pair, Plan, round_robin
from chaodipi.service.scheduler.standings import PairOutcome, Standing, standings
from chaodipi.service.scheduler.timing import decision_times

__all__ = ["PlayedPair", "play_league", "results_json"]


@dataclass(frozen=True, slots=True)
class PlayedPair:
    """A finished pair with its tables' results and the SHA-256 of each record."""

    pair: Pair
    results: tuple[TableResult, TableResult]
    record_digests: tuple[str, str]
    outcome: PairOutcome


async def _nothing(_played: PlayedPair) -> None:
    return None


async def play_league(
    plan: Plan,
    host: TableHost,
    records: Path,
    *,
    done: Mapping[int, PairOutcome] | None = None,
    save: Callable[[PlayedPair], Awaitable[None]] = _nothing,
    on_outcome: Callable[[PairOutcome], None] = lambda _outcome: None,
    on_rerun: Callable[[Pair], None] = lambda _pair: None,
    tables_in_flight: int = 16,
) -> list[PairOutcome]:
    """
    Play every pair that is not in *done*, by its number; the outcomes of all pairs, in schedule order.

    A record is written when all tables of its board are over (it reveals the seed), then *save* is called, then the
    pair counts: what is saved always has its record.

    Raises:
        PairFailedError: see :func:`play_schedule`.
    """
    outcomes = dict(done or {})
    held: dict[int, list[tuple[Pair, tuple[TableResult, TableResult]]]] = {}
    waiting: dict[int, int] = {}
    for pair in round_robin(plan):
        if pair.number not in outcomes:
            waiting[pair.board.index] = waiting.get(pair.board.index, 0) + 1
    await asyncio.to_thread(records.mkdir, parents=True, exist_ok=True)

    async def on_pair(pair: Pair, results: tuple[TableResult, TableResult]) -> None:
        board = pair.board.index
        held.setdefault(board, []).append((pair, results))
        waiting[board] -= 1
        if waiting[board]:
            return
        for ready, tables in held.pop(board):
            await finish(ready, tables)

    async def finish(pair: Pair, results: tuple[TableResult, TableResult]) -> None:
        one, two = (
            write_record(records, spec, pair.board, plan.secrets, result)
            for spec, result in zip(pair.tables, results, strict=True)
        )
        outcome = outcome_of(pair, results)
        await save(PlayedPair(pair, results, (one, two), outcome))
        outcomes[pair.number] = outcome
        on_outcome(outcome)

    missing = (pair for pair in round_robin(plan) if pair.number not in outcomes)
    await play_schedule(missing, host, on_pair, tables_in_flight=tables_in_flight, on_rerun=on_rerun)
    return [outcomes[number] for number in sorted(outcomes)]


def results_json(plan: Plan, outcomes: list[PairOutcome], rank_by: str) -> dict[str, Any]:
    """
    ``results.json``: what was played and what came out. Only for a league that is over.

    Two runs of one league with deterministic bots share all of it but ``timing``.
    """
    names = [entry.name for entry in plan.entries]
    lines: list[Standing] = standings(names, outcomes, rank_by)
    return {
        "schema": "chaodipi/results/1",
        "league": plan.league,
        "ruleset": {"name": plan.ruleset.name, "digest": plan.ruleset.digest},
        "entries": [{"name": entry.name, "bots": list(entry.bots)} for entry in plan.entries],
        "boards_per_pairing": plan.boards,
        "shared_boards": plan.shared,
        "tables": 2 * len(outcomes),
        "seed_commitment": plan.secrets.commitment.hex(),
        "seed": plan.secrets.seed.hex(),
        "nonces": [nonce.hex() for nonce in plan.secrets.nonces],
        "rank_by": rank_by,
        "standings": [line.as_json() for line in lines],
        "pairs": [
            {
                "number": outcome.number,
                "entries": [outcome.first, outcome.second],
                "margins": [[m.points, m.steps, m.win] for m in outcome.margins],
                "faults": {name: dict(sorted(kinds.items())) for name, kinds in outcome.faults.items()},
                "forfeits": dict(sorted(outcome.forfeits.items())),
                "decisions": outcome.decisions,
            }
            for outcome in outcomes
        ],
        "timing": {entry: times.as_json() for entry, times in sorted(decision_times(outcomes).items())},
    }
