"""One deal from the first card drawn to the last trick: the machine that asks, checks and records.

::

    DECLARE ──close──▶ BURY ──▶ STIR ──all passed──▶ LEAD ──▶ FOLLOW ──▶ LEAD … ──▶ ENDED
       │                 ▲        │ stir                         (13 to 25 tricks)
       └─▶ ENDED         └────────┘
          (redeal)

Where seats stir in the first trick there is no STIR: a stir in FOLLOW leads to BURY and back to FOLLOW.

A :class:`Deal` holds all cards. Everything that happens is an event, and the host's state is the
fold of all events (:attr:`Deal.view`), a seat's the fold of those it may see
(:meth:`Deal.observation`). The only state beside the events is who is offered a showing while
cards are dealt, because nobody may know that (Q110).
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from chaodipi.engine.actions import Action, ActionKind, Bury, Pass, Play, Show
from chaodipi.engine.cards import HEART_FIVE, SEATS, Card, Rank, Seat, Side, Suit, points_of
from chaodipi.engine.checks import check_bury, check_held, check_turn
from chaodipi.engine.defaults import default_bury
from chaodipi.engine.errors import MalformedError, RuleError
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
    visible,
)
from chaodipi.engine.follow import Follows, default_follow, legal_follows
from chaodipi.engine.history import Contribution
from chaodipi.engine.lead import LeadResult, check_lead, check_plain_lead
from chaodipi.engine.legal import LegalActions
from chaodipi.engine.order import TRUMPS
from chaodipi.engine.ruleset import Ruleset, check_playable
from chaodipi.engine.scoring import dig_multiplier
from chaodipi.engine.setup import Setup, check_position, check_setup
from chaodipi.engine.shapes import shape_of
from chaodipi.engine.showing import check_show, failed_stirs, used_cards
from chaodipi.engine.trick import winner_index
from chaodipi.engine.view import View, after_booking
from chaodipi.engine.window import Offers, close_window, sizes_of, undeclared_rule

__all__ = ["Deal"]


class Deal:
    """
    One deal of four seats.

    Attributes:
        events: Everything that happened, oldest first.
        view: The host's view, all cards in it. Read only.
    """

    def __init__(self, setup: Setup) -> None:
        """
        Start the deal and deal cards until somebody is asked.

        Raises:
            RulesetError: the ruleset cannot be played yet.
            MalformedError: ``CARDS_INVALID``: *cards* is not the deck of the ruleset; ``LEVEL_MISSING``: a side without
                a level where the ruleset has no flag; the caller's mistake.
        """
        check_playable(setup.ruleset)
        if Counter(setup.cards) != Counter(dict.fromkeys(Card, setup.ruleset.decks)):
            raise MalformedError("CARDS_INVALID", f"the cards are not {setup.ruleset.decks} whole packs", "cards")
        check_setup(setup)
        self._begin(setup, setup.cards[4 * setup.hand :])
        self._deal_on()

    def _begin(self, setup: Setup, bottom: tuple[Card, ...]) -> None:
        self._around_510k = False
        self.setup = setup
        self.ruleset = setup.ruleset
        self.events: list[Event] = []
        self.view = View(setup.ruleset)
        self._bottom = bottom
        self._offers: Offers | None = Offers(setup)
        self._seats: dict[Seat, tuple[View, int]] = {}
        self._complete = True
        self._cached: tuple[tuple[int, Seat], Follows] | None = None
        self._emit(
            DealStarted(
                setup.first_drawer, setup.dealer, setup.levels, setup.on_stage, setup.first_deal, setup.redeals,
                setup.laps if setup.ruleset.laps > 1 else (0, 0),
            )
        )  # fmt: skip

    @classmethod
    def from_position(
        cls,
        ruleset: Ruleset,
        hands: Mapping[Seat, Sequence[Card]],
        *,
        bottom: Sequence[Card] = (),
        dealer: Seat | None = None,
        levels: tuple[Rank | None, Rank | None] = (Rank.TWO, Rank.TWO),
        on_stage: Side | None = None,
        first_drawer: Seat = Seat.S0,
        first_deal: bool = False,
        redeals: int = 0,
        laps: tuple[int, int] = (1, 1),
        phase: Phase = Phase.DECLARE,
        trump: Suit | None = None,
        leader: Seat | None = None,
        standing: tuple[Seat, Sequence[Card], ShowKind, Suit | None] | None = None,
        bottom_owner: Seat | None = None,
        score: int = 0,
        tricks_left: int | None = None,
    ) -> "Deal":
        """
        A stacked deal: *hands* count as drawn, and nobody is asked card by card.

        Hands may be partial; a seat that is not given holds nothing. In DECLARE any seat may show
        or pass at any time until :meth:`close`; *to_act* is None. BURY starts with the bottom in
        the hand of *bottom_owner* (else of who stirred last, else the dealer), STIR after his burying
        of *bottom*, LEAD with *leader* (else the dealer). A flag deal starts in LEAD, whatever *phase*
        says. The deal ends by itself after *tricks_left* tricks, or when four given hands are empty.

        Args:
            standing: The showing that stands: seat, cards, kind, named trump.
            score: Catchers' points so far.

        Raises:
            RulesetError: the ruleset cannot be played yet.
            MalformedError: the position has no dealer where its phase needs one, or more copies
                of a card than the ruleset has; the caller's mistake.
            RuleError: *standing* is no showing.
        """
        check_playable(ruleset)
        setup = Setup(ruleset, (), first_drawer, dealer, levels, on_stage, first_deal, redeals, laps)
        check_setup(setup)
        check_position(setup, hands, bottom, phase, trump)
        if setup.flag:  # nothing is declared, buried or stirred: the dealer leads
            phase, trump = Phase.LEAD, Suit.NO_TRUMP
        deal = cls.__new__(cls)
        deal._begin(setup, tuple(bottom))
        deal._offers = None
        deal._complete = len(hands) == 4
        sizes = [0, 0, 0, 0]
        for seat in SEATS:
            if seat in hands:
                sizes[seat] = len(hands[seat])
                deal._emit(CardsDrawn(seat, tuple(sorted(hands[seat])), sizes_of(sizes)))
        shown = None if standing is None else (standing[0], tuple(standing[1]), standing[2], standing[3])
        owner = bottom_owner
        if owner is None and phase != Phase.DECLARE and not setup.flag:
            # Who stirred last has taken the bottom (Q109); before any stir it is the dealer's.
            owner = shown[0] if shown is not None and shown[2] is ShowKind.STIR else dealer
        buried = tuple(bottom) if phase in (Phase.STIR, Phase.LEAD) else ()
        level = deal.view.level
        deal._emit(
            Positioned(
                phase, dealer, level, trump, leader, shown, owner, buried, score, tricks_left, sizes_of(sizes),
                hidden=ruleset.dark and phase != Phase.LEAD,
            )
        )  # fmt: skip
        return deal

    # ---- questions

    @property
    def phase(self) -> Phase:
        """Where the deal stands."""
        return self.view.phase

    @property
    def to_act(self) -> Seat | None:
        """The seat that is asked now; None after the end, and in DECLARE of a stacked deal."""
        if self.view.phase == Phase.DECLARE:
            return None if self._offers is None else self._offers.current
        return self.view.to_act

    @property
    def allowed_kinds(self) -> tuple[ActionKind, ...]:
        """Kinds of action that the seat to act may choose from; empty after the end."""
        return self.view.allowed_kinds

    @property
    def over(self) -> bool:
        """Whether the deal has ended."""
        return self.view.phase == Phase.ENDED

    @property
    def redeals_spent(self) -> bool:
        """
        Whether nobody declared and only the cap kept the deal from being dealt again: it is no trump then, without
        stirring. In rated play such a table does not count (Q133).
        """
        return self.view.undeclared and not self.view.flag and undeclared_rule(self.setup) == "redeal"

    def observation(self, seat: Seat) -> View:
        """
        What *seat* knows now, folded from its visible events. Read only; later calls return the
        same object, brought up to date.
        """
        view, done = self._seats.get(seat) or (View(self.ruleset, seat), 0)
        for event in self.events[done:]:
            seen = visible(event, seat)
            if seen is not None:
                view.apply(seen)
        self._seats[seat] = (view, len(self.events))
        return view

    @property
    def _asked(self) -> tuple[Seat, ...]:
        """Seats that may act now: in DECLARE of a stacked deal all of them."""
        if self.view.phase == Phase.DECLARE and self._offers is None:
            return SEATS
        return () if self.to_act is None else (self.to_act,)

    def legal_actions(self, seat: Seat) -> LegalActions:
        """What *seat* may do now, computed when read; no kinds if it is not its turn."""
        return LegalActions(self, seat)

    def default_action(self, seat: Seat) -> Action:
        """
        What the host does for *seat* when it does not answer: always legal (Q122).

        Pass, bury the lowest cards, lead the lowest card, or the lowest legal follow (rather than stir).

        Raises:
            RuleError: ``DEAL_OVER``.
        """
        view = self.view
        if view.phase == Phase.ENDED:
            raise RuleError("DEAL_OVER", "the deal has ended", ("Q123",))
        if view.phase == Phase.BURY:
            return Bury(default_bury(self.ruleset, view.level, view.can_bury(seat), self.ruleset.bottom))
        if view.phase == Phase.LEAD:
            return Play(default_bury(self.ruleset, view.level, view.hands[seat], 1))
        if ActionKind.PLAY in view.allowed_kinds:
            return Play(default_follow(view.order, view.hands[seat], view.trick[0].cards))
        return Pass()

    # ---- checks: nothing changes

    def check(self, seat: Seat, action: Action) -> None:
        """
        Do nothing if *seat* may do *action* now.

        Raises:
            RuleError: the player's breach, see :mod:`chaodipi.engine.reasons`.
            MalformedError: the action has no cards; the sender's mistake.
        """
        check_turn(self.view, seat, action, self._asked)
        if isinstance(action, Show):
            check_show(self.view, seat, action)
        elif isinstance(action, Bury):
            check_bury(self.view, seat, action.cards)
        elif isinstance(action, Play):
            self._check_cards(seat, action.cards)

    def can(self, seat: Seat, action: Action) -> bool:
        """Whether :meth:`check` accepts *action*."""
        try:
            self.check(seat, action)
        except RuleError:
            return False
        return True

    def check_play(self, seat: Seat, cards: Sequence[Card]) -> None:
        """:meth:`check` of playing *cards*."""
        self.check(seat, Play(tuple(cards)))

    def can_play(self, seat: Seat, cards: Sequence[Card]) -> bool:
        """:meth:`can` of playing *cards*."""
        return self.can(seat, Play(tuple(cards)))

    def _check_cards(self, seat: Seat, cards: Sequence[Card]) -> LeadResult | None:
        """The result of a lead, or None for a legal follow."""
        view = self.view
        check_held(view, seat, cards, ("S1-25",))
        if view.phase == Phase.LEAD:
            if view.plain_lead:
                check_plain_lead(view.order, cards)
            others = [view.hands[SEATS[(seat + i) & 3]] for i in (1, 2, 3)]
            return check_lead(view.order, cards, others)
        self._follows(seat).check(cards)
        return None

    def _follows(self, seat: Seat) -> Follows:
        """Legal follows of *seat* in this state; made once a decision, for checks, lists and defaults alike."""
        now = (len(self.events), seat)
        if self._cached is None or self._cached[0] != now:
            view = self.view
            self._cached = (now, legal_follows(view.order, view.hands[seat], view.trick[0].cards))
        return self._cached[1]

    # ---- actions

    def act(self, seat: Seat, action: Action) -> tuple[Event, ...]:
        """
        Do *action* for *seat* and everything that follows by itself; the new events, oldest first.

        Raises:
            RuleError, MalformedError: as :meth:`check`; nothing has changed then.
        """
        check_turn(self.view, seat, action, self._asked)
        start = len(self.events)
        if isinstance(action, Show):
            self._show(seat, action)
        elif isinstance(action, Bury):
            check_bury(self.view, seat, action.cards)
            self._emit(Buried(seat, tuple(sorted(action.cards)), len(action.cards)))
            self._reveal()
        elif isinstance(action, Play):
            self._play(seat, action.cards)
        else:
            self._pass(seat)
        return tuple(self.events[start:])

    def play(self, seat: Seat, cards: Sequence[Card]) -> tuple[Event, ...]:
        """:meth:`act` of playing *cards*."""
        return self.act(seat, Play(tuple(cards)))

    def close(self) -> tuple[Event, ...]:
        """
        Close the declaring window of a stacked deal by hand and give the bottom to the dealer.

        Raises:
            RuleError: ``WRONG_ACTION_KIND``: the window is closed already, or closes by itself.
        """
        if self.view.phase != Phase.DECLARE or self._offers is not None:
            raise RuleError("WRONG_ACTION_KIND", "the declaring window cannot be closed now", ("Q111",))
        start = len(self.events)
        self._close_window()
        return tuple(self.events[start:])

    def penalise(self, seat: Seat, points: int) -> bool:
        """
        Book *points* against the side of *seat* (S3-49, Q78, Q94); False, and nothing is booked, while no side deals.

        For a referee; :class:`chaodipi.engine.referee.Referee` says when.
        """
        side = self.setup.on_stage if self.view.dealer is None else self.view.dealer.side
        if side is None:
            return False
        self._emit(Booked("penalty", seat, points if seat.side == side else -points))
        return True

    def end_by_jump(self, side: Side) -> None:
        """End the deal unplayed: *side* jumps (S3-56, Q86). For a referee, as :meth:`penalise`."""
        self._emit(DealEnded("jump", self.view.score, (), 0, 0, None, (), self.view.stake, side))

    def _emit(self, event: Event) -> None:
        self.events.append(event)
        self.view.apply(event)

    # ---- declaring

    def _show(self, seat: Seat, show: Show) -> None:
        kind, _, _ = check_show(self.view, seat, show)
        stirring, in_trick = self.view.stirring, self.view.phase == Phase.FOLLOW
        self._emit(Shown(seat, kind, tuple(show.cards), show.named, self.ruleset.dark, self.view.phase))
        if in_trick:
            # The dealer's lead stays; everybody else plays anew under the new trump (S2a-56, Q44).
            self._emit(CardsReturned(seat, tuple((play.seat, play.cards) for play in self.view.trick[1:])))
        if stirring:
            self._take_bottom(seat)
            return
        offers = self._offers
        if offers is not None:
            offers.shown(seat)
            self._deal_on()

    def _pass(self, seat: Seat) -> None:
        phase = self.view.phase
        self._emit(Passed(seat, phase))
        if phase == Phase.STIR:
            self._reveal()
        elif self._offers is not None:
            self._deal_on()
        elif phase == Phase.FOLLOW and self.view.to_act is None:
            self._end_trick()

    def _reveal(self) -> None:
        """Publish what was shown in the dark once nobody may stir any more, and book failed stirs (Q36, Q99, Q124)."""
        view = self.view
        if view.revealed or view.phase != Phase.LEAD or view.trump is None:  # a stacked position may tell of no trump
            return
        shown = tuple(Shown(s.seat, s.kind, s.cards, s.named, False, s.phase) for s in view.shown)
        self._emit(TrumpRevealed(view.trump, view.level, shown))
        if self.ruleset.blind_stir_fail:
            for failed in failed_stirs(view):
                # The dealer side's failure is the catchers' gain (S0-37, Q37).
                self._book("blind_stir_failed", failed.seat, self.ruleset.blind_stir_fail)

    def _book(self, kind: str, seat: Seat, points: int) -> None:
        """Book *points* for the catchers if *seat* is of the dealer side, else against them."""
        self._emit(Booked(kind, seat, points if self._is_dealer_side(seat) else -points))

    def _deal_on(self) -> None:
        """Deal cards until a seat is to be offered a showing; after the last card close the window."""
        offers = self._offers
        assert offers is not None
        while not offers.find(self.view):
            if offers.all_drawn:
                self._close_window()
                return
            self._emit(offers.draw(self.view))

    def _close_window(self) -> None:
        closed = close_window(self.view, self.setup, self._bottom)
        self._emit(closed)
        self._offers = None
        if isinstance(closed, WindowClosed) and self.view.bottom_size:
            self._take_bottom(closed.dealer)

    def _take_bottom(self, seat: Seat) -> None:
        """*seat* takes the bottom: the dealer's, or the one that was buried last (Q109)."""
        view = self.view
        bottom = view.bottom if view.bottom is not None else self._bottom
        shown: Counter[Card] = Counter()
        if self.ruleset.dark and self.ruleset.show_once:
            shown = used_cards(view) & Counter(bottom)
        self._emit(BottomTaken(seat, bottom, len(bottom), tuple(sorted(shown.elements()))))

    # ---- play

    def _play(self, seat: Seat, cards: Sequence[Card]) -> None:
        lead = self._check_cards(seat, cards)
        order = self.view.order
        whole = order.sort(cards)
        failed = lead is not None and lead.failed
        if lead is not None:
            self._around_510k = lead.around_510k
        forced = self._forced_heart_fives(seat, len(cards))
        self._emit(Played(seat, lead.played if lead is not None else whole, whole if failed else None))
        if failed and self.ruleset.throw_penalty:
            # The dealer side's mistake is the catchers' gain (S1-81, S1-82, Q52).
            self._book("failed_throw", seat, self.ruleset.throw_penalty * len(whole))
        if forced:
            # A forced heart five costs the side that had to play it (S0-38, Q71).
            self._book("forced_heart_five", seat, self.ruleset.heart_five_forced * forced)
        if self.view.to_act is None:
            self._end_trick()

    def _forced_heart_fives(self, seat: Seat, count: int) -> int:
        """
        Heart fives that every legal follow of *seat* to a trump lead holds (逼红5: S0-38, Q71, Q106).

        Nothing is forced in the last trick.
        """
        view = self.view
        if not self.ruleset.heart_five_forced or view.phase != Phase.FOLLOW or HEART_FIVE not in view.hands[seat]:
            return 0
        shape = shape_of(view.order, view.trick[0].cards)
        if shape is None or shape.cls != TRUMPS or self._is_last_trick(seat, count):
            return 0
        return self._follows(seat).forced().count(HEART_FIVE)

    def _is_last_trick(self, seat: Seat, count: int) -> bool:
        """Whether the deal ends with this trick, in which *seat* plays *count* cards; a stacked position may say so."""
        view = self.view
        if view.tricks_left is not None:
            return view.tricks_left == 1
        return len(view.hands[seat]) == count and not view.hand_sizes[view.trick[0].seat]

    def _is_dealer_side(self, seat: Seat) -> bool:
        dealer = self.view.dealer
        return dealer is not None and dealer.side == seat.side

    def _end_trick(self) -> None:
        view = self.view
        lead = view.trick[0]
        plays = [play.cards for play in view.trick]
        best = view.trick[winner_index(view.order, plays, around_510k=self._around_510k)]
        points = sum(points_of(play.cards) for play in view.trick)
        taken = 0 if self._is_dealer_side(best.seat) else points
        self._emit(TrickEnded(best.seat, points, view.score + taken))
        if view.tricks_left == 0 or (self._complete and not any(view.hand_sizes)):
            self._end(best.seat, best.cards, lead)

    def _end(self, winner: Seat, play: tuple[Card, ...], lead: Contribution) -> None:
        """Dig if a catcher won the last trick, then book kept heart fives, and end the deal (S0-26 to S0-30, Q124)."""
        view = self.view
        bottom = view.bottom or ()
        multiplier = 0 if self._is_dealer_side(winner) or not view.bottom_size else dig_multiplier(view.order, play)
        dug = multiplier * points_of(bottom)
        score = view.score + dug
        if self.ruleset.heart_five_kept and set(lead.cards) == {HEART_FIVE}:
            # Who leads to the last trick has won the one before it; keeping pays his side (保红5: S0-39, Q72).
            points = -self.ruleset.heart_five_kept * len(lead.cards)
            self._book("kept_heart_five", lead.seat, points)
            score = after_booking(self.ruleset, score, view.adjustments[-1].points)
        self._emit(DealEnded("played", score, bottom, multiplier, dug, winner, play, view.stake))
