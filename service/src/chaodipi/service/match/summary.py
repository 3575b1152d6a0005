"""What came out of a table, in short: all that is told of it when it is over, without its cards and decisions."""

import statistics
from dataclasses import dataclass

from chaodipi.engine.cards import SEATS, Seat, Side
from chaodipi.engine.scoring import Settlement
from chaodipi.service.match.table import TableResult

__all__ = ["SeatSummary", "TableSummary"]


@dataclass(frozen=True, slots=True)
class SeatSummary:
    """
    How a seat did.

    Attributes:
        decisions: Decisions that it was asked for.
        faults: Kind of fault → count.
        think_p50_ms, think_max_ms: Median and longest time of its own answers, 0 if there was none.
    """

    decisions: int
    faults: dict[str, int]
    think_p50_ms: int
    think_max_ms: int


@dataclass(frozen=True, slots=True)
class TableSummary:
    """A :class:`TableResult` without its decisions; fields of the same name mean the same. Seats from 0 to 3."""

    how: str
    score: int
    dealer: Seat | None
    settlement: Settlement | None
    forfeiting_seat: Seat | None
    seats: tuple[SeatSummary, SeatSummary, SeatSummary, SeatSummary]

    @classmethod
    def of(cls, result: TableResult) -> "TableSummary":
        """The summary of *result*."""
        s0, s1, s2, s3 = (_seat(result, seat) for seat in SEATS)
        return cls(
            result.how, result.score, result.dealer, result.settlement, result.forfeiting_seat, (s0, s1, s2, s3)
        )  # fmt: skip

    @property
    def forfeiting_side(self) -> Side | None:
        """The side that forfeited, None if none did."""
        return None if self.forfeiting_seat is None else self.forfeiting_seat.side


def _seat(result: TableResult, seat: Seat) -> SeatSummary:
    own = [record for record in result.decisions if record.seat == seat]
    times = [record.think_ms for record in own if not record.by_host]
    return SeatSummary(
        decisions=len(own),
        faults=dict(sorted(result.faults.get(seat, {}).items())),
        think_p50_ms=int(statistics.median(times)) if times else 0,
        think_max_ms=max(times, default=0),
    )
