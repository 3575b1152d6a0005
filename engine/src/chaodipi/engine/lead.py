"""Leading: single patterns stand, throws are checked against the three other hands.

Rules: annex F7; S1-78 to S1-82, S2b-26 to S2b-29, S3-39 to S3-43; Q50, Q51, Q60, Q116, Q121, Q130.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from chaodipi.engine.cards import Card, Suit
from chaodipi.engine.errors import RuleError
from chaodipi.engine.multiset import doubles, pack, triples
from chaodipi.engine.order import Order
from chaodipi.engine.shapes import Component, Shape, decompose, shape_of, take_510k

__all__ = ["LeadResult", "check_lead", "check_plain_lead", "lead_shape"]


@dataclass(frozen=True, slots=True)
class LeadResult:
    """
    What became of a lead.

    Attributes:
        played: The cards that lie on the table: all, or the forced component of a failed throw.
        throw: Several components were led together.
        failed: One of them was beaten.
        beaten: The beaten components' cards.
        around_510k: The throw stands only because its 510K counts as a component (Q116.3).
    """

    played: tuple[Card, ...]
    throw: bool = False
    failed: bool = False
    beaten: tuple[tuple[Card, ...], ...] = ()
    around_510k: bool = False


def lead_shape(order: Order, cards: Sequence[Card]) -> Shape:
    """
    The shape of *cards* as a lead.

    Raises:
        RuleError: NOT_ONE_CLASS; the player's breach.
    """
    shape = shape_of(order, cards)
    if shape is None:
        raise RuleError("NOT_ONE_CLASS", "a lead has cards of one class only", ("S1-78", "S2b-26", "S0-54"))
    return shape


def check_plain_lead(order: Order, cards: Sequence[Card]) -> None:
    """
    Do nothing if *cards* are one card or identical cards, as a lead must be that later stirs may meet (Q45).

    Raises:
        RuleError: THROW_NOT_ALLOWED, with a lead that is; NOT_ONE_CLASS. The player's breach.
    """
    lead_shape(order, cards)
    if len(set(cards)) > 1:
        strongest = order.sort(cards)[0]
        satisfying = tuple(card for card in cards if card == strongest)
        text = "the first lead is one card or identical cards, because a stir may change the trump"
        raise RuleError("THROW_NOT_ALLOWED", text, ("S2a-53", "Q45"), satisfying)


def check_lead(order: Order, cards: Sequence[Card], others: Sequence[Sequence[Card]]) -> LeadResult:
    """
    Decide a lead of *cards* against the *others*' hands (partner included).

    Any pattern or throw of one class may be tried; a throw of which no component is beaten stands.

    Raises:
        RuleError: NOT_ONE_CLASS; the player's breach.
    """
    if len(cards) == 1:
        return LeadResult(tuple(cards))
    shape = lead_shape(order, cards)
    whole = order.sort(cards)
    if not shape.is_throw:
        return LeadResult(whole)
    held = [pack(hand) & order.fields[shape.cls] for hand in others]
    beaten = [part for part in shape.components if _is_beaten(order, shape.cls, part, held)]
    if not beaten:
        return LeadResult(whole, throw=True)
    rest = take_510k(order, shape.cls, cards)
    if rest is not None:
        # The 510K itself is never beaten (Q60); the throw stands if the rest is good (Q116.3).
        parts = decompose(order, shape.cls, rest)
        if not any(_is_beaten(order, shape.cls, part, held) for part in parts):
            return LeadResult(whole, throw=True, around_510k=True)
    forced = min(beaten, key=lambda part: (part.top, len(part.cards), part.cards[0].suit))
    return LeadResult(forced.cards, throw=True, failed=True, beaten=tuple(part.cards for part in beaten))


def _is_beaten(order: Order, cls: Suit, part: Component, held: Sequence[int]) -> bool:
    """Whether one of the hands *held*, which are of class *cls*, has the same kind, strictly higher."""
    for hand in held:
        kinds = hand if part.copies == 1 else doubles(hand) if part.copies == 2 else triples(hand)
        if part.length == 1:
            if kinds & order.above[part.cards[0]]:
                return True
        elif kinds and any(
            run.size > part.size and kinds & run.kinds == run.kinds for run in order.runs(cls, part.length)
        ):
            return True
    return False
