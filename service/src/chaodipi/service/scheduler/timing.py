"""How long bots take to decide, counted so that the parts of a league add up exactly.

Times are what the host saw between a request and its answer, the way over the network included, in whole
milliseconds. Decisions that the host took in a bot's place are not among them. They are never part of what two runs
of a league must share: they stand apart from the standings, and equal outcomes may have different times.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from chaodipi.engine.cards import Side
from chaodipi.service.match.table import TableResult
from chaodipi.service.scheduler.standings import PairOutcome, Times

__all__ = ["DecisionTime", "decision_times", "quantile", "summed_times", "times_of"]


@dataclass(frozen=True, slots=True)
class DecisionTime:
    """How long an entry's bots took: over so many *answers*, in milliseconds."""

    answers: int
    mean_ms: float
    median_ms: int
    p99_ms: int
    max_ms: int

    def as_json(self) -> dict[str, float]:
        """For ``results.json``."""
        return asdict(self)


def times_of(result: TableResult, side: Side) -> Times:
    """Milliseconds → how many decisions, of *side* at one table."""
    return Counter(record.think_ms for record in result.decisions if record.seat.side == side and not record.by_host)


def quantile(times: Mapping[int, int], share: float) -> int:
    """
    The least number of milliseconds within which *share* (0…1) of the decisions were taken.

    Raises:
        ValueError: no times; the caller's mistake.
    """
    if not times:
        raise ValueError("no times")
    wanted = max(1, math.ceil(share * sum(times.values())))
    for ms in sorted(times):
        wanted -= times[ms]
        if wanted <= 0:
            return ms
    raise AssertionError("counts add up")


def decision_times(outcomes: Iterable[PairOutcome]) -> dict[str, DecisionTime]:
    """Entry → its decision times over *outcomes*; entries without an answer are absent."""
    return {entry: _summed_up(times) for entry, times in summed_times(outcomes).items() if times}


def summed_times(outcomes: Iterable[PairOutcome]) -> dict[str, Times]:
    """Entry → milliseconds → how many decisions, over *outcomes*."""
    sums: dict[str, Times] = {}
    for outcome in outcomes:
        for entry, times in outcome.times.items():
            sums.setdefault(entry, Counter()).update(times)
    return sums


def _summed_up(times: Times) -> DecisionTime:
    answers = sum(times.values())
    mean = sum(ms * count for ms, count in times.items()) / answers
    return DecisionTime(answers, round(mean, 2), quantile(times, 0.5), quantile(times, 0.99), max(times))
