"""A whole game, from 2 past A: positions, stage, dealer and first drawer carried from deal to deal.

Rules: S0-10, S2b-38 to S2b-40, S4-12, S4-13, S4-19; Q30, Q89, Q91, Q92, Q125, Q129.
"""

from collections.abc import Mapping, Sequence

from chaodipi.engine.cards import Card, Rank, Seat, Side
from chaodipi.engine.deal import Deal
from chaodipi.engine.ruleset import Ruleset
from chaodipi.engine.scoring import Position, Settlement, settle
from chaodipi.engine.setup import Setup

__all__ = ["Game", "settle_deal"]


def settle_deal(deal: Deal, positions: Mapping[Side, Position]) -> Settlement:
    """
    What *deal*, which was played to its end from *positions*, changes.

    Raises:
        ValueError: the deal has not been played to its end; the caller's mistake.
    """
    end, dealer = deal.view.end, deal.view.dealer
    if end is None or end.how != "played" or dealer is None:
        raise ValueError("the deal was not played to its end")
    return settle(
        deal.ruleset,
        dealer,
        end.score,
        positions,
        order=deal.view.order,
        last_winner=None if end.last_winner is None else end.last_winner.side,
        last_play=end.last_play,
        table_score=end.score - end.dig_points,
        first_deal=deal.setup.first_deal,
    )


class Game:
    """
    The state between the deals of one game; cards and chance come from the caller.

    Attributes:
        positions: Where each side stands.
        dealer: Dealer of the next deal; None before the first, and where placing decides (S4-19).
        stage: The side on stage in the next deal, None before the first.
        deals: Deals played, redeals not counted.
        winner: The side that won the game, None while it goes on.
    """

    def __init__(self, ruleset: Ruleset) -> None:
        self.ruleset = ruleset
        start = Rank.parse(ruleset.start_level)
        self.positions: dict[Side, Position] = {side: Position(start) for side in Side}
        self.dealer: Seat | None = None
        self.stage: Side | None = None
        self.deals = 0
        self.winner: Side | None = None
        self._redeals = 0
        self._drawer: Seat | None = None

    def setup(self, cards: Sequence[Card], first_drawer: Seat = Seat.S0) -> Setup:
        """
        The next deal with *cards* in dealing order.

        Args:
            first_drawer: Draws first in a first deal. Later the dealer does, and where placing decides
                the partners on stage take turns (S4-12, S4-13, Q92).

        Raises:
            ValueError: the game is over; the caller's mistake.
        """
        if self.winner is not None:
            raise ValueError("the game is over")
        return Setup(
            self.ruleset,
            tuple(cards),
            first_drawer if self._drawer is None else self._drawer,
            self.dealer,
            (self.positions[Side.SIDE_02].level, self.positions[Side.SIDE_13].level),
            self.stage,
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
        settlement = settle_deal(deal, self.positions)
        self.positions = settlement.positions
        self.dealer = settlement.next_dealer
        self.stage = settlement.stage
        self._drawer = self.dealer if self.dealer is not None else _next_drawer(deal, settlement.stage)
        self.winner = settlement.winner
        self.deals += 1
        self._redeals = 0
        return settlement


def _next_drawer(deal: Deal, stage: Side) -> Seat | None:
    """Where placing decides the dealer: partners on stage draw first in turns, a new stage by rotation (S4-13, Q91)."""
    drawer, dealer = deal.setup.first_drawer, deal.view.dealer
    if dealer is None or dealer.side != stage:
        return None if dealer is None else dealer.next
    return drawer.partner if drawer.side == stage else dealer.partner
