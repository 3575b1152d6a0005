"""How likely a blind stir is to fail: what others may have shown in the dark, seen from one hand."""

from collections.abc import Sequence

from chaodipi.engine import ShowKind
from chaodipi.engine.cards import HEART_FIVE
from chaodipi.engine.rungs import is_higher, read_showing
from chaodipi.sdk import SUITS, Card, Show, View

__all__ = ["fail_chance"]

DECLARED_PAIR = 0.25
"""Share of declarations that are a pair; the others are one card, which every stir beats."""


def fail_chance(view: View, hand: Sequence[Card], show: Show) -> float:
    """Chance that *show*, a stir out of *hand*, is not higher than everything that was shown before (S0-36)."""
    ruleset = view.ruleset
    rung, _ = read_showing(ruleset, view.level, show.cards, show.named, show.looking_back)
    hidden = _rungs_of_others(view, hand)
    as_high = sum(not is_higher(ruleset, rung, other) for other in hidden) / max(1, len(hidden))
    holds = 1.0
    for showing in view.shown:
        if showing.rung is not None:
            holds *= is_higher(ruleset, rung, showing.rung)
        else:
            holds *= 1 - as_high * (DECLARED_PAIR if showing.kind is ShowKind.DECLARATION else 1.0)
    return 1 - holds


def _rungs_of_others(view: View, hand: Sequence[Card]) -> list[str]:
    """Pairs of the ladder that another seat may hold: not one of their cards is in *hand*."""
    pairs = {Card.SMALL_JOKER: "bj", Card.BIG_JOKER: "rj"}
    if view.level is not None:
        pairs |= {Card.of(suit, view.level): suit.letter for suit in SUITS}
    if view.ruleset.heart_five == "top":
        pairs[HEART_FIVE] = "H5"  # at level 5 too: there it is no pair of level cards (Q7)
    return [rung for card, rung in pairs.items() if rung in view.ruleset.ladder and card not in hand]
