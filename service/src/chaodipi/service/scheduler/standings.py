"""Standings by the paired estimator: the unit is the pair of tables, never the table.

For pair i, d_i is the mean of an entry's margins at the two tables. D = mean(d), SE = sd(d)/√n, and the interval is
D ± t(0.975, n−1)·SE. rho is the correlation of the two tables: var(d) = σ²(1+rho)/2 says what duplicates bought.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from chaodipi.service.scheduler.margins import SCALES, Margin
from scipy.special import stdtrit  # type: ignore[import-untyped]  # scipy ships no types

__all__ = ["Estimate", "PairOutcome", "Standing", "Times", "estimate", "standard_error", "standings"]

Times = Counter[int]
"""Milliseconds → how many decisions took so long."""


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """
    A finished pair.

    Attributes:
        number: Its place in the schedule.
        margins: Of *first*, at the first and at the second table.
        faults: Entry → kind of fault → count, at both tables.
        forfeits: Entry → tables that it forfeited.
        decisions: Decisions at both tables.
        times: Entry → how long its bots took; no part of what makes two outcomes equal.
    """

    number: int
    first: str
    second: str
    margins: tuple[Margin, Margin]
    faults: dict[str, Counter[str]]
    forfeits: Counter[str] = field(default_factory=Counter)
    decisions: int = 0
    times: dict[str, Times] = field(default_factory=dict, compare=False)

    def as_json(self) -> dict[str, Any]:
        """For ``results.json``, without times."""
        return {
            "number": self.number,
            "entries": [self.first, self.second],
            "margins": [[m.points, m.steps, m.win] for m in self.margins],
            "faults": {name: dict(sorted(kinds.items())) for name, kinds in self.faults.items()},
            "forfeits": dict(sorted(self.forfeits.items())),
            "decisions": self.decisions,
        }

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> "PairOutcome":
        """The inverse; KeyError, TypeError or ValueError for anything else."""
        (first, second), (one, two) = said["entries"], said["margins"]
        faults = {name: Counter(kinds) for name, kinds in said["faults"].items()}
        forfeits = Counter(said["forfeits"])
        return cls(said["number"], first, second, (Margin(*one), Margin(*two)), faults, forfeits, said["decisions"])


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean for each pair with its 95 % half width (None below two pairs)."""

    mean: float
    half: float | None


@dataclass(frozen=True, slots=True)
class Standing:
    """One line of the standings; ``faults`` by kind. ``rho`` is of the ranking scale, None where it cannot be told."""

    rank: int
    entry: str
    pairs: int
    points: Estimate
    steps: Estimate
    win: Estimate
    rho: float | None
    faults: dict[str, int] = field(default_factory=dict)
    forfeits: int = 0

    def as_json(self) -> dict[str, Any]:
        """For ``results.json``: finite numbers or null."""
        return asdict(self)


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and half width of the 95 % t interval of *values*."""
    n = len(values)
    if n == 0:
        return Estimate(0.0, None)
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(mean, None)
    variance = math.fsum((x - mean) ** 2 for x in values) / (n - 1)
    return Estimate(mean, float(stdtrit(n - 1, 0.975)) * math.sqrt(variance / n))


def standard_error(of: Estimate, n: int) -> float | None:
    """The standard error behind the interval of *of*, which *n* values were taken for; None where it has none."""
    return None if of.half is None else of.half / float(stdtrit(n - 1, 0.975))


def correlation(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Pearson's correlation; None where one of them does not vary."""
    n = len(xs)
    if n < 2:
        return None
    mx, my = math.fsum(xs) / n, math.fsum(ys) / n
    sxx = math.fsum((x - mx) ** 2 for x in xs)
    syy = math.fsum((y - my) ** 2 for y in ys)
    if sxx == 0 or syy == 0:
        return None
    return math.fsum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True)) / math.sqrt(sxx * syy)


def standings(entries: Sequence[str], outcomes: Iterable[PairOutcome], rank_by: str = "points") -> list[Standing]:
    """
    The standings, best first.

    They depend on the set of *outcomes* only, not on the order in which they came: pairs are taken in schedule
    order, and equal means keep the order of *entries* and share their rank.
    """
    ordered = sorted(outcomes, key=lambda outcome: outcome.number)
    lines = [_line(name, ordered, rank_by) for name in entries]
    lines.sort(key=lambda line: -_by(line, rank_by).mean)
    ranked: list[Standing] = []
    for at, line in enumerate(lines):
        tied = bool(ranked) and _by(ranked[-1], rank_by).mean == _by(line, rank_by).mean
        rank = ranked[-1].rank if tied else at + 1
        ranked.append(replace(line, rank=rank))
    return ranked


def _by(line: Standing, scale: str) -> Estimate:
    return {"points": line.points, "steps": line.steps, "win": line.win}[scale]


def _line(name: str, outcomes: Sequence[PairOutcome], rank_by: str) -> Standing:
    own: list[tuple[Margin, Margin]] = []
    faults: Counter[str] = Counter()
    forfeits = 0
    for outcome in outcomes:
        if name not in (outcome.first, outcome.second):
            continue
        one, two = outcome.margins
        own.append((one, two) if name == outcome.first else (-one, -two))
        faults.update(outcome.faults.get(name, {}))
        forfeits += outcome.forfeits.get(name, 0)
    tables = {scale: [(_of(one, scale), _of(two, scale)) for one, two in own] for scale in SCALES}
    means = {scale: estimate([(one + two) / 2 for one, two in tables[scale]]) for scale in SCALES}
    rho = correlation([one for one, _ in tables[rank_by]], [two for _, two in tables[rank_by]])
    return Standing(
        rank=0,
        entry=name,
        pairs=len(own),
        points=means["points"],
        steps=means["steps"],
        win=means["win"],
        rho=rho,
        faults=dict(sorted(faults.items())),
        forfeits=forfeits,
    )


def _of(margin: Margin, scale: str) -> int:
    return {"points": margin.points, "steps": margin.steps, "win": margin.win}[scale]
