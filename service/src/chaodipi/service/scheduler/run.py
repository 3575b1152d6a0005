"""Plays a schedule: several tables in flight, each pair whole or not at all."""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from chaodipi.engine.cards import Seat, Side
from chaodipi.service.match.table import TableResult, TableSpec
from chaodipi.service.scheduler.margins import margin
from chaodipi.service.scheduler.schedule import Pair
from chaodipi.service.scheduler.standings import PairOutcome
from chaodipi.service.scheduler.timing import times_of

__all__ = ["TableHost", "faults_of", "outcome_of", "play_schedule"]

ATTEMPTS = 3
"""How often a pair is played before its host faults are the organiser's to look at."""

Results = tuple[TableResult, TableResult]


class TableHost(Protocol):
    """What plays tables: the real host, or a stand-in."""

    async def play_table(self, spec: TableSpec) -> TableResult: ...


async def play_schedule(
    pairs: Iterable[Pair],
    host: TableHost,
    on_pair: Callable[[Pair, Results], Awaitable[None]],
    on_flagged: Callable[[Pair, str], Awaitable[None]],
    *,
    tables_in_flight: int = 16,
    attempts: int = ATTEMPTS,
    on_rerun: Callable[[Pair], None] = lambda _pair: None,
    stopping: Callable[[], bool] = lambda: False,
) -> None:
    """
    Play *pairs*, ``tables_in_flight`` tables (at least two) at a time, and hand over each finished pair once.

    A pair with a host fault is unscored, and played again whole when all others have begun, *attempts* times in all;
    *on_rerun* is told each time. Then it goes to *on_flagged* with the reason, and the others go on.

    Once *stopping* says so no pair is begun any more, and one that comes without a score is dropped: its tables were
    not begun, or not ended, because of that.
    """
    waiting = iter(pairs)
    again: deque[tuple[Pair, int]] = deque()

    def next_pair() -> tuple[Pair, int] | None:
        """A pair and how often it was tried; one iterator for all workers: pairs start in schedule order."""
        pair = next(waiting, None)
        if pair is not None:
            return pair, 0
        return again.popleft() if again else None

    async def work() -> None:
        while not stopping() and (job := next_pair()) is not None:
            pair, tried = job
            one, two = await asyncio.gather(host.play_table(pair.tables[0]), host.play_table(pair.tables[1]))
            if "host_fault" not in (one.how, two.how):
                await on_pair(pair, (one, two))
            elif stopping():
                return
            elif tried + 1 < attempts:
                on_rerun(pair)
                again.append((pair, tried + 1))
            else:
                await on_flagged(pair, f"host fault in {attempts} attempts: {one.note or two.note or 'no reason'}")

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, tables_in_flight // 2)):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        raise _first(errors) from errors


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def outcome_of(pair: Pair, results: Results) -> PairOutcome:
    """The pair as the standings count it."""
    ruleset = pair.board.ruleset
    one, two = results
    # Where the first entry sits at the two tables, and where the second.
    sides = {pair.first: (Side.SIDE_02, Side.SIDE_13), pair.second: (Side.SIDE_13, Side.SIDE_02)}
    return PairOutcome(
        number=pair.number,
        first=pair.first,
        second=pair.second,
        margins=(margin(ruleset, one, Side.SIDE_02), margin(ruleset, two, Side.SIDE_13)),
        faults={name: faults_of(one, a) + faults_of(two, b) for name, (a, b) in sides.items()},
        forfeits=Counter(
            name
            for name, at in sides.items()
            for result, side in zip(results, at, strict=True)
            if result.forfeiting_side == side
        ),
        decisions=len(one.decisions) + len(two.decisions),
        times={name: times_of(one, a) + times_of(two, b) for name, (a, b) in sides.items()},
    )


def faults_of(result: TableResult, side: Side) -> Counter[str]:
    """Kind of fault → count, of *side* at one table."""
    counts: Counter[str] = Counter()
    for seat, kinds in result.faults.items():
        if Seat(seat).side == side:
            counts.update(kinds)
    return counts
