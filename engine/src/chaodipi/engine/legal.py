"""What a seat may do now, as a lazy view of a deal: nothing is computed before it is read."""

from typing import TYPE_CHECKING

from chaodipi.engine.actions import ActionKind, Show
from chaodipi.engine.cards import Seat
from chaodipi.engine.events import Phase
from chaodipi.engine.follow import Follows
from chaodipi.engine.showing import legal_shows

if TYPE_CHECKING:
    from chaodipi.engine.deal import Deal

__all__ = ["LegalActions"]


class LegalActions:
    """What a seat may do, computed when it is read; valid until the deal goes on."""

    __slots__ = ("_deal", "_seat")

    def __init__(self, deal: "Deal", seat: Seat) -> None:
        self._deal = deal
        self._seat = seat

    @property
    def kinds(self) -> tuple[ActionKind, ...]:
        """Allowed kinds of action; empty if another seat is asked."""
        deal = self._deal
        stacked = deal.phase == Phase.DECLARE and deal._offers is None
        return deal.allowed_kinds if stacked or deal.to_act == self._seat else ()

    @property
    def shows(self) -> tuple[Show, ...]:
        """Every legal showing."""
        return legal_shows(self._deal.view, self._seat) if ActionKind.SHOW in self.kinds else ()

    @property
    def bury_count(self) -> int:
        """How many cards must be buried, any of the hand; 0 if none."""
        return self._deal.view.bottom_size if ActionKind.BURY in self.kinds else 0

    @property
    def follows(self) -> Follows | None:
        """Every legal follow, lazily; None if the seat does not follow (a lead: any cards of one class)."""
        deal = self._deal
        if deal.phase != Phase.FOLLOW or ActionKind.PLAY not in self.kinds:
            return None
        return deal._follows(self._seat)
