"""A view as JSON data: what digests are taken of, and what two equal views have in common."""

from typing import TYPE_CHECKING, Any

from chaodipi.engine.cards import format_cards
from chaodipi.engine.history import Showing

if TYPE_CHECKING:
    from chaodipi.engine.view import View

__all__ = ["canonical"]


def canonical(view: "View") -> dict[str, Any]:
    """Everything that *view* knows as JSON data, equal for equal views."""
    end = view.end
    return {
        "seat": view.seat,
        "ruleset": view.ruleset.digest,
        "phase": int(view.phase),
        "first_drawer": int(view.first_drawer),
        "dealer": view.dealer,
        "levels": [level and int(level) for level in view.levels],
        "laps": list(view.laps),
        "on_stage": view.on_stage,
        "first_deal": view.first_deal,
        "redeals": view.redeals,
        "level": view.level and int(view.level),
        "trump": view.trump and view.trump.letter,
        "hands": {str(seat): format_cards(hand) for seat, hand in view.hands.items()},
        "hand_sizes": list(view.hand_sizes),
        "shown": [_canonical_showing(showing) for showing in view.shown],
        "standing": _canonical_showing(view.standing) if view.standing else None,
        "revealed": view.revealed,
        "caller": view.caller,
        "already_shown": format_cards(view.already_shown),
        "undeclared": view.undeclared,
        "turned": format_cards(view.turned),
        "bottom_owner": view.bottom_owner,
        "bottom": None if view.bottom is None else format_cards(view.bottom),
        "trick": [[int(p.seat), format_cards(p.cards)] for p in view.trick],
        "tricks": [
            [[[int(p.seat), format_cards(p.cards)] for p in t.plays], int(t.winner), t.points] for t in view.tricks
        ],
        "returned": [
            [int(r.stirrer), [[int(seat), format_cards(cards)] for seat, cards in r.returned]] for r in view.returned
        ],
        "attempts": [[a.trick, int(a.seat), format_cards(a.cards)] for a in view.attempts],
        "score": view.score,
        "adjustments": [[b.kind, int(b.seat), b.points] for b in view.adjustments],
        "stake": view.stake,
        "asked": [int(seat) for seat in view.asked],
        "to_act": view.to_act,
        "tricks_left": view.tricks_left,
        "end": None
        if end is None
        else [end.how, end.score, format_cards(end.bottom), end.dig_multiplier, end.dig_points, end.jumping],
    }


def _canonical_showing(showing: Showing) -> list[Any]:
    return [
        int(showing.seat),
        showing.kind.value,
        format_cards(showing.cards),
        showing.rung,
        showing.trump and showing.trump.letter,
        int(showing.phase),
    ]
