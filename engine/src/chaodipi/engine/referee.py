"""What follows from a breach where a referee books it: one table for each value of ``irregularities``.

A host that prevents (the default) only refuses what the rules refuse. A host that penalises has a
:class:`Referee`, who first books the breach by the table and then refuses the action, or corrects
it. In the tables stands what a player at a distance can commit; what he cannot (looking, exposing,
a wrong number of cards in the hand) never happens here.

Rules: S3-49, S3-52 to S3-56, S4-24, S4-25, S4-50 to S4-57; Q78, Q86, Q94.
"""

from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from enum import StrEnum

from chaodipi.engine.actions import Action, ActionKind, Bury, Pass, Play, Show
from chaodipi.engine.cards import Card, Seat
from chaodipi.engine.deal import Deal
from chaodipi.engine.defaults import default_bury
from chaodipi.engine.errors import RuleError
from chaodipi.engine.events import Event, Phase
from chaodipi.engine.view import View

__all__ = ["IRREGULARITIES", "MODES", "Consequence", "Offence", "Referee", "Ruling", "offence_of"]

MODES = ("prevent", "penalise")
"""How a table is hosted: breaches are only refused, or booked by the ruleset's table as well (Q94)."""


class Offence(StrEnum):
    """A breach that a player at a distance can commit."""

    OUT_OF_TURN = "out_of_turn"
    """Cards were played by a seat that was not to play."""
    REVOKE = "revoke"
    """Another follow than owed, with the right cards in the hand."""
    WRONG_COUNT = "wrong_count"
    """A follow with another number of cards than the lead."""
    WRONG_LEAD = "wrong_lead"
    """A lead that is no lead: cards of several classes, or a throw where none is allowed."""
    WRONG_BURY = "wrong_bury"
    """Another number of cards than the bottom has."""
    UNREPORTED_BURY = "unreported_bury"
    """A stir over a bottom of the wrong number, which the stirrer should have counted."""
    BOTTOM_TOUCHED = "bottom_touched"
    """A bottom that lies already was to be changed."""
    FALSE_SHOWING = "false_showing"
    """A call, overcall or stir to which the cards or the seat give no right."""


@dataclass(frozen=True, slots=True)
class Consequence:
    """
    What an offence leads to, besides that the action is refused.

    Attributes:
        per_card: Points for each card of the action, against the offender's side.
        points: Points for the offence, against the offender's side.
        warnings: So many times a seat is only warned in a deal.
        jump: The deal is not played, and the offender's opponents jump.
        clauses: What the table says it after.
    """

    per_card: int = 0
    points: int = 0
    warnings: int = 0
    jump: bool = False
    clauses: tuple[str, ...] = ()


IRREGULARITIES: dict[str, dict[Offence, Consequence]] = {
    "none": {},
    "dark": {
        Offence.OUT_OF_TURN: Consequence(per_card=10, clauses=("S3-52",)),
        Offence.REVOKE: Consequence(points=20, clauses=("S3-54",)),
        Offence.WRONG_COUNT: Consequence(per_card=10, clauses=("S3-53",)),
        Offence.WRONG_BURY: Consequence(points=80, clauses=("S3-55",)),
        Offence.FALSE_SHOWING: Consequence(jump=True, clauses=("S3-56", "Q86")),
    },
    "timed": {
        Offence.OUT_OF_TURN: Consequence(per_card=10, clauses=("S4-50",)),
        Offence.REVOKE: Consequence(per_card=10, clauses=("S4-50",)),
        Offence.WRONG_COUNT: Consequence(per_card=10, clauses=("S4-50",)),
        Offence.WRONG_LEAD: Consequence(per_card=10, clauses=("S4-50",)),
        Offence.WRONG_BURY: Consequence(points=80, clauses=("S4-51",)),
        Offence.UNREPORTED_BURY: Consequence(points=80, clauses=("S4-52", "S4-56")),
        Offence.BOTTOM_TOUCHED: Consequence(points=80, warnings=1, clauses=("S4-24", "S4-25")),
        Offence.FALSE_SHOWING: Consequence(per_card=10, clauses=("S4-50",)),
    },
}
"""Value of ``irregularities`` → offence → consequence; what is not listed is only refused (Q94)."""

_BY_REASON: dict[str, Offence] = {
    "WRONG_CARD_COUNT": Offence.WRONG_COUNT,
    "NOT_ONE_CLASS": Offence.WRONG_LEAD,
    "THROW_NOT_ALLOWED": Offence.WRONG_LEAD,
    "NOT_YOUR_TURN": Offence.OUT_OF_TURN,
    "WRONG_ACTION_KIND": Offence.OUT_OF_TURN,
}
"""Why a play was refused → the offence; every reason ``MUST_…`` is a revoke."""


def offence_of(view: View, action: Action, error: RuleError) -> Offence | None:
    """
    The offence in *action*, which the rules refused with *error* in the state of *view*; None for a slip without one.

    Cards that a hand lacks cannot be laid down, so naming them is no offence; but a showing that
    they would make is one: the shower pretends to hold them (S3-56).
    """
    reason = error.reason
    if not isinstance(action, Pass) and not action.cards:
        return None  # nothing was laid down
    if isinstance(action, Play):
        return Offence.REVOKE if reason.startswith("MUST_") else _BY_REASON.get(reason)
    if isinstance(action, Show):
        open_now = view.phase in (Phase.DECLARE, Phase.STIR) and reason not in ("NOT_YOUR_TURN", "STIR_CLOSED")
        return Offence.FALSE_SHOWING if open_now else None
    if isinstance(action, Bury):
        if reason == "BURY_COUNT":
            return Offence.WRONG_BURY
        lies = view.phase in (Phase.STIR, Phase.LEAD, Phase.FOLLOW) and view.bottom_owner is not None
        return Offence.BOTTOM_TOUCHED if lies else None
    return None


@dataclass(frozen=True, slots=True)
class Ruling:
    """
    What became of an action.

    Attributes:
        events: Everything that happened, bookings included, oldest first.
        refused: Why the rules refuse the action; None if it was done.
        offence: What was punished, None where nothing was.
        warned: The offence was only warned of.
    """

    events: tuple[Event, ...]
    refused: RuleError | None = None
    offence: Offence | None = None
    warned: bool = False


class Referee:
    """
    Has actions done in *deal*, and books breaches by the ruleset's table. One referee for each deal.

    Its own state are warnings, a bottom that was buried wrongly and is not corrected yet, and
    penalties of a deal whose dealer is not known yet. The same actions always lead to the same
    events, so a deal with a referee is replayed like any other.
    """

    def __init__(self, deal: Deal) -> None:
        self.deal = deal
        self._table: Mapping[Offence, Consequence] = IRREGULARITIES[deal.ruleset.irregularities]
        self._warned: Counter[tuple[Seat, Offence]] = Counter()
        self._miscounted: tuple[Seat, Bury] | None = None
        self._owed: list[tuple[Seat, int]] = []

    @property
    def uncounted(self) -> bool:
        """Whether the bottom was buried with another number of cards, and nobody has corrected it yet."""
        return self._miscounted is not None and self.deal.phase == Phase.BURY

    def act(self, seat: Seat, action: Action) -> Ruling:
        """
        Do *action* for *seat*; where the rules refuse it, book what the table says and leave it undone.

        Raises:
            MalformedError: the action has no cards, see :meth:`Deal.check`; nothing has happened then.
        """
        start = len(self.deal.events)
        try:
            self._go_on_uncounted(seat, action)
            self.deal.act(seat, action)
        except RuleError as error:
            offence = offence_of(self.deal.view, action, error)
            warned = offence is not None and self._punish(seat, action, offence)
            return Ruling(tuple(self.deal.events[start:]), error, offence if offence in self._table else None, warned)
        if isinstance(action, Bury):
            self._miscounted = None
        self._book_owed()
        return Ruling(tuple(self.deal.events[start:]))

    def close(self) -> tuple[Event, ...]:
        """:meth:`Deal.close`, and what was owed until the dealer was known."""
        start = len(self.deal.events)
        self.deal.close()
        self._book_owed()
        return tuple(self.deal.events[start:])

    def _punish(self, seat: Seat, action: Action, offence: Offence) -> bool:
        """Carry out the consequence of *offence*; whether it is a warning only."""
        consequence = self._table.get(offence)
        if consequence is None:
            return False
        if self._warned[seat, offence] < consequence.warnings:
            self._warned[seat, offence] += 1
            return True
        if offence is Offence.WRONG_BURY and isinstance(action, Bury):
            self._miscounted = (seat, action)
        if consequence.jump:
            self.deal.end_by_jump(seat.side.other)
        else:
            count = 0 if isinstance(action, Pass) else len(action.cards)
            self._book(seat, consequence.points + consequence.per_card * count)
        return False

    def _book(self, seat: Seat, points: int) -> None:
        if points and not self.deal.penalise(seat, points):
            self._owed.append((seat, points))

    def _book_owed(self) -> None:
        """Nobody can say against whom a penalty counts before there is a dealer side."""
        owed, self._owed = self._owed, []
        for seat, points in owed:
            self._book(seat, points)

    def _go_on_uncounted(self, seat: Seat, action: Action) -> None:
        """
        Let another seat go on over a bottom of the wrong number: it is corrected first, and who stirs
        over it without a word is as guilty as who buried it (S4-52 to S4-57).

        Raises:
            RuleError: the seat could not act after the correction either; nothing has happened.
        """
        if self._miscounted is None or seat == self._miscounted[0] or self.deal.phase != Phase.BURY:
            return
        if action.kind not in (ActionKind.SHOW, ActionKind.PASS):
            return
        burier, bury = self._miscounted
        corrected = _corrected(self.deal, burier, bury)
        trial = deepcopy(self.deal)
        trial.act(burier, corrected)
        trial.check(seat, action)
        self.deal.act(burier, corrected)
        self._miscounted = None
        if isinstance(action, Show) and Offence.UNREPORTED_BURY in self._table:
            self._book(seat, self._table[Offence.UNREPORTED_BURY].points)


def _corrected(deal: Deal, seat: Seat, bury: Bury) -> Bury:
    """
    *bury* with the right number: the surplus goes back from its end, what is missing comes from the hand's lowest.

    At a table the cards are drawn unseen (S4-53, S4-54); the engine has no chance, so the order of
    the request decides about a surplus, and the default order about what is missing (Q122).
    """
    count = deal.ruleset.bottom
    left = Counter(deal.view.can_bury(seat))
    chosen: list[Card] = []
    for card in bury.cards:
        if left[card] and len(chosen) < count:
            left[card] -= 1
            chosen.append(card)
    missing = default_bury(deal.ruleset, deal.view.level, tuple(left.elements()), count - len(chosen))
    return Bury((*chosen, *missing))
