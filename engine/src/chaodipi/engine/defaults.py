"""The cards of the host's default actions, lowest first.

Rules: Q122.
"""

from collections.abc import Sequence

from chaodipi.engine.cards import HEART_FIVE, Card, Rank
from chaodipi.engine.ruleset import Ruleset

__all__ = ["default_bury", "default_key"]


def default_key(ruleset: Ruleset, level: Rank | None, card: Card) -> tuple[bool, bool, int, int]:
    """
    Sort key of the default actions, lowest first: jokers, level cards, heart five and permanent 2s
    last; before those non-points before points; then face rank; then C < D < H < S.

    The trump suit is not used: in dark rulesets the burier does not know it.
    """
    special = (
        card.is_joker
        or card.rank == level
        or (card == HEART_FIVE and ruleset.heart_five == "top")
        or (card.rank == Rank.TWO and ruleset.two_permanent)
    )
    rank = card.rank + Rank.ACE if card.is_joker else card.rank
    return (special, not special and card.points > 0, rank, int(card.suit))


def default_bury(ruleset: Ruleset, level: Rank | None, hand: Sequence[Card], count: int) -> tuple[Card, ...]:
    """The *count* lowest cards of *hand* in the order of :func:`default_key`."""
    return tuple(sorted(hand, key=lambda card: default_key(ruleset, level, card))[:count])
