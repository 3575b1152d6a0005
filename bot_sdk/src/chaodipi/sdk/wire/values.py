"""Seats, sides, cards, positions, actions and choice sets as protocol values and back."""

from collections.abc import Iterable
from typing import Any

from chaodipi.engine.actions import Action, ActionKind, Bury, Pass, Play, Show
from chaodipi.engine.cards import SEATS, Card, Rank, Seat, Side, Suit
from chaodipi.engine.errors import MalformedError
from chaodipi.engine.follow import ChoiceSet
from chaodipi.engine.scoring import Position
from chaodipi.v1 import cards_pb2, seat_pb2


def seat_to_wire(seat: Seat | None) -> Any:
    """The number of *seat* on the wire, 1…4; 0 for None."""
    return 0 if seat is None else int(seat) + 1


def seat_from_wire(value: int) -> Seat | None:
    """The seat of a wire number, None for 0 (unset) and for anything unknown."""
    return SEATS[value - 1] if 1 <= value <= 4 else None


def side_to_wire(side: Side | None) -> Any:
    """The number of *side* on the wire, 1 or 2; 0 for None."""
    return 0 if side is None else int(side) + 1


def side_from_wire(value: int) -> Side | None:
    """The side of a wire number, None for 0 (unset) and for anything unknown."""
    return Side(value - 1) if value in (1, 2) else None


MAX_CARDS = 39
"""The largest hand."""


def _cards_of(message: Any, kind: str) -> tuple[Card, ...]:
    """The cards of an action; MalformedError as in :func:`action_from_wire`."""
    if len(message.cards) > MAX_CARDS:
        field = f"action.{kind}.cards"
        raise MalformedError("FIELD_INVALID", f"{field} has {len(message.cards)} cards, at most {MAX_CARDS}", field)
    return cards_from_wire(message.cards)


def cards_from_wire(values: Iterable[int]) -> tuple[Card, ...]:
    """
    The cards of wire numbers, in their order.

    Raises:
        MalformedError: ``CARD_UNKNOWN``; the sender's mistake.
    """
    try:
        return tuple([_CARDS[value] for value in values])
    except KeyError as error:
        raise MalformedError("CARD_UNKNOWN", f"unknown card number {error.args[0]}", "cards") from None


_CARDS = {int(card): card for card in Card}


def card_numbers(cards: Iterable[Card]) -> Any:
    # The generated stubs want enum members; the runtime takes the plain numbers.
    return [int(card) for card in cards]


def suit_from_wire(value: int) -> Suit | None:
    return Suit(value) if 1 <= value <= 5 else None


def number(value: int | None) -> Any:
    return int(value or 0)


def action_to_wire(action: Action) -> cards_pb2.Action:
    """*action* as a message."""
    if isinstance(action, Play):
        return cards_pb2.Action(play=cards_pb2.Play(cards=card_numbers(action.cards)))
    if isinstance(action, Pass):
        return cards_pb2.Action(passing=cards_pb2.Pass())
    if isinstance(action, Bury):
        return cards_pb2.Action(bury=cards_pb2.Bury(cards=card_numbers(action.cards)))
    show = cards_pb2.Show(
        cards=card_numbers(action.cards), named=number(action.named), looking_back=action.looking_back
    )
    return cards_pb2.Action(show=show)


def action_from_wire(message: cards_pb2.Action) -> Action:
    """
    The action of *message*.

    Raises:
        MalformedError: ``ACTION_MISSING``, ``CARD_UNKNOWN``, ``TRUMP_UNKNOWN``, or ``FIELD_INVALID`` for more cards
            than any hand has; the sender's mistake.
    """
    kind = message.WhichOneof("kind")
    if kind == "play":
        return Play(_cards_of(message.play, "play"))
    if kind == "passing":
        return Pass()
    if kind == "bury":
        return Bury(_cards_of(message.bury, "bury"))
    if kind != "show":
        raise MalformedError("ACTION_MISSING", "the answer holds no action", "action")
    named = int(message.show.named)
    if not 0 <= named <= 5:
        raise MalformedError("TRUMP_UNKNOWN", f"unknown trump number {named}", "action.show.named")
    return Show(_cards_of(message.show, "show"), suit_from_wire(named), message.show.looking_back)


def choice_set_to_wire(choice: ChoiceSet, kind: ActionKind) -> seat_pb2.ChoiceSet:
    """A factored set of plays or burials as a message."""
    return seat_pb2.ChoiceSet(
        kind=number(kind),
        forced=card_numbers(choice.forced),
        pair_pool=card_numbers(card for card in choice.pair_pool for _ in range(2)),
        choose_pairs=choice.choose_pairs,
        pool=card_numbers(choice.pool),
        choose_min=choice.choose_min,
        choose_max=choice.choose_max,
        triple_pool=card_numbers(card for card in choice.triple_pool for _ in range(3)),
        choose_triples=choice.choose_triples,
    )


# ---- events to the wire


def position_to_wire(side: Side, position: Position, *, laps: bool) -> seat_pb2.Position:
    """*position* as a message; its lap only where the ruleset has *laps*."""
    lap = position.lap if laps else 0
    return seat_pb2.Position(side=side_to_wire(side), level=int(position.level), lap=lap, flag=position.flag)


def levels_to_wire(levels: tuple[Rank | None, Rank | None], laps: tuple[int, int]) -> list[seat_pb2.Position]:
    return [
        seat_pb2.Position(
            side=side_to_wire(side), level=int(levels[side] or Rank.ACE), lap=laps[side], flag=levels[side] is None
        )
        for side in Side
    ]


def need_seat(value: int) -> Seat:
    seat = seat_from_wire(value)
    if seat is None:
        raise MalformedError("FIELD_INVALID", f"seat {value} is none of 1 to 4", "seat")
    return seat
