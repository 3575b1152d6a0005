"""A whole game, from 2 past A: positions, stage and dealer carried from deal to deal.

Rules: S0-10, S2b-38 to S2b-40; Q89, Q91, Q92, Q125, Q129.
"""

from collections.abc import Sequence

from chaodipi.engine.cards import Card, Rank, Seat, Side
from chaodipi.engine.deal import Deal
from chaodipi.engine.ruleset import Ruleset
from chaodipi.engine.scoring import Position, Settlement, settle
from chaodipi.engine.setup import Setup

__all__ = ["Game"]


class Game:
    """
    The state between the deals of one game; cards and chance come from the caller.

    Attributes:
        positions: Where each side stands.
        dealer: Dealer of the next deal, None before the first.
        deals: Deals played, redeals not counted.
        winner: The side that won the game, None while it goes on.
    """

    def __init__(self, ruleset: Ruleset) -> None:
        self.ruleset = ruleset
        start = Rank.parse(ruleset.start_level)
        self.positions: dict[Side, Position] = {side: Position(start) for side in Side}
        self.dealer: Seat | None = None
        self.deals = 0
        self.winner: Side | None = None
        self._redeals = 0

    def setup(self, cards: Sequence[Card], first_drawer: Seat = Seat.S0) -> Setup:
        """
        The next deal with *cards* in dealing order.

        Args:
            first_drawer: Draws first in a first deal; later the dealer does (Q92).

        Raises:
            ValueError: the game is over; the caller's mistake.
        """
        if self.winner is not None:
            raise ValueError("the game is over")
        return Setup(
            self.ruleset,
            tuple(cards),
            first_drawer if self.dealer is None else self.dealer,
            self.dealer,
            (self.positions[Side.SIDE_02].level, self.positions[Side.SIDE_13].level),
            None if self.dealer is None else self.dealer.side,
            self.deals == 0,
            self._redeals,
        )

    def finish(self, deal: Deal) -> Settlement | None:
        """
        Take the result of *deal*, made from :meth:`setup`; None for a redeal, which changes nothing.

        Raises:
            ValueError: the deal has not ended; the caller's mistake.
        """
        end = deal.view.end
        if end is None:
            raise ValueError("the deal has not ended")
        if end.how == "redeal":
            self._redeals += 1
            return None
        dealer = deal.view.dealer
        assert dealer is not None
        settlement = settle(
            self.ruleset,
            dealer,
            end.score,
            self.positions,
            order=deal.view.order,
            last_winner=None if end.last_winner is None else end.last_winner.side,
            last_play=end.last_play,
        )
        self.positions = settlement.positions
        self.dealer = settlement.next_dealer
        self.winner = settlement.winner
        self.deals += 1
        self._redeals = 0
        return settlement
