"""A match of several games: games won, levels risen, and a clock that it is told.

Rules: S4-05 to S4-08; Q90, Q125, Q129.
"""

from collections.abc import Mapping, Sequence

from chaodipi.engine.cards import Card, Seat, Side
from chaodipi.engine.deal import Deal
from chaodipi.engine.game import Game, dealer_of
from chaodipi.engine.ruleset import Ruleset
from chaodipi.engine.scoring import Settlement
from chaodipi.engine.setup import Setup

__all__ = ["GAMES_TO_WIN", "MATCH_S", "Match", "ahead_at_time"]

GAMES_TO_WIN = 2
"""Best of three (S4-06)."""

MATCH_S = 3600
"""Seconds of a match; 5400 in a semi-final and final (S4-05)."""


def ahead_at_time(games: Mapping[Side, int], risen: Mapping[Side, int], on_stage: Side | None) -> Side | None:
    """
    Who wins when the time is up: more games, then more levels risen in all games together, then *on_stage*.

    "The result of the previous game may be carried into the next": levels are summed over the
    games. With all of it equal the side that is on stage last wins (S4-06 to S4-08, Q90); None
    only if nobody has been on stage yet.
    """
    ours, theirs = ((games[side], risen[side]) for side in Side)
    if ours == theirs:
        return on_stage
    return Side.SIDE_02 if ours > theirs else Side.SIDE_13


class Match:
    """
    The state between the deals of a best of three; cards, chance and time come from the caller.

    Time is told in seconds since the match began, and only between deals: who has cards in hand
    plays the deal to its end (S4-08).

    Attributes:
        game: The running game, or the last one. Each begins anew: levels, releases and dealer (Q129).
        games: Games won by each side.
        risen: Levels risen by each side in all games together.
        on_stage: The side on stage after the last deal, None before the first.
        over: Whether the match has ended.
        winner: The side that won; None while the match goes on.
    """

    def __init__(self, ruleset: Ruleset, *, time_s: float = MATCH_S) -> None:
        """
        Start a match of *time_s* seconds.

        Raises:
            ValueError: *ruleset* has another way to end a match, or there is no time; the caller's mistake.
        """
        if ruleset.match != "best_of_three" or time_s <= 0:
            raise ValueError(f"match = {ruleset.match!r} with {time_s} s: a best of three has a time above 0")
        self.ruleset = ruleset
        self.time_s = time_s
        self.game = Game(ruleset)
        self.games: dict[Side, int] = dict.fromkeys(Side, 0)
        self.risen: dict[Side, int] = dict.fromkeys(Side, 0)
        self.on_stage: Side | None = None
        self.over = False
        self.winner: Side | None = None

    def setup(self, cards: Sequence[Card], first_drawer: Seat = Seat.S0) -> Setup:
        """
        The next deal with *cards* in dealing order; *first_drawer* as in :meth:`Game.setup`.

        Raises:
            ValueError: the match is over; the caller's mistake.
        """
        if self.over:
            raise ValueError("the match is over")
        return self.game.setup(cards, first_drawer)

    def finish(self, deal: Deal, now_s: float) -> Settlement | None:
        """
        Take the result of *deal*, which ended *now_s* seconds after the match began; None for a redeal.

        A redeal does not stop the clock (Q125).

        Raises:
            ValueError: the deal has not ended, or the match is over; the caller's mistake.
        """
        if self.over:
            raise ValueError("the match is over")
        settlement = self.game.finish(deal)
        if settlement is not None:
            self._count(settlement, deal)
        if not self.over:
            self.tell(now_s)
        return settlement

    def tell(self, now_s: float) -> None:
        """It is *now_s* seconds after the match began, and no deal is running: the match ends if the time is up."""
        if not self.over and now_s >= self.time_s:
            self.over = True
            self.winner = ahead_at_time(self.games, self.risen, self.on_stage)

    def _count(self, settlement: Settlement, deal: Deal) -> None:
        dealer = dealer_of(deal)
        self.on_stage = settlement.stage
        for side, gained in zip((dealer.side, dealer.side.other), settlement.gained, strict=True):
            self.risen[side] += gained
        winner = settlement.winner
        if winner is None:
            return
        self.games[winner] += 1
        if self.games[winner] == GAMES_TO_WIN:
            self.over, self.winner = True, winner
        else:
            self.game = Game(self.ruleset)
