"""The declaring window: who is offered a showing while the cards are dealt, and what the end of it fixes.

Rules: Q22, Q24, Q25, Q30, Q91, Q110, Q111, S0-04 to S0-06, S2b-19, S4-19, S4-33 to S4-35.
"""

from collections.abc import Sequence

from chaodipi.engine.actions import Show
from chaodipi.engine.cards import HEART_FIVE, SEATS, Card, Seat, Suit
from chaodipi.engine.events import CardsDrawn, DealEnded, Sizes, WindowClosed
from chaodipi.engine.rungs import turned_card
from chaodipi.engine.setup import Setup
from chaodipi.engine.showing import legal_shows
from chaodipi.engine.view import View

__all__ = ["Offers", "close_window", "sizes_of", "undeclared_rule"]


class Offers:
    """
    Who is offered a showing while cards are dealt: host's knowledge only (Q110).

    Attributes:
        current: The seat that is offered one now, None between two.
        drawn: Cards dealt so far.
    """

    __slots__ = ("_closing", "_drawer", "_refused", "_round", "_setup", "current", "drawn")

    def __init__(self, setup: Setup) -> None:
        self.current: Seat | None = None
        self._setup = setup
        self.drawn = 0
        self._drawer = setup.first_drawer  # the seat that drew last
        self._closing = False  # the round after the last card
        self._round: list[Seat] = []  # still to be looked at under the present state
        # What each seat could show when it last passed; emptied by every showing.
        self._refused: dict[Seat, frozenset[Show]] = {}

    def find(self, view: View) -> bool:
        """Make the next seat that may be offered a showing the current one; False if there is none before a card."""
        self.current = None
        if self._look_round(view):
            return True
        if not self.all_drawn or self._closing or view.flag:
            return False
        self._closing = True
        self._round = _round_from(self._setup.first_drawer)
        return self._look_round(view)

    def _look_round(self, view: View) -> bool:
        while self._round:
            seat = self._round.pop(0)
            shows = frozenset(legal_shows(view, seat))
            if shows and (self._closing or not shows <= self._refused.get(seat, frozenset())):
                self._refused[seat] = shows
                self.current = seat
                return True
        return False

    @property
    def all_drawn(self) -> bool:
        """Whether the last card is dealt."""
        return self.drawn == 4 * self._setup.hand

    def draw(self, view: View) -> CardsDrawn:
        """Deal the next card."""
        setup = self._setup
        card = setup.cards[self.drawn]
        seat = SEATS[(setup.first_drawer + self.drawn) & 3]
        sizes = list(view.hand_sizes)
        sizes[seat] += 1
        self.drawn += 1
        self._drawer = seat
        # Only the drawer's showings can have grown, and only by a card that can be shown or counts.
        counts = setup.ruleset.min_trumps_to_call or card.is_joker or card.rank == view.level or card == HEART_FIVE
        self._round = [seat] if counts else []
        return CardsDrawn(seat, (card,), sizes_of(sizes))

    def shown(self, seat: Seat) -> None:
        """*seat* has shown: nothing that was passed before binds any more, and the offer goes round again."""
        self._refused.clear()
        self._round = _round_from(seat.next if self._closing else self._drawer)


def close_window(view: View, setup: Setup, bottom: tuple[Card, ...]) -> WindowClosed | DealEnded:
    """
    What the end of the window fixes in one step: dealer, trump and level, or a redeal (Q22, Q24, Q25, Q111).

    Args:
        bottom: The cards set aside, in dealing order.
    """
    if view.standing is None:
        return _close_undeclared(view, setup, bottom)
    assert view.trump is not None
    return _fixed(view, setup, _dealer_by_showing(view, setup), view.trump)


def undeclared_rule(setup: Setup) -> str:
    """What the ruleset does with a deal like *setup* that nobody declares."""
    return setup.ruleset.no_declare_first if setup.first_deal else setup.ruleset.no_declare_later


def _dealer_by_showing(view: View, setup: Setup) -> Seat:
    standing, ruleset = view.standing, setup.ruleset
    assert standing is not None
    if view.dealer is not None:
        return view.dealer
    if not setup.first_deal and ruleset.dealer_seat == "placing":
        # Who places himself deals; an opponent's card is dealt by the seat after him (S4-19, Q30).
        side = setup.on_stage
        return standing.seat if side is None or standing.seat.side == side else standing.seat.next
    return view.shown[0].seat if ruleset.first_dealer == "first_shown" else standing.seat


def _close_undeclared(view: View, setup: Setup, bottom: tuple[Card, ...]) -> WindowClosed | DealEnded:
    ruleset, dealer = setup.ruleset, view.dealer
    how = "no_trump" if view.flag else undeclared_rule(setup)
    if how == "redeal" and setup.redeals < ruleset.redeal_cap:
        return DealEnded("redeal", view.score, (), 0, 0, None, (), view.stake)
    if how in ("redeal", "no_trump") or not bottom:
        return _fixed(view, setup, setup.first_drawer if dealer is None else dealer, Suit.NO_TRUMP, undeclared=True)
    deciding, count = turned_card(bottom, view.level, jokers=how in ("turn", "turn_all"))
    if how == "turn_for_dealer":
        # The bottom is turned by the seats in turn; who turns the deciding card deals (S4-35).
        dealer = SEATS[(setup.first_drawer + deciding) & 3]
    elif dealer is None:
        dealer = setup.first_drawer  # where placing would have found him (Q91)
    turned = bottom if how == "turn_all" else bottom[:count]
    return _fixed(view, setup, dealer, bottom[deciding].suit, turned, undeclared=True)


def _fixed(
    view: View, setup: Setup, dealer: Seat, trump: Suit, turned: tuple[Card, ...] = (), *, undeclared: bool = False
) -> WindowClosed:
    caller = None if view.standing is None else view.standing.seat
    hidden = setup.ruleset.dark and not undeclared
    level = setup.levels[dealer.side]
    return WindowClosed(dealer, trump, level, turned, undeclared, sizes_of(view.hand_sizes), caller, hidden)


def _round_from(seat: Seat) -> list[Seat]:
    return [SEATS[(seat + i) & 3] for i in range(4)]


def sizes_of(sizes: Sequence[int]) -> Sizes:
    """Four hand sizes as a tuple."""
    return (sizes[0], sizes[1], sizes[2], sizes[3])
