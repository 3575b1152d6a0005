"""A whole game, from 2 past A or of a set number of deals: what one deal hands to the next.

Rules: S0-10, S2a-04, S2a-10, S2b-38 to S2b-40, S4-12, S4-13, S4-19; Q30, Q89, Q91, Q92, Q118, Q125, Q129.
"""

from collections.abc import Mapping, Sequence

from chaodipi.engine.cards import Card, Rank, Seat, Side
from chaodipi.engine.deal import Deal
from chaodipi.engine.ruleset import Ruleset
from chaodipi.engine.scoring import Position, Settlement, settle, settle_jump
from chaodipi.engine.setup import Setup

__all__ = ["Game", "dealer_of", "paid_winner", "settle_deal"]


def dealer_of(deal: Deal) -> Seat:
    """The dealer; for a deal that ended before there was one the first drawer, in whose place his rotation goes on."""
    return deal.setup.first_drawer if deal.view.dealer is None else deal.view.dealer


def settle_deal(deal: Deal, positions: Mapping[Side, Position]) -> Settlement:
    """
    What *deal*, which has ended from *positions*, changes.

    Raises:
        ValueError: the deal has not ended, or is to be dealt again; the caller's mistake.
    """
    end, dealer = deal.view.end, dealer_of(deal)
    if end is not None and end.jumping is not None:
        return settle_jump(deal.ruleset, dealer, end.jumping, positions, score=max(0, end.score), played=False)
    if end is None or end.how != "played":
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
        stake=end.stake,
    )


def paid_winner(payouts: Mapping[Side, int]) -> Side | None:
    """The side with the higher sum of *payouts* for each of its players; None if the two are equal (Q89)."""
    ours, theirs = payouts[Side.SIDE_02], payouts[Side.SIDE_13]
    return None if ours == theirs else Side.SIDE_02 if ours > theirs else Side.SIDE_13


class Game:
    """
    The state between the deals of one game; cards and chance come from the caller.

    Attributes:
        positions: Where each side stands.
        dealer: Dealer of the next deal; None before the first, and where placing decides (S4-19).
        stage: The side on stage in the next deal, None before the first.
        deals: Deals played, redeals not counted (Q125).
        payouts: What each player of a side was paid so far, in room units; 0 where nothing is paid.
        over: Whether the game has ended.
        winner: The side that won; None while the game goes on, and after equal payouts.
    """

    def __init__(self, ruleset: Ruleset, deals_set: int | None = None) -> None:
        """
        Start a game.

        Args:
            deals_set: How many deals are played, 1 or more, where ``match = deals``; else None (S2a-04, S2a-10).

        Raises:
            ValueError: *deals_set* does not fit the ruleset; the caller's mistake.
        """
        if (deals_set is not None) != (ruleset.match == "deals") or (deals_set is not None and deals_set < 1):
            raise ValueError(f"deals_set = {deals_set} with match = {ruleset.match!r}")
        self.ruleset = ruleset
        self.deals_set = deals_set
        start = Rank.parse(ruleset.start_level)
        self.positions: dict[Side, Position] = {side: Position(start) for side in Side}
        self.dealer: Seat | None = None
        self.stage: Side | None = None
        self.deals = 0
        self.payouts: dict[Side, int] = dict.fromkeys(Side, 0)
        self.over = False
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
        if self.over:
            raise ValueError("the game is over")
        return Setup(
            self.ruleset,
            tuple(cards),
            first_drawer if self._drawer is None else self._drawer,
            self.dealer,
            (self.positions[Side.SIDE_02].deal_level, self.positions[Side.SIDE_13].deal_level),
            self.stage,
            self.deals == 0,
            self._redeals,
            (self.positions[Side.SIDE_02].lap, self.positions[Side.SIDE_13].lap),
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
        self.deals += 1
        self._redeals = 0
        self._count(deal, settlement)
        return settlement

    def _count(self, deal: Deal, settlement: Settlement) -> None:
        """Add the payouts up, and see whether the game is over."""
        dealer = deal.view.dealer
        if settlement.payout is not None and dealer is not None:
            for side, paid in zip((dealer.side, dealer.side.other), settlement.payout, strict=True):
                self.payouts[side] += paid
        if self.deals_set is None:
            self.winner = settlement.winner
            self.over = self.winner is not None
        elif self.deals == self.deals_set:
            self.winner = paid_winner(self.payouts)
            self.over = True


def _next_drawer(deal: Deal, stage: Side) -> Seat:
    """Where placing decides the dealer: partners on stage draw first in turns, a new stage by rotation (S4-13, Q91)."""
    drawer, dealer = deal.setup.first_drawer, dealer_of(deal)
    if dealer.side != stage:
        return dealer.next
    return drawer.partner if drawer.side == stage else dealer.partner
