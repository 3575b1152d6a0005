"""What a bot author writes (:class:`Bot`): handlers that get a :class:`Decision` each.

::

    class Mine(Bot):
        def play(self, decision):
            if decision.is_lead:
                return decision.play(decision.lead_options()[0])
            return decision.cheapest_legal() if decision.partner_winning else decision.strongest_legal()
"""

import secrets

from chaodipi.engine.actions import Action, ActionKind, Pass
from chaodipi.engine.cards import Seat
from chaodipi.engine.events import DealEnded, Event, Phase
from chaodipi.engine.view import View
from chaodipi.sdk.decision import Decision

__all__ = ["Bot"]


class Bot:
    """
    A player; one instance for each seat of each match. Every handler has a default.

    Attributes:
        seed: Number that a bot with chance mixes into it (``--seed``); set on the class by ``run``.
        match: Name of the match.
        seat: The seat that this instance plays.
    """

    seed: int = 0

    def __init__(self, match: str = "local", seat: Seat = Seat.S0) -> None:
        self.match = match
        self.seat = seat

    @classmethod
    def nonce(cls, entry: str) -> bytes:
        """
        The bot's share in the seeds of a league, asked for once before its first board: at most 32 bytes.

        What nobody could foresee keeps everybody else from choosing the cards, so :attr:`seed` has no part in it.

        Args:
            entry: The entry that the bot answers for, ``leagues/{id}/entries/{id}``.
        """
        return secrets.token_bytes(32)

    def play(self, decision: Decision) -> Action:
        """Lead or follow."""
        return decision.default()

    def bury(self, decision: Decision) -> Action:
        """Lay down the bottom (扣底)."""
        return decision.default()

    def declare(self, decision: Decision) -> Action:
        """Show cards while they are dealt (亮主, 反主), or pass."""
        return decision.pass_()

    def stir(self, decision: Decision) -> Action:
        """
        Show cards to take the bottom over (炒底), or pass.

        Where seats stir in the first trick, a pass leaves the turn: :meth:`play` is called next.
        """
        return decision.pass_()

    def on_event(self, event: Event, view: View) -> None:
        """*event* happened; *view* contains it already."""

    def on_deal_end(self, end: DealEnded, view: View) -> None:
        """A deal is over."""

    def decide(self, decision: Decision) -> Action:
        """Call the handler of the decision's phase; in the first trick, :meth:`stir` before :meth:`play`."""
        if decision.phase == Phase.FOLLOW and ActionKind.SHOW in decision.allowed:
            action = self.stir(decision)
            if not isinstance(action, Pass) or ActionKind.PASS in decision.allowed:
                return action
        match decision.phase:
            case Phase.DECLARE:
                return self.declare(decision)
            case Phase.STIR:
                return self.stir(decision)
            case Phase.BURY:
                return self.bury(decision)
            case _:
                return self.play(decision)
