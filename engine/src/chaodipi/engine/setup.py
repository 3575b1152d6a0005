"""What chance and context decide before a deal, and what a stacked position must hold."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaodipi.engine.cards import Card, Rank, Seat, Side
from chaodipi.engine.errors import MalformedError
from chaodipi.engine.events import Phase
from chaodipi.engine.ruleset import Ruleset

__all__ = ["Setup", "check_position"]


@dataclass(frozen=True, slots=True)
class Setup:
    """
    Everything that chance and context decide before a deal.

    Attributes:
        ruleset: The values of the game.
        cards: The deck in order: card *i* goes to seat ``(first_drawer + i) % 4``; the last ones
            are the bottom, in dealing order.
        first_drawer: Draws the first card.
        dealer: Dealer, or None where the showing decides (first deals, placing).
        levels: Levels of sides 02 and 13; None for a flag deal.
        on_stage: Side whose level is played; None: the dealer's.
        first_deal: First deal of a game.
        redeals: How often this deal was redealt before (Q133).
    """

    ruleset: Ruleset
    cards: tuple[Card, ...]
    first_drawer: Seat = Seat.S0
    dealer: Seat | None = None
    levels: tuple[Rank | None, Rank | None] = (Rank.TWO, Rank.TWO)
    on_stage: Side | None = None
    first_deal: bool = True
    redeals: int = 0


def check_position(
    ruleset: Ruleset, hands: Mapping[Seat, Sequence[Card]], bottom: Sequence[Card], dealer: Seat | None, phase: Phase
) -> None:
    """
    Do nothing if a stacked deal may start like this.

    Raises:
        MalformedError: ``PHASE_INVALID``, ``DEALER_MISSING`` or ``CARD_COPIES``; the caller's mistake.
    """
    if phase not in (Phase.DECLARE, Phase.BURY, Phase.STIR, Phase.LEAD):
        raise MalformedError("PHASE_INVALID", "a position starts in declare, bury, stir or lead", "phase")
    if dealer is None and phase != Phase.DECLARE:
        raise MalformedError("DEALER_MISSING", "this phase has a dealer", "dealer")
    counts = Counter(bottom) if phase != Phase.BURY else Counter[Card]()
    for hand in hands.values():
        counts.update(hand)
    for card, count in counts.items():
        if count > ruleset.decks:
            raise MalformedError("CARD_COPIES", f"{count} copies of {card.text} in {ruleset.decks} packs", "hands")
