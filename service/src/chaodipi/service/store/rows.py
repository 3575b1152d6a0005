"""The pairs of a finished board as rows of the store."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chaodipi.engine.cards import Side
from chaodipi.service.match.summary import TableSummary
from chaodipi.service.match.table import TableResult
from chaodipi.service.records.summary import summary_to_json
from chaodipi.service.scheduler.league import PlayedPair
from chaodipi.service.scheduler.run import faults_of
from chaodipi.service.scheduler.timing import times_of

__all__ = ["Rows", "rows_of"]


@dataclass(frozen=True, slots=True)
class Rows:
    """What is written of finished pairs, table by table: their results, how long decisions took, summaries."""

    results: tuple[dict[str, Any], ...]
    timings: tuple[dict[str, Any], ...] = ()
    summaries: tuple[dict[str, Any], ...] = ()


def rows_of(league: str, board: Sequence[PlayedPair]) -> Rows:
    """All tables of *board*, the pairs of one board."""
    # The first entry sits at 0 and 2 at the first table, at 1 and 3 at the second.
    sides = ((Side.SIDE_02, Side.SIDE_13), (Side.SIDE_13, Side.SIDE_02))
    tables = [(played, which, played.results[which], sides[which]) for played in board for which in (0, 1)]
    return Rows(
        tuple(_result(league, *table) for table in tables),
        tuple(
            {
                "table_id": result.table_id,
                "first_ms": _text(times_of(result, first)),
                "second_ms": _text(times_of(result, second)),
            }
            for _, _, result, (first, second) in tables
        ),
        tuple(
            {"table_id": result.table_id, "summary": summary_to_json(TableSummary.of(result))}
            for _, _, result, _ in tables
        ),
    )


def _result(
    league: str, played: PlayedPair, which: int, result: TableResult, sides: tuple[Side, Side]
) -> dict[str, Any]:
    of_first = played.outcome.margins[which]
    return {
        "table_id": result.table_id,
        "league": league,
        "pair": played.pair.number,
        "which": which + 1,
        "first": played.pair.first,
        "second": played.pair.second,
        "how": result.how,
        "score": result.score,
        "points": of_first.points,
        "steps": of_first.steps,
        "win": of_first.win,
        "first_faults": _text(faults_of(result, sides[0])),
        "second_faults": _text(faults_of(result, sides[1])),
        "decisions": len(result.decisions),
        "record_sha256": played.record_digests[which],
    }


def _text(counts: Mapping[Any, int]) -> str:
    return json.dumps(dict(sorted(counts.items())), separators=(",", ":"))
