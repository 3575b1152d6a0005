"""The summary of a table as JSON, for the store."""

import json
from typing import Any

from chaodipi.engine.cards import Seat, Side
from chaodipi.engine.scoring import Position, Settlement
from chaodipi.service.match.summary import SeatSummary, TableSummary
from chaodipi.service.records.record import level_from_text, settlement_to_json

__all__ = ["summary_from_json", "summary_to_json"]


def summary_to_json(summary: TableSummary) -> str:
    """All of *summary* but the levels that sides are released from, which nobody is told."""
    settlement = summary.settlement
    told = settlement_to_json(settlement)
    if told is not None and settlement is not None:
        told["winner"] = None if settlement.winner is None else settlement.winner.text
        told["next_dealer"] = _number(settlement.next_dealer)
    return json.dumps(
        {
            "how": summary.how,
            "score": summary.score,
            "dealer": _number(summary.dealer),
            "settlement": told,
            "forfeiting_seat": _number(summary.forfeiting_seat),
            "seats": [[seat.decisions, seat.think_p50_ms, seat.think_max_ms, seat.faults] for seat in summary.seats],
        },
        separators=(",", ":"),
    )


def summary_from_json(text: str) -> TableSummary:
    """The inverse of :func:`summary_to_json`."""
    said = json.loads(text)
    s0, s1, s2, s3 = (SeatSummary(asked, faults, p50, most) for asked, p50, most, faults in said["seats"])
    return TableSummary(
        how=said["how"],
        score=said["score"],
        dealer=_seat(said["dealer"]),
        settlement=None if said["settlement"] is None else _settlement(said["settlement"]),
        forfeiting_seat=_seat(said["forfeiting_seat"]),
        seats=(s0, s1, s2, s3),
    )


def _settlement(said: dict[str, Any]) -> Settlement:
    laps = said.get("laps", {})
    return Settlement(
        score=said["score"],
        stage=_SIDES[said["stage"]],
        steps=(said["steps"][0], said["steps"][1]),
        gained=(said["gained"][0], said["gained"][1]),
        positions={
            _SIDES[side]: Position.at(level_from_text(level), laps.get(side, 1))
            for side, level in said["levels"].items()
        },
        next_dealer=_seat(said["next_dealer"]),
        award=said["award"],
        heaven=said["heaven"],
        fall_back=said["fall_back"],
        winner=None if said["winner"] is None else _SIDES[said["winner"]],
        jump=said["jump"],
        payout=(said["payout"][0], said["payout"][1]) if "payout" in said else None,
    )


_SIDES = {side.text: side for side in Side}


def _number(seat: Seat | None) -> int | None:
    return None if seat is None else int(seat)


def _seat(number: int | None) -> Seat | None:
    return None if number is None else Seat(number)
