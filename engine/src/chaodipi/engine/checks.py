"""Whether it is a seat's turn to act, and whether it may bury what it wants to; nothing changes here."""

from collections import Counter
from collections.abc import Collection, Sequence

from chaodipi.engine.actions import Action, ActionKind
from chaodipi.engine.cards import Card, Seat
from chaodipi.engine.defaults import default_bury
from chaodipi.engine.errors import MalformedError, RuleError
from chaodipi.engine.events import Phase
from chaodipi.engine.view import View

__all__ = ["check_bury", "check_held", "check_turn"]

_TURN_CLAUSES: dict[Phase, tuple[str, ...]] = {
    Phase.DECLARE: ("Q110",),
    Phase.BURY: ("S0-03", "S0-21"),
    Phase.STIR: ("S0-20", "Q34"),
    Phase.LEAD: ("S1-26", "Q38"),
    Phase.FOLLOW: ("S2a-53", "S1-25"),
}
"""Clauses that say whose turn it is."""


def check_turn(view: View, seat: Seat, action: Action, asked: Collection[Seat]) -> None:
    """
    Do nothing if *seat* may do an action of this kind now, where *asked* are the seats that may act.

    Raises:
        RuleError: ``DEAL_OVER``, ``WRONG_ACTION_KIND``, ``NO_BOTTOM``, ``NOT_YOUR_TURN``, ``STIR_CLOSED`` or
            ``NOT_ALLOWED_TO_SHOW``; the player's breach.
    """
    phase = view.phase
    if phase == Phase.ENDED:
        raise RuleError("DEAL_OVER", "the deal has ended", ("Q123",))
    if action.kind == ActionKind.SHOW and phase in (Phase.LEAD, Phase.FOLLOW):
        _check_stir_turn(view, seat)
        return
    waits = phase == Phase.FOLLOW and action.kind == ActionKind.PLAY and seat != view.to_act
    if action.kind not in view.allowed_kinds and not waits:
        if action.kind == ActionKind.BURY and not view.bottom_size:
            raise RuleError("NO_BOTTOM", "this deal has no bottom", ("S0-49",))
        allowed = ", ".join(kind.name.lower() for kind in view.allowed_kinds)
        raise RuleError("WRONG_ACTION_KIND", f"now: {allowed}", _TURN_CLAUSES[phase])
    if seat in asked:
        return
    if phase == Phase.STIR and action.kind == ActionKind.SHOW:
        _check_may_stir(view, seat)
    # While declaring nobody learns who is asked (Q110).
    named = "another seat" if phase == Phase.DECLARE or view.to_act is None else f"seat {view.to_act}"
    raise RuleError("NOT_YOUR_TURN", f"{named} is asked now", _TURN_CLAUSES[phase])


def _check_may_stir(view: View, seat: Seat) -> None:
    if seat == view.bottom_owner:
        raise RuleError("NOT_ALLOWED_TO_SHOW", "nobody stirs his own bottom", ("S0-20", "S2a-58", "Q35"))
    if seat in view.barred:
        raise RuleError("NOT_ALLOWED_TO_SHOW", "passed over until another has stirred", ("S0-21", "Q39", "Q102"))


def _check_stir_turn(view: View, seat: Seat) -> None:
    """A stir during the first trick comes at the seat's own turn, and never after that trick (Q46)."""
    if not view.stir_window or view.undeclared:
        clauses = ("S0-07", "S0-20", "S2a-59", "Q34", "Q41", "Q46")
        raise RuleError("STIR_CLOSED", "nobody may stir any more", clauses)
    _check_may_stir(view, seat)
    if seat != view.to_act:
        raise RuleError("NOT_YOUR_TURN", f"seat {view.to_act} is asked now", ("S2a-54", "Q46"))


def check_held(view: View, seat: Seat, cards: Sequence[Card], clauses: tuple[str, ...]) -> None:
    """
    Do nothing if *seat* holds *cards*; *clauses* are the ones that a breach is against.

    Raises:
        MalformedError: ``CARDS_MISSING``: there are none; the sender's mistake.
        RuleError: ``NOT_YOUR_CARDS``, which names those that are not in the hand.
    """
    if not cards:
        raise MalformedError("CARDS_MISSING", "no cards", "cards")
    held = view.hands[seat]
    if any(cards.count(card) > held.count(card) for card in cards):
        texts = " ".join(card.text for card in sorted(Counter(cards) - Counter(held)))
        raise RuleError("NOT_YOUR_CARDS", f"not in the hand: {texts}", clauses)


def check_bury(view: View, seat: Seat, cards: Sequence[Card]) -> None:
    """
    Do nothing if *seat* may bury *cards* (S0-01, S0-03, S4-23, Q48, Q113, Q126).

    Raises:
        MalformedError, RuleError: as :func:`check_held`; ``BURY_SHOWN``: a card that lies on the table;
            ``BURY_COUNT``: too few or too many.
    """
    led = Counter(view.trick[0].cards if view.trick and view.trick[0].seat == seat else ())
    if (Counter(cards) - Counter(view.hands[seat])) & led:
        raise RuleError("BURY_SHOWN", "the led cards lie on the table", ("Q126",))
    check_held(view, seat, cards, ("S0-03", "Q48"))
    count = view.ruleset.bottom
    satisfying = default_bury(view.ruleset, view.level, view.can_bury(seat), count)
    if len(cards) != count:
        raise RuleError("BURY_COUNT", f"{len(cards)} cards, {count} must be buried", ("S0-01", "S4-23"), satisfying)
    if Counter(cards) - Counter(view.can_bury(seat)):
        raise RuleError("BURY_SHOWN", "the placed card lies on the table", ("Q113",), satisfying)
