"""Events of a deal as protocol messages and back."""

from collections.abc import Iterable, Sequence
from typing import Any

from chaodipi.engine.cards import SEATS, Card, Rank, Seat, Side
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
from chaodipi.engine.scoring import Settlement
from chaodipi.engine.view import View
from chaodipi.sdk.wire.values import (
    card_numbers,
    cards_from_wire,
    levels_to_wire,
    need_seat,
    number,
    position_to_wire,
    seat_from_wire,
    seat_to_wire,
    side_from_wire,
    side_to_wire,
    suit_from_wire,
)
from chaodipi.v1 import cards_pb2, seat_pb2

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


def shown_to_wire(event: Shown) -> seat_pb2.CardsShown:
    return seat_pb2.CardsShown(
        seat=seat_to_wire(event.seat),
        kind=number(_SHOW_KINDS[event.kind]),
        cards=card_numbers(event.cards),
        named=number(event.named),
        hidden=event.hidden,
        phase=number(event.phase),
    )


def booked_to_wire(event: Booked) -> seat_pb2.PointsBooked:
    return seat_pb2.PointsBooked(
        kind=number(_BOOKINGS.get(event.kind)), seat=seat_to_wire(event.seat), points=event.points
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
            out.played.CopyFrom(played_to_wire(seat, cards, attempted or (), by_host))
        case CardsDrawn(cards=cards, sizes=sizes):
            out.cards_drawn.CopyFrom(seat_pb2.CardsDrawn(cards=card_numbers(cards), hand_sizes=sizes))
        case TrickEnded(winner=winner, points=points, score=score):
            out.trick_ended.CopyFrom(seat_pb2.TrickEnded(winner=seat_to_wire(winner), points=points, score=score))
        case Passed(seat=seat, phase=phase):
            out.passed.CopyFrom(seat_pb2.Passed(seat=seat_to_wire(seat), phase=number(phase)))
        case Shown():
            out.cards_shown.CopyFrom(shown_to_wire(event))
        case TrumpRevealed(trump=trump, level=level, showings=showings):
            revealed = seat_pb2.TrumpRevealed(
                showings=[shown_to_wire(showing) for showing in showings],
                trump=cards_pb2.Trump(suit=number(trump), level=int(level or 0)),
            )
            out.trump_revealed.CopyFrom(revealed)
        case WindowClosed():
            out.window_closed.CopyFrom(
                seat_pb2.WindowClosed(
                    dealer=seat_to_wire(event.dealer),
                    trump=number(event.trump),
                    level=int(event.level or 0),
                    turned=card_numbers(event.turned),
                    undeclared=event.undeclared,
                    hand_sizes=event.sizes,
                    caller=seat_to_wire(event.caller),
                )
            )
        case BottomTaken(seat=seat, cards=cards, count=count):
            taken = seat_pb2.BottomTaken(seat=seat_to_wire(seat), cards=card_numbers(cards), count=count)
            taken.already_shown.extend(card_numbers(event.already_shown))
            out.bottom_taken.CopyFrom(taken)
        case Buried(seat=seat, cards=cards, count=count):
            buried = seat_pb2.Buried(seat=seat_to_wire(seat), cards=card_numbers(cards), count=count, by_host=by_host)
            out.buried.CopyFrom(buried)
        case CardsReturned():
            out.cards_returned.CopyFrom(returned_to_wire(event))
        case Booked():
            out.points_booked.CopyFrom(booked_to_wire(event))
        case DealStarted():
            out.deal_started.CopyFrom(
                seat_pb2.DealStarted(
                    deal=deal,
                    first_drawer=seat_to_wire(event.first_drawer),
                    dealer=seat_to_wire(event.dealer),
                    levels=levels_to_wire(event.levels, event.laps),
                    on_stage=side_to_wire(event.on_stage),
                    first_deal=event.first_deal,
                    board_commitment=board_commitment,
                    redeals=event.redeals,
                )
            )
        case DealEnded():
            out.deal_ended.CopyFrom(ended_to_wire(event, deal, settlement, dealer, bookings, laps))
        case _:
            return None
    return out


def played_to_wire(
    seat: Seat, cards: Iterable[Card], attempted: Iterable[Card] = (), by_host: bool = False
) -> seat_pb2.Played:
    return seat_pb2.Played(
        seat=seat_to_wire(seat), cards=card_numbers(cards), attempted=card_numbers(attempted), by_host=by_host
    )


def returned_to_wire(event: CardsReturned) -> seat_pb2.CardsReturned:
    returned = [played_to_wire(seat, cards) for seat, cards in event.returned]
    return seat_pb2.CardsReturned(stirrer=seat_to_wire(event.stirrer), returned=returned)


_DEAL_ENDS = {
    "played": seat_pb2.DEAL_END_PLAYED,
    "redeal": seat_pb2.DEAL_END_REDEAL,
    "jump": seat_pb2.DEAL_END_JUMP,
}


def ended_to_wire(
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
        bottom=card_numbers(event.bottom),
        dig_multiplier=event.dig_multiplier,
        stake=event.stake,
        bookings=[booked_to_wire(booking) for booking in bookings],
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


def _sizes(values: Sequence[int]) -> Sizes:
    return (values[0], values[1], values[2], values[3])


def read_started(m: seat_pb2.DealStarted, view: View) -> Event:
    levels = [None if position.flag else Rank(position.level) for position in m.levels]
    return DealStarted(
        need_seat(m.first_drawer),
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


def read_shown(m: seat_pb2.CardsShown, view: View) -> Shown:
    kind = _SHOW_KINDS_BACK.get(int(m.kind))
    phase = Phase(m.phase) if m.phase else view.phase
    if kind is None:
        first = ShowKind.OVERCALL if view.shown else ShowKind.DECLARATION
        kind = first if phase == Phase.DECLARE else ShowKind.STIR
    return Shown(need_seat(m.seat), kind, cards_from_wire(m.cards), suit_from_wire(m.named), m.hidden, phase)


def _read_revealed(m: seat_pb2.TrumpRevealed, view: View) -> Event:
    trump = suit_from_wire(m.trump.suit)
    if trump is None:
        raise MalformedError("FIELD_INVALID", f"trump {m.trump.suit} is none of 1 to 5", "trump")
    level = Rank(m.trump.level) if m.trump.level else None
    return TrumpRevealed(trump, level, tuple(read_shown(showing, view) for showing in m.showings))


def _read_passed(m: seat_pb2.Passed, view: View) -> Event:
    return Passed(need_seat(m.seat), Phase(m.phase) if m.phase else view.phase)


def _read_closed(m: seat_pb2.WindowClosed, view: View) -> Event:
    trump = suit_from_wire(m.trump)
    level = Rank(m.level) if m.level else None
    turned = cards_from_wire(m.turned)
    sizes = _sizes(m.hand_sizes)
    caller = seat_from_wire(m.caller)
    return WindowClosed(need_seat(m.dealer), trump, level, turned, m.undeclared, sizes, caller, trump is None)


def _read_taken(m: seat_pb2.BottomTaken, view: View) -> Event:
    return BottomTaken(need_seat(m.seat), cards_from_wire(m.cards), m.count, cards_from_wire(m.already_shown))


def _read_buried(m: seat_pb2.Buried, view: View) -> Event:
    return Buried(need_seat(m.seat), cards_from_wire(m.cards), m.count)


def _read_played(m: seat_pb2.Played, view: View) -> Event:
    return Played(need_seat(m.seat), cards_from_wire(m.cards), cards_from_wire(m.attempted) or None)


def read_returned(m: seat_pb2.CardsReturned, view: View) -> CardsReturned:
    returned = tuple((need_seat(p.seat), cards_from_wire(p.cards)) for p in m.returned)
    return CardsReturned(need_seat(m.stirrer), returned)


def read_booked(m: seat_pb2.PointsBooked, view: View) -> Event | None:
    kind = _BOOKINGS_BACK.get(int(m.kind))
    return None if kind is None else Booked(kind, need_seat(m.seat), m.points)


def _read_trick(m: seat_pb2.TrickEnded, view: View) -> Event:
    return TrickEnded(need_seat(m.winner), m.points, m.score)


def read_ended(m: seat_pb2.DealEnded, view: View) -> Event:
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
    "deal_started": read_started,
    "cards_drawn": _read_drawn,
    "cards_shown": read_shown,
    "passed": _read_passed,
    "window_closed": _read_closed,
    "bottom_taken": _read_taken,
    "buried": _read_buried,
    "played": _read_played,
    "trump_revealed": _read_revealed,
    "cards_returned": read_returned,
    "points_booked": read_booked,
    "trick_ended": _read_trick,
    "deal_ended": read_ended,
}
