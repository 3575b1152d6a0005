"""Engine values to protocol messages and back: cards, seats, actions, events, snapshots.

Cards are the same numbers on both sides; seats and sides are one higher on the wire, where 0
means unset. ``event_from_wire(event_to_wire(event)) == event`` for every event as its receiver
may know it.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from chaodipi.engine.actions import Action, ActionKind, Bury, Pass, Play, Show
from chaodipi.engine.cards import SEATS, Card, Rank, Seat, Side, Suit
from chaodipi.engine.errors import MalformedError
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
    ShowKind,
    Shown,
    Sizes,
    TrickEnded,
    TrumpRevealed,
    WindowClosed,
)
from chaodipi.engine.follow import ChoiceSet
from chaodipi.engine.history import Attempt, Contribution, Trick
from chaodipi.engine.ruleset import Ruleset
from chaodipi.engine.scoring import Position, Settlement
from chaodipi.engine.view import View
from chaodipi.v1 import cards_pb2, seat_pb2

__all__ = [
    "action_from_wire",
    "action_to_wire",
    "cards_from_wire",
    "choice_set_to_wire",
    "event_from_wire",
    "event_to_wire",
    "payouts_of_seats",
    "position_to_wire",
    "seat_from_wire",
    "seat_to_wire",
    "side_from_wire",
    "side_to_wire",
    "snapshot_from_view",
    "view_from_snapshot",
]

_SHOW_KINDS: dict[ShowKind, int] = {
    ShowKind.DECLARATION: 1,
    ShowKind.OVERCALL: 2,
    ShowKind.SELF_PROTECT: 3,
    ShowKind.SELF_OVERCALL: 4,
    ShowKind.LOOKING_BACK: 5,
    ShowKind.STIR: 6,
}
_SHOW_KINDS_BACK = {number: kind for kind, number in _SHOW_KINDS.items()}

_BOOKINGS: dict[str, int] = {
    "failed_throw": 1,
    "blind_stir_failed": 2,
    "forced_heart_five": 3,
    "kept_heart_five": 4,
    "penalty": 5,
}
_BOOKINGS_BACK = {number: kind for kind, number in _BOOKINGS.items()}


# ---- values


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


def _ints(cards: Iterable[Card]) -> Any:
    # The generated stubs want enum members; the runtime takes the plain numbers.
    return [int(card) for card in cards]


def _suit(value: int) -> Suit | None:
    return Suit(value) if 1 <= value <= 5 else None


def _any(value: int | None) -> Any:
    return int(value or 0)


# ---- actions


def action_to_wire(action: Action) -> cards_pb2.Action:
    """*action* as a message."""
    if isinstance(action, Play):
        return cards_pb2.Action(play=cards_pb2.Play(cards=_ints(action.cards)))
    if isinstance(action, Pass):
        return cards_pb2.Action(passing=cards_pb2.Pass())
    if isinstance(action, Bury):
        return cards_pb2.Action(bury=cards_pb2.Bury(cards=_ints(action.cards)))
    show = cards_pb2.Show(cards=_ints(action.cards), named=_any(action.named), looking_back=action.looking_back)
    return cards_pb2.Action(show=show)


def action_from_wire(message: cards_pb2.Action) -> Action:
    """
    The action of *message*.

    Raises:
        MalformedError: ``ACTION_MISSING``, ``CARD_UNKNOWN`` or ``TRUMP_UNKNOWN``; the sender's mistake.
    """
    kind = message.WhichOneof("kind")
    if kind == "play":
        return Play(cards_from_wire(message.play.cards))
    if kind == "passing":
        return Pass()
    if kind == "bury":
        return Bury(cards_from_wire(message.bury.cards))
    if kind != "show":
        raise MalformedError("ACTION_MISSING", "the answer holds no action", "action")
    named = int(message.show.named)
    if not 0 <= named <= 5:
        raise MalformedError("TRUMP_UNKNOWN", f"unknown trump number {named}", "action.show.named")
    return Show(cards_from_wire(message.show.cards), _suit(named), message.show.looking_back)


def choice_set_to_wire(choice: ChoiceSet, kind: ActionKind) -> seat_pb2.ChoiceSet:
    """A factored set of plays or burials as a message."""
    return seat_pb2.ChoiceSet(
        kind=_any(kind),
        forced=_ints(choice.forced),
        pair_pool=_ints(card for card in choice.pair_pool for _ in range(2)),
        choose_pairs=choice.choose_pairs,
        pool=_ints(choice.pool),
        choose_min=choice.choose_min,
        choose_max=choice.choose_max,
        triple_pool=_ints(card for card in choice.triple_pool for _ in range(3)),
        choose_triples=choice.choose_triples,
    )


# ---- events to the wire


def position_to_wire(side: Side, position: Position, *, laps: bool) -> seat_pb2.Position:
    """*position* as a message; its lap only where the ruleset has *laps*."""
    lap = position.lap if laps else 0
    return seat_pb2.Position(side=side_to_wire(side), level=int(position.level), lap=lap, flag=position.flag)


def _levels(levels: tuple[Rank | None, Rank | None], laps: tuple[int, int]) -> list[seat_pb2.Position]:
    return [
        seat_pb2.Position(
            side=side_to_wire(side), level=int(levels[side] or Rank.ACE), lap=laps[side], flag=levels[side] is None
        )
        for side in Side
    ]


def _shown(event: Shown) -> seat_pb2.CardsShown:
    return seat_pb2.CardsShown(
        seat=seat_to_wire(event.seat),
        kind=_any(_SHOW_KINDS[event.kind]),
        cards=_ints(event.cards),
        named=_any(event.named),
        hidden=event.hidden,
        phase=_any(event.phase),
    )


def _booked(event: Booked) -> seat_pb2.PointsBooked:
    return seat_pb2.PointsBooked(
        kind=_any(_BOOKINGS.get(event.kind)), seat=seat_to_wire(event.seat), points=event.points
    )


def event_to_wire(
    event: Event,
    seq: int = 0,
    *,
    deal: int = 1,
    board_commitment: bytes = b"",
    settlement: Settlement | None = None,
    dealer: Seat | None = None,
    bookings: Iterable[Booked] = (),
    by_host: bool = False,
    laps: bool = False,
) -> seat_pb2.SeatEvent | None:
    """
    *event*, as :func:`chaodipi.engine.events.visible` lets the receiver know it, as message *seq*.

    None for what the wire does not say: stacked positions.

    Args:
        deal: Number of the deal in the match, from 1.
        board_commitment: For DealStarted.
        settlement, dealer, bookings: For DealEnded: what it changed, and of whose deal.
        by_host: The host acted in the seat's place (burials and plays).
        laps: The ruleset has laps, which DealEnded then says.
    """
    out = seat_pb2.SeatEvent(seq=seq)
    match event:
        case Played(seat=seat, cards=cards, attempted=attempted):
            out.played.CopyFrom(_played(seat, cards, attempted or (), by_host))
        case CardsDrawn(cards=cards, sizes=sizes):
            out.cards_drawn.CopyFrom(seat_pb2.CardsDrawn(cards=_ints(cards), hand_sizes=sizes))
        case TrickEnded(winner=winner, points=points, score=score):
            out.trick_ended.CopyFrom(seat_pb2.TrickEnded(winner=seat_to_wire(winner), points=points, score=score))
        case Passed(seat=seat, phase=phase):
            out.passed.CopyFrom(seat_pb2.Passed(seat=seat_to_wire(seat), phase=_any(phase)))
        case Shown():
            out.cards_shown.CopyFrom(_shown(event))
        case TrumpRevealed(trump=trump, level=level, showings=showings):
            revealed = seat_pb2.TrumpRevealed(
                showings=[_shown(showing) for showing in showings],
                trump=cards_pb2.Trump(suit=_any(trump), level=int(level or 0)),
            )
            out.trump_revealed.CopyFrom(revealed)
        case WindowClosed():
            out.window_closed.CopyFrom(
                seat_pb2.WindowClosed(
                    dealer=seat_to_wire(event.dealer),
                    trump=_any(event.trump),
                    level=int(event.level or 0),
                    turned=_ints(event.turned),
                    undeclared=event.undeclared,
                    hand_sizes=event.sizes,
                    caller=seat_to_wire(event.caller),
                )
            )
        case BottomTaken(seat=seat, cards=cards, count=count):
            taken = seat_pb2.BottomTaken(seat=seat_to_wire(seat), cards=_ints(cards), count=count)
            taken.already_shown.extend(_ints(event.already_shown))
            out.bottom_taken.CopyFrom(taken)
        case Buried(seat=seat, cards=cards, count=count):
            buried = seat_pb2.Buried(seat=seat_to_wire(seat), cards=_ints(cards), count=count, by_host=by_host)
            out.buried.CopyFrom(buried)
        case CardsReturned():
            out.cards_returned.CopyFrom(_returned(event))
        case Booked():
            out.points_booked.CopyFrom(_booked(event))
        case DealStarted():
            out.deal_started.CopyFrom(
                seat_pb2.DealStarted(
                    deal=deal,
                    first_drawer=seat_to_wire(event.first_drawer),
                    dealer=seat_to_wire(event.dealer),
                    levels=_levels(event.levels, event.laps),
                    on_stage=side_to_wire(event.on_stage),
                    first_deal=event.first_deal,
                    board_commitment=board_commitment,
                    redeals=event.redeals,
                )
            )
        case DealEnded():
            out.deal_ended.CopyFrom(_deal_ended(event, deal, settlement, dealer, bookings, laps))
        case _:
            return None
    return out


def _played(
    seat: Seat, cards: Iterable[Card], attempted: Iterable[Card] = (), by_host: bool = False
) -> seat_pb2.Played:
    return seat_pb2.Played(seat=seat_to_wire(seat), cards=_ints(cards), attempted=_ints(attempted), by_host=by_host)


def _returned(event: CardsReturned) -> seat_pb2.CardsReturned:
    returned = [_played(seat, cards) for seat, cards in event.returned]
    return seat_pb2.CardsReturned(stirrer=seat_to_wire(event.stirrer), returned=returned)


_DEAL_ENDS = {
    "played": seat_pb2.DEAL_END_PLAYED,
    "redeal": seat_pb2.DEAL_END_REDEAL,
    "jump": seat_pb2.DEAL_END_JUMP,
}


def _deal_ended(
    event: DealEnded,
    deal: int,
    settlement: Settlement | None,
    dealer: Seat | None,
    bookings: Iterable[Booked],
    laps: bool = False,
) -> seat_pb2.DealEnded:
    out = seat_pb2.DealEnded(
        deal=deal,
        score=event.score,
        bottom=_ints(event.bottom),
        dig_multiplier=event.dig_multiplier,
        stake=event.stake,
        bookings=[_booked(booking) for booking in bookings],
        how=_DEAL_ENDS[event.how],
        dig_points=event.dig_points,
    )
    if settlement is None or dealer is None:
        return out
    side = settlement.stage
    ours = 0 if side == dealer.side else 1
    out.winner = side_to_wire(side)
    out.steps = settlement.steps[ours]
    out.gained = max(0, settlement.gained[ours])
    kind: Any = 2 if settlement.heaven else 1
    out.awards.add(kind=kind, side=side_to_wire(side), match_points=settlement.award)
    out.payouts.extend(payouts_of_seats(settlement, dealer))
    out.jump = settlement.jump
    out.fall_back = side_to_wire(dealer.side if settlement.fall_back else None)
    out.levels.extend(position_to_wire(each, settlement.positions[each], laps=laps) for each in Side)
    out.next_dealer = seat_to_wire(settlement.next_dealer)
    out.game_winner = side_to_wire(settlement.winner)
    return out


def payouts_of_seats(settlement: Settlement, dealer: Seat) -> list[int]:
    """What seats 0…3 are paid; empty where nothing is paid."""
    paid = settlement.payout
    return [] if paid is None else [paid[0 if seat.side == dealer.side else 1] for seat in SEATS]


# ---- events from the wire


def event_from_wire(message: seat_pb2.SeatEvent, view: View) -> Event | None:
    """
    The engine event of *message*, for a receiver whose deal stands at *view*.

    None for events that do not change a view (faults, presence, kinds of later versions).
    A DealStarted belongs to a new view; only the seat of *view* matters then.
    """
    kind = message.WhichOneof("event")
    reader = _READERS.get(kind or "")
    return None if reader is None else reader(getattr(message, kind or ""), view)


def _need_seat(value: int) -> Seat:
    seat = seat_from_wire(value)
    if seat is None:
        raise MalformedError("FIELD_INVALID", f"seat {value} is none of 1 to 4", "seat")
    return seat


def _sizes(values: Sequence[int]) -> Sizes:
    return (values[0], values[1], values[2], values[3])


def _read_started(m: seat_pb2.DealStarted, view: View) -> Event:
    levels = [None if position.flag else Rank(position.level) for position in m.levels]
    return DealStarted(
        _need_seat(m.first_drawer),
        seat_from_wire(m.dealer),
        (levels[0], levels[1]),
        side_from_wire(m.on_stage),
        m.first_deal,
        m.redeals,
        (m.levels[0].lap, m.levels[1].lap),
    )


def _read_drawn(m: seat_pb2.CardsDrawn, view: View) -> Event:
    assert view.seat is not None
    return CardsDrawn(view.seat, cards_from_wire(m.cards), _sizes(m.hand_sizes))


def _read_shown(m: seat_pb2.CardsShown, view: View) -> Shown:
    kind = _SHOW_KINDS_BACK.get(int(m.kind))
    phase = Phase(m.phase) if m.phase else view.phase
    if kind is None:
        first = ShowKind.OVERCALL if view.shown else ShowKind.DECLARATION
        kind = first if phase == Phase.DECLARE else ShowKind.STIR
    return Shown(_need_seat(m.seat), kind, cards_from_wire(m.cards), _suit(m.named), m.hidden, phase)


def _read_revealed(m: seat_pb2.TrumpRevealed, view: View) -> Event:
    trump = _suit(m.trump.suit)
    if trump is None:
        raise MalformedError("FIELD_INVALID", f"trump {m.trump.suit} is none of 1 to 5", "trump")
    level = Rank(m.trump.level) if m.trump.level else None
    return TrumpRevealed(trump, level, tuple(_read_shown(showing, view) for showing in m.showings))


def _read_passed(m: seat_pb2.Passed, view: View) -> Event:
    return Passed(_need_seat(m.seat), Phase(m.phase) if m.phase else view.phase)


def _read_closed(m: seat_pb2.WindowClosed, view: View) -> Event:
    trump = _suit(m.trump)
    level = Rank(m.level) if m.level else None
    turned = cards_from_wire(m.turned)
    sizes = _sizes(m.hand_sizes)
    caller = seat_from_wire(m.caller)
    return WindowClosed(_need_seat(m.dealer), trump, level, turned, m.undeclared, sizes, caller, trump is None)


def _read_taken(m: seat_pb2.BottomTaken, view: View) -> Event:
    return BottomTaken(_need_seat(m.seat), cards_from_wire(m.cards), m.count, cards_from_wire(m.already_shown))


def _read_buried(m: seat_pb2.Buried, view: View) -> Event:
    return Buried(_need_seat(m.seat), cards_from_wire(m.cards), m.count)


def _read_played(m: seat_pb2.Played, view: View) -> Event:
    return Played(_need_seat(m.seat), cards_from_wire(m.cards), cards_from_wire(m.attempted) or None)


def _read_returned(m: seat_pb2.CardsReturned, view: View) -> CardsReturned:
    returned = tuple((_need_seat(p.seat), cards_from_wire(p.cards)) for p in m.returned)
    return CardsReturned(_need_seat(m.stirrer), returned)


def _read_booked(m: seat_pb2.PointsBooked, view: View) -> Event | None:
    kind = _BOOKINGS_BACK.get(int(m.kind))
    return None if kind is None else Booked(kind, _need_seat(m.seat), m.points)


def _read_trick(m: seat_pb2.TrickEnded, view: View) -> Event:
    return TrickEnded(_need_seat(m.winner), m.points, m.score)


def _read_ended(m: seat_pb2.DealEnded, view: View) -> Event:
    bottom = cards_from_wire(m.bottom)
    if m.how == seat_pb2.DEAL_END_REDEAL:
        return DealEnded("redeal", m.score, bottom, 0, 0, None, (), m.stake or 1)
    if m.how == seat_pb2.DEAL_END_JUMP:
        return DealEnded("jump", m.score, bottom, 0, 0, None, (), m.stake or 1, side_from_wire(m.winner))
    last = view.tricks[-1] if view.tricks else None
    winner = None if last is None else last.winner
    play = next((p.cards for p in last.plays if p.seat == winner), ()) if last is not None else ()
    return DealEnded("played", m.score, bottom, m.dig_multiplier, m.dig_points, winner, play, m.stake or 1)


_READERS: dict[str, Any] = {
    "deal_started": _read_started,
    "cards_drawn": _read_drawn,
    "cards_shown": _read_shown,
    "passed": _read_passed,
    "window_closed": _read_closed,
    "bottom_taken": _read_taken,
    "buried": _read_buried,
    "played": _read_played,
    "trump_revealed": _read_revealed,
    "cards_returned": _read_returned,
    "points_booked": _read_booked,
    "trick_ended": _read_trick,
    "deal_ended": _read_ended,
}


# ---- snapshots


def snapshot_from_view(view: View, seq: int = 0, *, deal: int = 1, board_commitment: bytes = b"") -> seat_pb2.SeatView:
    """*view*, one seat's, as the message that replaces all its events."""
    seat = view.seat
    assert seat is not None
    out = seat_pb2.SeatView(
        seq=seq,
        seat=seat_to_wire(seat),
        deal=deal,
        phase=_any(view.phase if view.phase != Phase.ENDED else 0),
        first_drawer=seat_to_wire(view.first_drawer),
        dealer=seat_to_wire(view.dealer),
        trump=cards_pb2.Trump(suit=_any(view.trump), level=int(view.level or 0)),
        levels=_levels(view.levels, view.laps),
        on_stage=side_to_wire(view.on_stage),
        first_deal=view.first_deal,
        redeals=view.redeals,
        board_commitment=board_commitment,
        hand=_ints(view.hands[seat]),
        hand_sizes=view.hand_sizes,
        turned=_ints(view.turned),
        burier=seat_to_wire(view.bottom_owner),
        buried=_ints(view.bottom if view.bottom and view.bottom_owner == seat else ()),
        score=view.score,
        bookings=[_booked(booking) for booking in view.adjustments],
        stake=view.stake,
        returned=[_returned(event) for event in view.returned],
        asked=[seat_to_wire(asked) for asked in view.asked],
        undeclared=view.undeclared,
        to_act=seat_to_wire(view.to_act),
        caller=seat_to_wire(view.caller),
        already_shown=_ints(view.already_shown),
    )
    for s in view.shown:
        out.showings.append(_shown(Shown(s.seat, s.kind, s.cards, s.named, not view.revealed, s.phase)))
    attempts = {(a.trick, a.seat): a.cards for a in view.attempts}
    for index, trick in enumerate(view.tricks):
        plays = [_played(p.seat, p.cards, attempts.get((index, p.seat), ())) for p in trick.plays]
        out.tricks.add(plays=plays, winner=seat_to_wire(trick.winner), points=trick.points)
    if view.trick:
        index = len(view.tricks)
        out.tricks.add(plays=[_played(p.seat, p.cards, attempts.get((index, p.seat), ())) for p in view.trick])
    if view.end is not None:
        out.ended.CopyFrom(_deal_ended(view.end, deal, None, None, view.adjustments))
    return out


def view_from_snapshot(message: seat_pb2.SeatView, ruleset: Ruleset) -> View:
    """The view that *message* describes; equal to the one that the events before it give."""
    seat = _need_seat(message.seat)
    view = View(ruleset, seat)
    if len(message.levels) == 2:
        started = seat_pb2.DealStarted(
            first_drawer=message.first_drawer,
            dealer=message.dealer,
            levels=message.levels,
            on_stage=message.on_stage,
            first_deal=message.first_deal,
            redeals=message.redeals,
        )
        view.apply(_read_started(started, view))
    view.level = Rank(message.trump.level) if message.trump.level else None
    view.revealed = not any(shown.hidden for shown in message.showings) and (
        not ruleset.dark or bool(message.trump.suit)
    )
    for shown in message.showings:
        view.apply(_read_shown(shown, view))
    view.caller = seat_from_wire(message.caller)
    view.already_shown = cards_from_wire(message.already_shown)
    view.dealer = seat_from_wire(message.dealer)
    view._set_trump(_suit(message.trump.suit))
    view.turned = cards_from_wire(message.turned)
    view.undeclared = message.undeclared
    view.stake = message.stake or 1
    view.to_act = seat_from_wire(message.to_act)
    view.bottom_owner = seat_from_wire(message.burier)
    if view.bottom_owner is not None and message.phase == int(Phase.STIR):
        # Ask again in the same order up to who is asked now: the rest of the queue follows from it.
        view._ask_for_stirs()
        now = seat_from_wire(message.to_act)
        while view.phase == Phase.STIR and view.to_act != now:
            view._ask_next()
    view.asked = [_need_seat(asked) for asked in message.asked]
    view.phase = Phase(message.phase) if message.phase else Phase.ENDED
    view.hands[seat] = sorted(cards_from_wire(message.hand))
    view.hand_sizes = list(message.hand_sizes)
    view.bottom = tuple(sorted(cards_from_wire(message.buried))) or None
    view.returned = [_read_returned(m, view) for m in message.returned]
    _read_tricks(view, message)
    view.score = message.score
    view.adjustments = [b for m in message.bookings if isinstance(b := _read_booked(m, view), Booked)]
    if message.HasField("ended"):
        view.apply(_read_ended(message.ended, view))
    return view


def _read_tricks(view: View, message: seat_pb2.SeatView) -> None:
    view.trick = []
    for index, trick in enumerate(message.tricks):
        plays = [Contribution(_need_seat(p.seat), cards_from_wire(p.cards)) for p in trick.plays]
        for p in trick.plays:
            if p.attempted:
                view.attempts.append(Attempt(index, _need_seat(p.seat), cards_from_wire(p.attempted)))
        winner = seat_from_wire(trick.winner)
        if winner is None:
            view.trick = plays
        else:
            view.tricks.append(Trick(tuple(plays), winner, trick.points))
