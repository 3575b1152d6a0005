"""The state of one deal, as one seat knows it or as the host does; a fold of events.

A :class:`View` is built by :meth:`View.apply` alone. Host and client use the same class: the
view of a seat, folded from its visible events, is enough to act on.
"""

from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from chaodipi.engine.actions import ActionKind
from chaodipi.engine.canonical import canonical
from chaodipi.engine.cards import SEATS, Card, Rank, Seat, Side, Suit
from chaodipi.engine.events import (
    Booked,
    BottomTaken,
    Buried,
    CardsDrawn,
    CardsReturned,
    DealEnded,
    DealStarted,
    Event,
    Passed,
    Phase,
    Played,
    Positioned,
    ShowKind,
    Shown,
    TrickEnded,
    TrumpRevealed,
    WindowClosed,
)
from chaodipi.engine.history import Attempt, Contribution, Showing, Trick
from chaodipi.engine.order import Order, order_for
from chaodipi.engine.ruleset import Ruleset
from chaodipi.engine.rungs import is_higher, read_showing
from chaodipi.engine.stacked import before_first_trick, undeclared

__all__ = ["View", "after_booking"]

_KINDS: dict[Phase, tuple[ActionKind, ...]] = {
    Phase.DECLARE: (ActionKind.SHOW, ActionKind.PASS),
    Phase.BURY: (ActionKind.BURY,),
    Phase.STIR: (ActionKind.SHOW, ActionKind.PASS),
    Phase.LEAD: (ActionKind.PLAY,),
    Phase.FOLLOW: (ActionKind.PLAY,),
    Phase.ENDED: (),
}
"""What may be done in a phase; see :attr:`View.allowed_kinds` for the first trick."""


def after_booking(ruleset: Ruleset, score: int, points: int) -> int:
    """The catchers' *score* after *points* were booked; with a floor, a penalty never takes it below 0 (Q78)."""
    if ruleset.penalty_floor == "zero" and points < 0:
        return max(score + points, min(0, score))
    return score + points


class View:
    """
    One deal as *seat* knows it, or as the host does (*seat* None: everything).

    Attributes:
        phase: Where the deal stands.
        dealer: Dealer (庄家), None while not yet known.
        laps: Laps of sides 02 and 13, from 1; 0 where a match has no laps.
        levels: Levels of sides 02 and 13. ``level`` is the one of this deal, None on a flag deal.
        flag: A flag deal (扛旗): no bottom, no showings.
        trump: Trump as it would be now, None while nobody has shown. Of a dark deal only the host
            knows it before the reveal.
        revealed: Nothing that was shown is hidden: always in an open ruleset, after the reveal in a dark one.
        caller: Whose showing stood when the bottom was taken; None before, and if nobody showed.
        already_shown: Cards that others showed in the dark, known from the bottom, and not to be shown again.
        hands: Known hands, sorted by value: the viewer's own, the host's four.
        hand_sizes: Cards in each hand; while cards are dealt, as of the viewer's last draw.
        standing: The showing that stands, None if there is none, or if only the host can tell.
        shown: All showings, oldest first.
        undeclared: Nobody had shown when the window closed.
        turned: Cards of the bottom that were turned.
        bottom_owner: Who buried last, or has the bottom in hand to bury.
        bottom: The bottom's cards as far as the viewer knows them: own burying, the end, the host.
        trick: Contributions to the running trick. ``tricks``: the finished ones.
        returned: What each stir during the first trick returned, oldest first; these cards are known to be held.
        attempts: Failed throws.
        score: Catchers' running score in points, booked adjustments included.
        adjustments: Booked changes of it, oldest first.
        stake: Multiplier of the stake (Q47).
        asked: Seats offered a stir so far, the one being asked included.
        to_act: Whose turn it is; None while declaring (nobody can tell who is asked), between
            tricks, and after the end.
        end: The event that ended the deal.
    """

    __slots__ = (
        "_first_trick", "_order", "_queue", "adjustments", "already_shown", "asked", "attempts", "bottom",
        "bottom_owner", "caller", "dealer", "end", "first_deal", "first_drawer", "flag", "hand_sizes", "hands", "laps",
        "level", "levels", "on_stage", "phase", "redeals", "returned", "revealed", "ruleset", "score", "seat", "shown",
        "stake", "standing", "stirs_from", "to_act", "trick", "tricks", "tricks_left", "trump", "turned", "undeclared",
    )  # fmt: skip

    def __init__(self, ruleset: Ruleset, seat: Seat | None = None, events: Iterable[Event] = ()) -> None:
        """An empty view; *events* are applied to it."""
        self.ruleset = ruleset
        self.seat = seat
        self.phase = Phase.DECLARE
        self.first_drawer = Seat.S0
        self.dealer: Seat | None = None
        self.levels: tuple[Rank | None, Rank | None] = (None, None)
        self.laps = (0, 0)
        self.on_stage: Side | None = None
        self.first_deal = False
        self.redeals = 0
        self.level: Rank | None = None
        self.flag = False
        self.trump: Suit | None = None
        self.hands: dict[Seat, list[Card]] = {s: [] for s in (SEATS if seat is None else (seat,))}
        self.hand_sizes = [0, 0, 0, 0]
        self.standing: Showing | None = None
        self.shown: list[Showing] = []
        self.revealed = not ruleset.dark
        self.caller: Seat | None = None
        self.already_shown: tuple[Card, ...] = ()
        self.undeclared = False
        self.turned: tuple[Card, ...] = ()
        self.bottom_owner: Seat | None = None
        self.bottom: tuple[Card, ...] | None = None
        self.trick: list[Contribution] = []
        self.tricks: list[Trick] = []
        self.returned: list[CardsReturned] = []
        self.attempts: list[Attempt] = []
        self.score = 0
        self.adjustments: list[Booked] = []
        self.stake = 1
        self.asked: list[Seat] = []
        self.to_act: Seat | None = None
        self.end: DealEnded | None = None
        self.tricks_left: int | None = None
        self.stirs_from: set[Seat] = set()
        self._first_trick = True
        self._queue: list[Seat] = []
        self._order: Order | None = None
        for event in events:
            self.apply(event)

    # ---- questions

    @property
    def order(self) -> Order:
        """Order of the cards under the present level and trump (no trump while there is none)."""
        if self._order is None:
            self._order = order_for(self.ruleset, self.level, self.trump or Suit.NO_TRUMP)
        return self._order

    @property
    def bottom_size(self) -> int:
        """Cards that are set aside in this deal; 0 in a flag deal."""
        return 0 if self.flag else self.ruleset.bottom

    @property
    def lead(self) -> tuple[Card, ...] | None:
        """The cards led to the running trick, None before the lead."""
        return self.trick[0].cards if self.trick else None

    @property
    def declaration(self) -> Showing | None:
        """The first showing of the deal (亮主), whatever came after it."""
        first = self.shown[0] if self.shown else None
        return first if first is not None and first.kind is ShowKind.DECLARATION else None

    @property
    def barred(self) -> frozenset[Seat]:
        """
        Seats passed over in the stirring, until somebody else has stirred (Q39, Q102, Q115).

        Empty while nobody may stir.
        """
        if not self.stirring or self.caller is None:
            return frozenset()
        match self.ruleset.stir_bar:
            case "standing":
                # The caller is barred himself, so whoever has stirred is another.
                return frozenset() if self.stirs_from else frozenset({self.caller})
            case "caller_and_dealer":
                # Neither of the two can stir first, so any stir at all was another's.
                both = {seat for seat in (self.caller, self.dealer) if seat is not None}
                return frozenset() if self.stirs_from else frozenset(both)
            case _:
                return frozenset()

    @property
    def stir_window(self) -> bool:
        """Whether this is the first trick of a deal in which seats stir at their turn in it (Q46)."""
        return self.ruleset.stir == "first_trick" and self._first_trick and not self.tricks

    @property
    def stirring(self) -> bool:
        """Whether seats are offered a stir now, each at its turn: after a burying, or in the first trick."""
        in_trick = self.phase == Phase.FOLLOW and self.stir_window and not self.undeclared
        return in_trick or self.phase == Phase.STIR

    @property
    def plain_lead(self) -> bool:
        """Whether only one card or identical cards may be led, so that any later trump leaves them one class (Q45)."""
        return self.phase == Phase.LEAD and self.stir_window

    def may_stir(self, seat: Seat) -> bool:
        """Whether *seat* may stir at its turn, whatever it holds: not its own bottom, not barred (S2a-58, Q102)."""
        return self.stirring and seat != self.bottom_owner and seat not in self.barred

    @property
    def allowed_kinds(self) -> tuple[ActionKind, ...]:
        """Kinds of action that the seat to act may choose from; empty after the end."""
        if self.phase == Phase.FOLLOW and self.to_act is not None and self.may_stir(self.to_act):
            # The dealer's card lies on the table when the turn passes him (Q45).
            return (ActionKind.SHOW, ActionKind.PASS if self._has_played(self.to_act) else ActionKind.PLAY)
        return _KINDS[self.phase]

    @property
    def waiting(self) -> tuple[Seat, ...]:
        """Seats still to play in this trick, in order, the one to act or after it first."""
        if self.to_act is None or self.phase not in (Phase.LEAD, Phase.FOLLOW, Phase.BURY):
            return ()
        if self.phase == Phase.BURY and not self.trick:
            return ()
        return tuple(seat for i in range(4) if not self._has_played(seat := SEATS[(self.to_act + i) & 3]))

    def _has_played(self, seat: Seat) -> bool:
        return any(play.seat == seat for play in self.trick)

    def can_bury(self, seat: Seat) -> tuple[Card, ...]:
        """
        Cards of *seat* that may be buried, sorted by value; KeyError where the viewer does not know them.

        All of the hand (Q48), but for a placed card: it lies on the table until the reveal (Q113).
        """
        hand = list(self.hands[seat])
        placed = self.declaration
        lies = self.ruleset.overcall == "correction" and not self.revealed
        if lies and placed is not None and placed.seat == seat and placed.cards[0] in hand:
            hand.remove(placed.cards[0])  # a stacked hand may leave it out
        return tuple(hand)

    def hand(self, seat: Seat) -> tuple[Card, ...]:
        """Cards of *seat*, sorted by value; KeyError where the viewer does not know them."""
        return tuple(self.hands[seat])

    def canonical(self) -> dict[str, Any]:
        """The whole view as JSON data, equal for equal views; the form that digests are taken of."""
        return canonical(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, View) and self.canonical() == other.canonical()

    __hash__ = None  # type: ignore[assignment]

    # ---- the fold

    def apply(self, event: Event) -> None:
        """Take *event* in. Events of this deal in their order only; nothing is checked again."""
        _APPLY[type(event)](self, event)

    def _deal_started(self, event: DealStarted) -> None:
        self.first_drawer = event.first_drawer
        self.dealer = event.dealer
        self.levels = event.levels
        self.on_stage = event.on_stage
        self.first_deal = event.first_deal
        self.redeals = event.redeals
        self.flag = event.flag
        self.laps = event.laps
        side = event.dealer.side if event.dealer is not None else event.on_stage
        self.level = Rank.parse(self.ruleset.start_level) if side is None else event.levels[side]

    def _cards_drawn(self, event: CardsDrawn) -> None:
        hand = self.hands.get(event.seat)
        if hand is not None:
            for card in event.cards:
                insort(hand, card)
        self.hand_sizes = list(event.sizes)

    def _shown(self, event: Shown) -> None:
        self._take_in(event)
        if self.ruleset.stake_doubling and event.kind not in (ShowKind.DECLARATION, ShowKind.SELF_PROTECT):
            self.stake *= 2
        if event.phase != Phase.DECLARE:
            self.stirs_from.add(event.seat)
            self._queue = []
            self.to_act = None

    def _take_in(self, event: Shown) -> None:
        """Record a showing; what it makes of standing and trump, in the dark only the host can tell."""
        rung: str | None = None
        trump: Suit | None = None
        if event.cards:
            looking_back = event.kind is ShowKind.LOOKING_BACK
            rung, trump = read_showing(self.ruleset, self.level, event.cards, event.named, looking_back)
        showing = Showing(event.seat, event.kind, event.cards, rung, trump, event.phase)
        self.shown.append(showing)
        if (self.revealed or self.seat is None) and self._replaces_standing(showing):
            self.standing = showing
            self._set_trump(trump)

    def _replaces_standing(self, showing: Showing) -> bool:
        """A showing counts by the ladder where it is one of strength; elsewhere the last counts (S0-35, S3-04)."""
        standing = self.standing
        if standing is None or standing.rung is None or showing.rung is None:
            return True
        rules = self.ruleset
        by_ladder = rules.overcall == "ladder" if showing.phase == Phase.DECLARE else rules.stir_strength != "any"
        return not by_ladder or is_higher(rules, showing.rung, standing.rung)

    def _trump_revealed(self, event: TrumpRevealed) -> None:
        self.revealed = True
        self.shown = []
        self.standing = None
        for showing in event.showings:
            self._take_in(showing)
        self._set_trump(event.trump)

    def _set_trump(self, trump: Suit | None) -> None:
        self.trump = trump
        self._order = None

    def _passed(self, event: Passed) -> None:
        if event.phase == Phase.STIR:
            self._ask_next()
        elif event.phase == Phase.FOLLOW:
            self._next_turn(event.seat)

    def _window_closed(self, event: WindowClosed) -> None:
        self.dealer = event.dealer
        self.level = event.level
        self._set_trump(event.trump)
        self.turned = event.turned
        self.undeclared = event.undeclared
        self.revealed = not event.hidden
        self.caller = event.caller
        self.hand_sizes = list(event.sizes)
        if self.bottom_size == 0:
            self._start_play(event.dealer)

    def _bottom_taken(self, event: BottomTaken) -> None:
        hand = self.hands.get(event.seat)
        if hand is not None:
            for card in event.cards:
                insort(hand, card)
        self.hand_sizes[event.seat] += event.count
        self.already_shown = tuple(sorted((Counter(self.already_shown) | Counter(event.already_shown)).elements()))
        self.bottom = None
        self.bottom_owner = event.seat
        self.phase = Phase.BURY
        self.to_act = event.seat

    def _buried(self, event: Buried) -> None:
        self._take_from_hand(event.seat, event.cards)
        self.hand_sizes[event.seat] -= event.count
        # Where nobody may look again, the burier has to remember what he buried (S4-24, Q48).
        shown = bool(event.cards) and (self.ruleset.look_again or self.seat is None)
        self.bottom = tuple(sorted(event.cards)) if shown else None
        self.bottom_owner = event.seat
        if not self.trick:
            self._ask_for_stirs()
            return
        # A stir during the first trick: the stirrer plays next, the dealer has played (S2a-55, Q44).
        self.phase = Phase.FOLLOW
        if self._has_played(event.seat):
            self._next_turn(event.seat)
        else:
            self.to_act = event.seat

    def _ask_for_stirs(self) -> None:
        """Start the asking after a burying (S0-20, F13), or the play where nobody may stir."""
        owner = self.bottom_owner
        assert owner is not None
        if self.stir_window or self.ruleset.stir == "none" or self.undeclared:
            self._start_play(self.dealer)
            return
        self.phase = Phase.STIR
        after = [SEATS[(owner + i) & 3] for i in (1, 2, 3)]
        if self.ruleset.stir_order == "dealer_first" and self.dealer is not None and owner != self.dealer:
            after = [seat for i in range(4) if (seat := SEATS[(self.dealer + i) & 3]) != owner]
        self._queue = after
        self._ask_next()

    def _ask_next(self) -> None:
        barred = self.barred
        while self._queue:
            seat = self._queue.pop(0)
            if seat not in barred:
                self.asked.append(seat)
                self.to_act = seat
                return
        self._start_play(self.dealer)

    def _start_play(self, leader: Seat | None) -> None:
        self.phase = Phase.LEAD
        self.to_act = leader

    def _played(self, event: Played) -> None:
        self._take_from_hand(event.seat, event.cards)
        self.hand_sizes[event.seat] -= len(event.cards)
        if event.attempted is not None:
            self.attempts.append(Attempt(len(self.tricks), event.seat, event.attempted))
        self.trick.append(Contribution(event.seat, event.cards))
        self.phase = Phase.FOLLOW
        self._next_turn(event.seat)

    def _next_turn(self, seat: Seat) -> None:
        """
        Pass the turn on after *seat*; nobody's when the trick is complete.

        While seats stir in the trick, the turn passes the dealer too, and the trick is complete when it
        is back at the last burier (S2a-59, Q45, Q46).
        """
        owner = self.bottom_owner
        if not self.stirring or owner is None:
            self.to_act = seat.next if len(self.trick) < 4 else None
            return
        # Only a stacked position has a lead after a stir: who stirred last plays next, as after his burying.
        following = owner if len(self.trick) == 1 and owner != seat else seat.next
        if following != owner and self._has_played(following) and not self.may_stir(following):
            following = following.next
        self.to_act = None if following == owner and self._has_played(owner) else following
        if self.to_act is not None and self.may_stir(self.to_act):
            self.asked.append(self.to_act)

    def _cards_returned(self, event: CardsReturned) -> None:
        for seat, cards in event.returned:
            hand = self.hands.get(seat)
            if hand is not None:
                for card in cards:
                    insort(hand, card)
            self.hand_sizes[seat] += len(cards)
        self.trick = self.trick[:1]
        self.returned.append(event)

    def _take_from_hand(self, seat: Seat, cards: Iterable[Card]) -> None:
        hand = self.hands.get(seat)
        if hand is not None:
            for card in cards:
                hand.remove(card)

    def _booked(self, event: Booked) -> None:
        self.adjustments.append(event)
        self.score = after_booking(self.ruleset, self.score, event.points)

    def _trick_ended(self, event: TrickEnded) -> None:
        self.tricks.append(Trick(tuple(self.trick), event.winner, event.points))
        self.trick = []
        self.score = event.score
        if self.tricks_left is not None:
            self.tricks_left -= 1
        self._start_play(event.winner)

    def _deal_ended(self, event: DealEnded) -> None:
        self.end = event
        self.score = event.score
        self.phase = Phase.ENDED
        self.to_act = None
        if event.how == "played":
            self.bottom = event.bottom

    def _positioned(self, event: Positioned) -> None:
        self.dealer = event.dealer
        self.level = event.level
        self._set_trump(event.trump)
        self.hand_sizes = list(event.sizes)
        self.phase = event.phase
        self.score = event.score
        self.tricks_left = event.tricks_left
        self.bottom_owner = event.bottom_owner
        self.bottom = event.bottom or None
        self.revealed = not event.hidden
        if event.standing is not None:
            seat, cards, kind, named = event.standing
            phase = Phase.STIR if kind is ShowKind.STIR else Phase.DECLARE
            self._take_in(Shown(seat, kind, cards, named, event.hidden, phase))
            if phase == Phase.STIR:
                self.stirs_from.add(seat)
            else:
                self.caller = seat
            if event.trump is not None:
                self._set_trump(event.trump)
        self._first_trick = before_first_trick(event)
        if event.phase == Phase.STIR:
            self._ask_for_stirs()
        elif event.phase == Phase.BURY:
            self.undeclared = undeclared(self.ruleset, event, first_deal=self.first_deal)
            self.to_act = event.bottom_owner if event.bottom_owner is not None else event.dealer
        elif event.phase == Phase.LEAD:
            self.undeclared = undeclared(self.ruleset, event, first_deal=self.first_deal)
            self._start_play(event.leader if event.leader is not None else event.dealer)


_APPLY: dict[type, Callable[[View, Any], None]] = {
    DealStarted: View._deal_started,
    CardsDrawn: View._cards_drawn,
    Shown: View._shown,
    Passed: View._passed,
    WindowClosed: View._window_closed,
    BottomTaken: View._bottom_taken,
    Buried: View._buried,
    TrumpRevealed: View._trump_revealed,
    Played: View._played,
    CardsReturned: View._cards_returned,
    Booked: View._booked,
    TrickEnded: View._trick_ended,
    DealEnded: View._deal_ended,
    Positioned: View._positioned,
}
"""One row an event: the whole transition table."""
