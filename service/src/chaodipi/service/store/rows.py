"""A finished pair as rows of the store."""

from typing import Any

from chaodipi.engine.cards import Seat
from chaodipi.service.scheduler.league import PlayedPair

__all__ = ["rows_of"]


def rows_of(league: str, played: PlayedPair) -> list[dict[str, Any]]:
    """Both tables of *played*, in order."""
    rows = []
    for which, (result, digest) in enumerate(zip(played.results, played.record_digests, strict=True), 1):
        faults = [0, 0]
        for seat, kinds in result.faults.items():
            # The first entry sits at 0 and 2 at the first table, at 1 and 3 at the second.
            faults[(Seat(seat).side + which - 1) % 2] += sum(kinds.values())
        of_first = played.outcome.margins[which - 1]
        rows.append(
            {
                "table_id": result.table_id,
                "league": league,
                "pair": played.pair.number,
                "which": which,
                "first": played.pair.first,
                "second": played.pair.second,
                "how": result.how,
                "score": result.score,
                "points": of_first.points,
                "steps": of_first.steps,
                "win": of_first.win,
                "first_faults": faults[0],
                "second_faults": faults[1],
                "decisions": len(result.decisions),
                "record_sha256": digest,
            }
        )
    return rows
