"""The wire says all that the engine says: values, actions, events and whole views survive it."""

import random

import pytest
from chaodipi.engine.actions import Action, Bury, Pass, Play, Show
from chaodipi.engine.cards import SEATS, Card, Rank, Seat, Side, Suit, deck, parse_cards
from chaodipi.engine.deal import Deal
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
    TrickEnded,
    TrumpRevealed,
    WindowClosed,
    visible,
)
from chaodipi.engine.ruleset import Ruleset, preset_names, resolve
from chaodipi.engine.scoring import Position, settle
from chaodipi.engine.setup import Setup
from chaodipi.engine.view import View
from chaodipi.sdk import Decision, wire
from chaodipi.sdk.baselines import RandomBot
from chaodipi.v1 import cards_pb2, seat_pb2

ACTIONS: list[Action] = [
    Pass(),
    Play(parse_cards("S9 S9")),
    Bury(parse_cards("C3 C4 C6 C7 D3 D4 D6 D7")),
    Show(parse_cards("H2")),
    Show(parse_cards("H5 H5"), Suit.NO_TRUMP),
    Show(parse_cards("D2 D2"), looking_back=True),
]

EVENTS: list[Event] = [
    DealStarted(Seat.S2, None, (Rank.TWO, Rank.ACE), None, True, 2),
    DealStarted(Seat.S1, Seat.S1, (Rank.TEN, None), Side.SIDE_13, False, 0),
    CardsDrawn(Seat.S0, parse_cards("S9"), (1, 1, 0, 0)),
    *(Shown(Seat.S3, kind, parse_cards("D2 D2"), None, False, Phase.DECLARE) for kind in ShowKind),
    Shown(Seat.S3, ShowKind.STIR, parse_cards("H5 H5"), Suit.SPADES, False, Phase.STIR),
    Shown(Seat.S3, ShowKind.LOOKING_BACK, parse_cards("D2 D2"), None, True, Phase.STIR),
    Shown(Seat.S3, ShowKind.OVERCALL, (), None, True, Phase.DECLARE),
    Passed(Seat.S1, Phase.DECLARE),
    Passed(Seat.S1, Phase.STIR),
    Passed(Seat.S0, Phase.FOLLOW),
    WindowClosed(Seat.S2, Suit.NO_TRUMP, None, parse_cards("C3 rj"), True, (25, 25, 25, 25)),
    WindowClosed(Seat.S2, Suit.HEARTS, Rank.KING, (), False, (25, 25, 25, 25), Seat.S1),
    WindowClosed(Seat.S2, None, Rank.KING, (), False, (25, 25, 25, 25), Seat.S2, hidden=True),
    BottomTaken(Seat.S2, (), 8),
    BottomTaken(Seat.S0, parse_cards("C3 C4"), 2),
    BottomTaken(Seat.S0, parse_cards("C3 C4 S2 S2"), 4, parse_cards("S2 S2")),
    Buried(Seat.S2, (), 8),
    Buried(Seat.S0, parse_cards("C3 C4"), 2),
    TrumpRevealed(
        Suit.SPADES,
        Rank.TWO,
        (
            Shown(Seat.S3, ShowKind.DECLARATION, parse_cards("D2"), None, False, Phase.DECLARE),
            Shown(Seat.S1, ShowKind.STIR, parse_cards("H5 H5"), Suit.SPADES, False, Phase.STIR),
        ),
    ),
    Played(Seat.S3, parse_cards("bj rj"), None),
    Played(Seat.S3, parse_cards("S9"), parse_cards("SA S9")),
    CardsReturned(Seat.S3, ((Seat.S1, parse_cards("H4")), (Seat.S2, parse_cards("H7")))),
    CardsReturned(Seat.S1, ()),
    *(
        Booked(kind, Seat.S1, -20)
        for kind in ("failed_throw", "blind_stir_failed", "forced_heart_five", "kept_heart_five", "penalty")
    ),
    TrickEnded(Seat.S1, 35, -10),
    DealEnded("redeal", 0, (), 0, 0, None, (), 1),
]


@pytest.mark.parametrize("action", ACTIONS, ids=str)
def test_actions_survive_the_wire(action: Action) -> None:
    data = wire.action_to_wire(action).SerializeToString()
    assert wire.action_from_wire(cards_pb2.Action.FromString(data)) == action


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_events_survive_the_wire(event: Event) -> None:
    message = wire.event_to_wire(event, 7)
    assert message is not None
    again = seat_pb2.SeatEvent.FromString(message.SerializeToString())
    assert again.seq == 7
    assert wire.event_from_wire(again, View(resolve("ming_chao"), Seat.S0)) == event


def test_every_kind_of_event_is_tried() -> None:
    named = {name for name in seat_pb2.SeatEvent.DESCRIPTOR.fields_by_name if name != "seq"}
    tried = {message.WhichOneof("event") for event in EVENTS if (message := wire.event_to_wire(event)) is not None}
    assert named - tried == {"fault_recorded", "presence_changed"}


def test_seats_and_sides_start_at_one() -> None:
    assert [wire.seat_to_wire(seat) for seat in (None, *SEATS)] == [0, 1, 2, 3, 4]
    assert [wire.seat_from_wire(n) for n in range(6)] == [None, *SEATS, None]
    assert [wire.side_from_wire(wire.side_to_wire(side)) for side in (None, *Side)] == [None, *Side]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (cards_pb2.Action(), "ACTION_MISSING"),
        (cards_pb2.Action(play=cards_pb2.Play(cards=[cards_pb2.CARD_UNSPECIFIED])), "CARD_UNKNOWN"),
    ],
)
def test_what_is_no_action_is_malformed(message: cards_pb2.Action, reason: str) -> None:
    with pytest.raises(MalformedError) as caught:
        wire.action_from_wire(message)
    assert caught.value.reason == reason


def test_unknown_events_are_skipped() -> None:
    assert wire.event_from_wire(seat_pb2.SeatEvent(seq=1), View(resolve("ming_chao"), Seat.S0)) is None


DARK = {"dark": True, "stir_strength": "any", "show_once": True}
RULESETS = [*map(resolve, preset_names()), resolve("ming_chao", DARK)]


def _mixed_deal(ruleset: Ruleset, seed: int) -> Deal:
    cards = list(deck(ruleset.decks))
    random.Random(seed).shuffle(cards)
    dealer = Seat(seed % 4)
    flag = ruleset.past_ace == "flag" and seed == 5
    level = None if flag else Rank(2 + seed % 13)
    return Deal(Setup(ruleset, tuple(cards), dealer, dealer, (level, level), dealer.side, False))


@pytest.mark.parametrize("ruleset", RULESETS, ids=lambda ruleset: ruleset.name)
@pytest.mark.parametrize("seed", range(6))
def test_views_folded_through_the_wire_equal_the_observation(ruleset: Ruleset, seed: int) -> None:
    deal = _mixed_deal(ruleset, seed)
    bots = {seat: RandomBot(f"wire/{seed}", seat) for seat in SEATS}
    views = {seat: View(deal.ruleset, seat) for seat in SEATS}
    told = 0
    while True:
        for event in deal.events[told:]:
            for seat, view in views.items():
                seen = visible(event, seat)
                message = None if seen is None else wire.event_to_wire(seen)
                if message is not None:
                    again = wire.event_from_wire(seat_pb2.SeatEvent.FromString(message.SerializeToString()), view)
                    assert again == seen
                    view.apply(again)
        told = len(deal.events)
        for seat, view in views.items():
            assert view == deal.observation(seat)
            snapshot = wire.snapshot_from_view(view).SerializeToString()
            resumed = wire.view_from_snapshot(seat_pb2.SeatView.FromString(snapshot), deal.ruleset)
            assert resumed.canonical() == view.canonical()
            assert resumed._queue == view._queue
        asked = deal.to_act
        if asked is None:
            return
        deal.act(asked, bots[asked].decide(Decision(views[asked])))


def test_the_end_of_a_deal_says_what_it_changed() -> None:
    ruleset = resolve("ming_chao")
    positions = {side: Position(Rank.TWO) for side in Side}
    settled = settle(ruleset, Seat.S0, 130, positions)
    event = DealEnded("played", 130, parse_cards("C5"), 2, 10, Seat.S1, parse_cards("SA"), 1)
    message = wire.event_to_wire(event, settlement=settled, dealer=Seat.S0, deal=3)
    assert message is not None
    end = message.deal_ended
    assert (end.deal, end.score, end.dig_points, end.winner, end.steps) == (3, 130, 10, 2, 1)
    assert end.next_dealer == wire.seat_to_wire(settled.next_dealer)
    assert [position.level for position in end.levels] == [2, 3]
    assert list(end.payouts) == []


def test_payouts_are_told_by_seat() -> None:
    """S2a-30, Q77: at 130 each catcher is paid 6 and each of the dealer side loses 4; a stake multiplies (Q47)."""
    positions = {side: Position(Rank.TWO) for side in Side}
    event = DealEnded("played", 130, parse_cards("C5"), 2, 10, Seat.S1, parse_cards("SA"), 1)
    for dealer, stake, paid in ((Seat.S0, 1, [-4, 6, -4, 6]), (Seat.S3, 2, [12, -8, 12, -8])):
        settled = settle(resolve("baomahui"), dealer, 130, positions, stake=stake)
        message = wire.event_to_wire(event, settlement=settled, dealer=dealer)
        assert message is not None
        assert list(message.deal_ended.payouts) == paid


def test_a_card_is_its_number() -> None:
    assert wire.cards_from_wire([int(card) for card in Card]) == tuple(Card)
