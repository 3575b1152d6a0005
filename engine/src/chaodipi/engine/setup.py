"""What chance and context decide before a deal, and what a stacked position must hold."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaodipi.engine.cards import Card, Rank, Seat, Side, Suit
from chaodipi.engine.errors import MalformedError
from chaodipi.engine.events import Phase, is_flag_deal
from chaodipi.engine.ruleset import Ruleset
from chaodipi.engine.scoring import Position

__all__ = ["Setup", "check_position", "check_setup"]


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
        levels: Levels of sides 02 and 13; None for a side on the flag, whose deals are flag deals.
        laps: Laps of sides 02 and 13, from 1; only where a match has laps.
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
    laps: tuple[int, int] = (1, 1)

    def position(self, side: Side) -> Position:
        """Where *side* stands, if this deal stands alone: nothing is released."""
        return Position.at(self.levels[side], self.laps[side])

    @property
    def flag(self) -> bool:
        """A flag deal: no level, no bottom, nothing shown; all cards are dealt out (S0-49, Q88)."""
        return is_flag_deal(self.dealer, self.on_stage, self.levels)

    @property
    def bottom(self) -> int:
        """Cards that are set aside."""
        return 0 if self.flag else self.ruleset.bottom

    @property
    def hand(self) -> int:
        """Cards that each seat is dealt."""
        return len(Card) * self.ruleset.decks // 4 if self.flag else self.ruleset.hand


def check_setup(setup: Setup) -> None:
    """
    Do nothing if the levels fit the ruleset.

    Raises:
        MalformedError: ``LEVEL_MISSING``: a side without a level where there is no flag to carry; the caller's mistake.
    """
    if None in setup.levels and setup.ruleset.past_ace != "flag":
        raise MalformedError("LEVEL_MISSING", "this ruleset has no flag deal: both sides have a level", "levels")


def check_position(
    setup: Setup, hands: Mapping[Seat, Sequence[Card]], bottom: Sequence[Card], phase: Phase, trump: Suit | None
) -> None:
    """
    Do nothing if a stacked deal may start like this.

    Raises:
        MalformedError: ``PHASE_INVALID``, ``DEALER_MISSING``, ``CARD_COPIES``, or, in a flag deal, ``TRUMP_UNKNOWN`` or
            ``CARDS_INVALID`` for a bottom; the caller's mistake.
    """
    if phase not in (Phase.DECLARE, Phase.BURY, Phase.STIR, Phase.LEAD):
        raise MalformedError("PHASE_INVALID", "a position starts in declare, bury, stir or lead", "phase")
    if setup.dealer is None and phase != Phase.DECLARE:
        raise MalformedError("DEALER_MISSING", "this phase has a dealer", "dealer")
    if setup.flag:
        if phase in (Phase.BURY, Phase.STIR):
            raise MalformedError("PHASE_INVALID", "nothing is buried or stirred in a flag deal", "phase")
        if trump not in (None, Suit.NO_TRUMP):
            raise MalformedError("TRUMP_UNKNOWN", "a flag deal is played without a trump suit", "trump")
        if bottom:
            raise MalformedError("CARDS_INVALID", "a flag deal has no bottom", "bottom")
    counts = Counter(bottom) if phase != Phase.BURY else Counter[Card]()
    for hand in hands.values():
        counts.update(hand)
    for card, count in counts.items():
        if count > setup.ruleset.decks:
            raise MalformedError(
                "CARD_COPIES", f"{count} copies of {card.text} in {setup.ruleset.decks} packs", "hands"
            )
