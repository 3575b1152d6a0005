"""A seat's view of a deal as one protocol message that replaces all its events, and back."""

from chaodipi.engine.cards import Rank
from chaodipi.engine.events import Booked, Phase, Shown
from chaodipi.engine.history import Attempt, Contribution, Trick
from chaodipi.engine.ruleset import Ruleset
from chaodipi.engine.view import View
from chaodipi.sdk.wire.events import (
    booked_to_wire,
    ended_to_wire,
    played_to_wire,
    read_booked,
    read_ended,
    read_returned,
    read_shown,
    read_started,
    returned_to_wire,
    shown_to_wire,
)
from chaodipi.sdk.wire.values import (
    card_numbers,
    cards_from_wire,
    levels_to_wire,
    need_seat,
    number,
    seat_from_wire,
    seat_to_wire,
    side_to_wire,
    suit_from_wire,
)
from chaodipi.v1 import cards_pb2, seat_pb2


def snapshot_from_view(view: View, seq: int = 0, *, deal: int = 1, board_commitment: bytes = b"") -> seat_pb2.SeatView:
    """*view*, one seat's, as the message that replaces all its events."""
    seat = view.seat
    assert seat is not None
    out = seat_pb2.SeatView(
        seq=seq,
        seat=seat_to_wire(seat),
        deal=deal,
        phase=number(view.phase if view.phase != Phase.ENDED else 0),
        first_drawer=seat_to_wire(view.first_drawer),
        dealer=seat_to_wire(view.dealer),
        trump=cards_pb2.Trump(suit=number(view.trump), level=int(view.level or 0)),
        levels=levels_to_wire(view.levels, view.laps),
        on_stage=side_to_wire(view.on_stage),
        first_deal=view.first_deal,
        redeals=view.redeals,
        board_commitment=board_commitment,
        hand=card_numbers(view.hands[seat]),
        hand_sizes=view.hand_sizes,
        turned=card_numbers(view.turned),
        burier=seat_to_wire(view.bottom_owner),
        buried=card_numbers(view.bottom if view.bottom and view.bottom_owner == seat else ()),
        score=view.score,
        bookings=[booked_to_wire(booking) for booking in view.adjustments],
        stake=view.stake,
        returned=[returned_to_wire(event) for event in view.returned],
        asked=[seat_to_wire(asked) for asked in view.asked],
        undeclared=view.undeclared,
        to_act=seat_to_wire(view.to_act),
        caller=seat_to_wire(view.caller),
        already_shown=card_numbers(view.already_shown),
    )
    for s in view.shown:
        out.showings.append(shown_to_wire(Shown(s.seat, s.kind, s.cards, s.named, not view.revealed, s.phase)))
    attempts = {(a.trick, a.seat): a.cards for a in view.attempts}
    for index, trick in enumerate(view.tricks):
        plays = [played_to_wire(p.seat, p.cards, attempts.get((index, p.seat), ())) for p in trick.plays]
        out.tricks.add(plays=plays, winner=seat_to_wire(trick.winner), points=trick.points)
    if view.trick:
        index = len(view.tricks)
        out.tricks.add(plays=[played_to_wire(p.seat, p.cards, attempts.get((index, p.seat), ())) for p in view.trick])
    if view.end is not None:
        out.ended.CopyFrom(ended_to_wire(view.end, deal, None, None, view.adjustments))
    return out


def view_from_snapshot(message: seat_pb2.SeatView, ruleset: Ruleset) -> View:
    """The view that *message* describes; equal to the one that the events before it give."""
    seat = need_seat(message.seat)
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
        view.apply(read_started(started, view))
    view.level = Rank(message.trump.level) if message.trump.level else None
    view.revealed = not any(shown.hidden for shown in message.showings) and (
        not ruleset.dark or bool(message.trump.suit)
    )
    for shown in message.showings:
        view.apply(read_shown(shown, view))
    view.caller = seat_from_wire(message.caller)
    view.already_shown = cards_from_wire(message.already_shown)
    view.dealer = seat_from_wire(message.dealer)
    view._set_trump(suit_from_wire(message.trump.suit))
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
    view.asked = [need_seat(asked) for asked in message.asked]
    view.phase = Phase(message.phase) if message.phase else Phase.ENDED
    view.hands[seat] = sorted(cards_from_wire(message.hand))
    view.hand_sizes = list(message.hand_sizes)
    view.bottom = tuple(sorted(cards_from_wire(message.buried))) or None
    view.returned = [read_returned(m, view) for m in message.returned]
    _read_tricks(view, message)
    view.score = message.score
    view.adjustments = [b for m in message.bookings if isinstance(b := read_booked(m, view), Booked)]
    if message.HasField("ended"):
        view.apply(read_ended(message.ended, view))
    return view


def _read_tricks(view: View, message: seat_pb2.SeatView) -> None:
    view.trick = []
    for index, trick in enumerate(message.tricks):
        plays = [Contribution(need_seat(p.seat), cards_from_wire(p.cards)) for p in trick.plays]
        for p in trick.plays:
            if p.attempted:
                view.attempts.append(Attempt(index, need_seat(p.seat), cards_from_wire(p.attempted)))
        winner = seat_from_wire(trick.winner)
        if winner is None:
            view.trick = plays
        else:
            view.tricks.append(Trick(tuple(plays), winner, trick.points))
