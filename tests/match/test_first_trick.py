"""Stirring in the first trick at a table: what is offered, what a time-out does, what reaches the bots."""

from chaodipi.engine.actions import ActionKind, Pass, Play, Show
from chaodipi.engine.cards import SEATS, Card, Seat, Side, Suit, deck, parse_cards
from chaodipi.engine.events import CardsReturned, Phase
from chaodipi.engine.ruleset import resolve
from chaodipi.engine.setup import Setup
from chaodipi.sdk import Action, Bot, Decision
from chaodipi.service.convert import outgoing_to_wire
from chaodipi.service.host.runner import legal_of
from chaodipi.service.host.session import SeatMessage
from chaodipi.service.match.machine import TableMachine
from chaodipi.service.match.messages import Decision as Request
from chaodipi.service.match.messages import Numbered, Update
from chaodipi.service.match.table import TableSpec, TimeControl
from chaodipi.v1 import cards_pb2, seat_pb2

RULES = resolve("in_play")
CLOCK = TimeControl(play_ms=1_000, bury_ms=5_000, ready_ms=2_000, attempts=2, max_faults=9)
FIRST = {0: "H2 H2 C3", 1: "S2 S2", 2: "bj bj", 3: "D2 D2 rj rj"}
"""In the first cards of the hands, at level 2; seat 0 declares H2 and deals."""


def setup(redeals: int) -> Setup:
    rest = list(deck(2))
    hands: dict[int, list[Card]] = {seat: list(parse_cards(text)) for seat, text in FIRST.items()}
    for hand in hands.values():
        for card in hand:
            rest.remove(card)
    for seat in SEATS:
        while len(hands[seat]) < 25:
            hands[seat].append(rest.pop(0))
    drawn = [card for row in zip(*hands.values(), strict=True) for card in row]
    return Setup(RULES, (*drawn, *rest), redeals=redeals)


class Table:
    """A machine, the last request, and everything that was sent; the clock stands at 10 ms."""

    def __init__(self) -> None:
        self.spec = TableSpec("t/1", RULES, setup, ("a", "b", "c", "d"), CLOCK)
        self.machine = TableMachine(self.spec, 0)
        self.sent: list[Update] = []
        for seat in SEATS:
            self.machine.receive_ready(seat, 10)
        self._read()

    def _read(self) -> None:
        self.asked: tuple[Seat, Request] | None = None
        for message in self.machine.outbox():
            if isinstance(message, Update):
                self.sent.append(message)
                if message.decision is not None:
                    self.asked = (message.seat, message.decision)

    def answer(self, action: Action | None = None) -> None:
        assert self.asked is not None
        seat, request = self.asked
        action = action or self.machine.deal.default_action(seat)
        self.machine.receive_answer(seat, request.decision, action, 10)
        self._read()

    def to_follow(self, seat: Seat) -> Request:
        """Seat 0 declares H2 and everything goes by default until *seat* follows in the first trick."""
        while True:
            assert self.asked is not None
            now, request = self.asked
            if request.phase == Phase.FOLLOW and now == seat:
                return request
            show = Show(parse_cards("H2"))
            self.answer(show if now == 0 and self.machine.deal.can(now, show) else None)

    def time_out(self) -> None:
        self.machine.handle_timer(10_000)
        self._read()


def wire_decision(table: Table) -> seat_pb2.DecisionRequest:
    """The open request as the bot gets it, with the legal actions listed."""
    update = table.sent[-1]
    legal = legal_of(table.machine, update.seat)
    return outgoing_to_wire(SeatMessage(1, table.spec, update, legal)).seat_update.decision


def test_a_follower_in_the_first_trick_is_offered_both_kinds() -> None:
    table = Table()
    request = table.to_follow(Seat.S1)
    assert request.allowed == (ActionKind.SHOW, ActionKind.PLAY)
    assert request.card_count == 1

    decision = wire_decision(table)
    assert list(decision.allowed) == [cards_pb2.ACTION_KIND_SHOW, cards_pb2.ACTION_KIND_PLAY]
    assert decision.legal.complete
    assert [list(action.show.cards) for action in decision.legal.actions] == [[Card.of(Suit.SPADES, 2)] * 2]
    assert {choice.kind for choice in decision.legal.choice_sets} == {cards_pb2.ACTION_KIND_PLAY}


def test_the_leader_is_told_that_one_card_or_two_equal_ones_may_be_led() -> None:
    table = Table()
    while table.asked is None or table.asked[1].phase != Phase.LEAD:
        show = Show(parse_cards("H2"))
        table.answer(show if table.machine.deal.can(Seat.S0, show) else None)
    decision = wire_decision(table)
    assert decision.legal.complete
    singles, *equal = decision.legal.choice_sets
    assert (singles.choose_min, singles.choose_max) == (1, 1)
    assert equal
    for choice in equal:
        cards = tuple(Card(card) for card in choice.forced)
        assert len(set(cards)) == 1
        assert table.machine.deal.can_play(Seat.S0, cards)


def test_a_time_out_plays_and_does_not_stir() -> None:
    table = Table()
    table.to_follow(Seat.S1)
    table.time_out()
    last = table.machine.deal.view.trick[-1]
    assert last.seat == 1
    assert table.machine.deal.view.returned == []


def test_a_stir_reaches_every_seat_with_what_it_returned() -> None:
    table = Table()
    table.to_follow(Seat.S2)
    table.answer(Show(parse_cards("bj bj")))
    table.answer()
    assert table.asked is not None
    assert (table.asked[0], table.asked[1].allowed) == (2, (ActionKind.PLAY,))
    table.answer()
    table.answer()
    assert (table.asked[0], table.asked[1].allowed) == (0, (ActionKind.SHOW, ActionKind.PASS))
    assert table.asked[1].card_count == 0
    decision = wire_decision(table)
    assert [action.WhichOneof("kind") for action in decision.legal.actions] == ["passing"]
    assert not decision.legal.choice_sets
    while table.machine.result is None:
        table.answer()
    for seat in SEATS:
        told = [n for update in table.sent if update.seat == seat for n in update.events]
        assert [type(n.event) for n in told].count(CardsReturned) == 1
    assert table.machine.result.how == "played"


def test_a_bot_stirs_or_plays_by_its_two_handlers() -> None:
    """``stir`` is asked first; its pass leaves the turn to ``play``. The dealer's pass is an answer."""

    class Mine(Bot):
        stirs = False

        def stir(self, decision: Decision) -> Action:
            return decision.legal_shows[0] if self.stirs and decision.legal_shows else decision.pass_()

    table = Table()
    table.to_follow(Seat.S1)
    decision = Decision(table.machine.deal.observation(Seat.S1))
    assert decision.allowed == {ActionKind.SHOW, ActionKind.PLAY}
    assert isinstance(Mine("m", Seat.S1).decide(decision), Play)
    stirrer = Mine("m", Seat.S1)
    stirrer.stirs = True
    action = stirrer.decide(decision)
    assert action == Show(parse_cards("S2 S2"))
    decision.check(action)
    table.answer(action)
    table.answer()
    while table.asked is not None and table.asked[0] != 0:
        table.answer()
    decision = Decision(table.machine.deal.observation(Seat.S0))
    assert decision.allowed == {ActionKind.SHOW, ActionKind.PASS}
    assert decision.card_count == 0
    assert stirrer.decide(decision) == decision.default() == Pass()


def test_numbered_events_of_such_a_table_say_the_phase_of_a_stir() -> None:
    table = Table()
    table.to_follow(Seat.S2)
    table.answer(Show(parse_cards("bj bj")))
    messages = [outgoing_to_wire(SeatMessage(1, table.spec, update)).seat_update for update in table.sent]
    shown = [event.cards_shown for message in messages for event in message.events if event.HasField("cards_shown")]
    assert [(s.kind, s.phase) for s in shown[-1:]] == [(seat_pb2.SHOW_KIND_STIR, cards_pb2.PHASE_FOLLOW)]
    assert all(isinstance(n, Numbered) for update in table.sent for n in update.events)
    assert table.machine.deal.view.dealer is not None
    assert table.machine.deal.view.dealer.side == Side.SIDE_02
