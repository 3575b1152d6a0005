"""The machine of a table, with literal times."""

import random
from dataclasses import replace

import pytest
from chaodipi.engine.actions import Action, Pass, Play
from chaodipi.engine.cards import SEATS, Card, Rank, Seat, deck
from chaodipi.engine.events import DealStarted, Passed, Phase, WindowClosed
from chaodipi.engine.ruleset import resolve
from chaodipi.engine.setup import Setup
from chaodipi.engine.view import View
from chaodipi.service.match.machine import TableMachine
from chaodipi.service.match.messages import (
    Decision,
    Ended,
    FaultRecorded,
    Message,
    Numbered,
    Update,
    Verdict,
    VerdictStatus,
)
from chaodipi.service.match.table import TableSpec, TimeControl

RULES = resolve("huanle_2")
CLOCK = TimeControl(play_ms=1_000, bury_ms=5_000, ready_ms=2_000, attempts=2, max_faults=3)


def setup(redeals: int) -> Setup:
    cards = list(deck(2))
    random.Random(7).shuffle(cards)
    return Setup(RULES, tuple(cards), redeals=redeals)


def spec(time: TimeControl = CLOCK) -> TableSpec:
    return TableSpec("t/1", RULES, setup, ("a", "b", "c", "d"), time)


def started(time: TimeControl = CLOCK) -> tuple[TableMachine, list[Message]]:
    machine = TableMachine(spec(time), 0)
    for seat in SEATS:
        machine.receive_ready(seat, 10)
    return machine, machine.outbox()


def asked(messages: list[Message]) -> tuple[Seat, Decision]:
    [found] = [(m.seat, m.decision) for m in messages if isinstance(m, Update) and m.decision is not None]
    return found


def verdicts(messages: list[Message]) -> list[Verdict]:
    return [m for m in messages if isinstance(m, Verdict)]


def default(machine: TableMachine, seat: Seat) -> Action:
    return machine.deal.default_action(seat)


def played_out(machine: TableMachine, messages: list[Message], now: int = 10) -> list[Message]:
    """Answer everything by default actions, one each 5 ms; all messages."""
    seen = list(messages)
    while machine.result is None:
        now += 5
        seat, decision = asked(messages)
        machine.receive_answer(seat, decision.decision, default(machine, seat), now)
        messages = machine.outbox()
        seen += messages
    return seen


def to_phase(machine: TableMachine, messages: list[Message], phase: Phase) -> tuple[Seat, Decision]:
    seat, decision = asked(messages)
    while decision.phase != phase:
        machine.receive_answer(seat, decision.decision, default(machine, seat), 10)
        seat, decision = asked(machine.outbox())
    return seat, decision


@pytest.mark.clauses("S2a-05")
def test_nothing_is_dealt_before_all_are_ready() -> None:
    machine = TableMachine(spec(), 0)
    for seat in SEATS[:3]:
        machine.receive_ready(seat, 100)
    assert machine.outbox() == []
    assert machine.next_timer() == 2_000
    machine.receive_ready(Seat.S3, 200)
    asked(machine.outbox())


def test_a_seat_that_is_not_ready_is_played_by_default_actions() -> None:
    machine = TableMachine(spec(), 0)
    for seat in SEATS[:3]:
        machine.receive_ready(seat, 100)
    machine.handle_timer(1_999)
    assert machine.outbox() == []
    machine.handle_timer(2_000)
    messages = played_out(machine, machine.outbox(), 2_000)
    assert machine.result is not None
    assert machine.result.faults == {Seat.S3: {"not_ready": 1}}
    assert not [m for m in messages if m.seat == Seat.S3 and isinstance(m, Update)]


def test_a_table_is_played_and_settled() -> None:
    """A later deal: it is played although nobody declares."""
    later = replace(spec(), setup=lambda redeals: replace(setup(redeals), dealer=Seat.S0, first_deal=False))
    machine = TableMachine(later, 0)
    for seat in SEATS:
        machine.receive_ready(seat, 10)
    messages = machine.outbox()
    messages = played_out(machine, messages)
    result = machine.result
    assert result is not None
    assert result.how == "played"
    assert result.settlement is not None
    assert result.faults == {}
    assert len([m for m in messages if isinstance(m, Ended)]) == 4
    assert {v.status for v in verdicts(messages)} == {VerdictStatus.ACCEPTED}
    assert machine.next_timer() is None


def test_each_seat_gets_gap_free_events_that_fold_to_its_observation() -> None:
    machine, messages = started()
    messages = played_out(machine, messages)
    for seat in SEATS:
        events = [n for m in messages if isinstance(m, Update) and m.seat == seat for n in m.events]
        assert [n.seq for n in events] == list(range(1, len(events) + 1))
        kinds = [type(n.event) for n in events]
        last_deal = events[len(kinds) - 1 - kinds[::-1].index(DealStarted) :]
        view = View(RULES, seat, [n.event for n in last_deal if not isinstance(n.event, FaultRecorded)])
        assert view == machine.deal.observation(seat)


def test_a_decision_comes_with_all_events_before_it() -> None:
    machine, messages = started()
    seqs = dict.fromkeys(SEATS, 0)
    for message in played_out(machine, messages):
        if isinstance(message, Update):
            seqs[message.seat] += len(message.events)
            if message.decision is not None:
                assert message.decision.as_of_seq == seqs[message.seat]


@pytest.mark.situation("T4")
def test_an_illegal_answer_is_asked_again_then_replaced() -> None:
    machine, messages = started()
    seat, decision = to_phase(machine, messages, Phase.LEAD)
    missing = next(card for card in Card if card not in machine.deal.view.hands[seat])
    machine.receive_answer(seat, decision.decision, Play((missing,)), 210)
    messages = machine.outbox()
    [verdict] = verdicts(messages)
    assert (verdict.status, verdict.reason) == (VerdictStatus.RETRY, "NOT_YOUR_CARDS")
    assert verdict.attempts_left == 1
    assert verdict.charged_ms == 100  # 200 ms less the allowance of 100
    again, repeated = asked(messages)
    assert (again, repeated.decision, repeated.attempt) == (seat, decision.decision, 2)
    assert repeated.time_left_ms == 800  # the clock ran on
    assert {m.seat for m in messages} == {seat}, "the others see nothing but the action in the end"
    expected = default(machine, seat)
    machine.receive_malformed(seat, decision.decision, 310)
    messages = machine.outbox()
    [verdict] = verdicts(messages)
    assert (verdict.status, verdict.applied) == (VerdictStatus.REPLACED, expected)
    asked(messages)
    faults = [n.event for m in messages if isinstance(m, Update) for n in m.events if type(n.event) is FaultRecorded]
    assert faults[0] == FaultRecorded(seat, "malformed", 1)
    played_out(machine, messages, 310)
    assert machine.result is not None
    assert machine.result.faults == {seat: {"malformed": 1}}
    [record] = [r for r in machine.result.decisions if r.by_host]
    assert (record.seat, record.action, record.fault) == (seat, expected, "malformed")


@pytest.mark.clauses("S4-04", "Q93")
def test_a_timeout_is_defaulted_and_the_late_answer_hits_nothing() -> None:
    machine, messages = started()
    seat, decision = to_phase(machine, messages, Phase.LEAD)
    action = default(machine, seat)
    machine.handle_timer(1_109)
    assert not verdicts(machine.outbox())
    machine.handle_timer(1_110)  # asked at 10, 1,000 to play, 100 allowance
    following, next_decision = asked(machine.outbox())
    assert following == seat.next
    machine.receive_answer(seat, decision.decision, action, 1_111)
    messages = machine.outbox()
    [verdict] = verdicts(messages)
    assert (verdict.status, verdict.applied) == (VerdictStatus.TOO_LATE, action)
    assert machine.deal.to_act == following
    machine.receive_answer(following, next_decision.decision, default(machine, following), 1_112)
    [verdict] = verdicts(machine.outbox())
    assert verdict.status == VerdictStatus.ACCEPTED


@pytest.mark.clauses("S2a-15", "Q93", "Q122")
def test_calling_that_runs_out_of_time_is_a_pass() -> None:
    machine, messages = started()
    seat, decision = to_phase(machine, messages, Phase.DECLARE)
    shown = list(machine.deal.view.shown)
    machine.handle_timer(1_110)  # asked at 10, 1,000 to show, 100 allowance
    machine.receive_answer(seat, decision.decision, Pass(), 1_111)
    [verdict] = verdicts(machine.outbox())
    assert (verdict.status, verdict.applied) == (VerdictStatus.TOO_LATE, Pass())
    assert machine.deal.view.shown == shown


@pytest.mark.situation("T3")
def test_an_answer_after_the_deadline_is_late_even_before_the_timer_fires() -> None:
    machine, messages = started()
    seat, decision = to_phase(machine, messages, Phase.LEAD)
    machine.receive_answer(seat, decision.decision, default(machine, seat), 5_000)
    [verdict] = verdicts(machine.outbox())
    assert verdict.status == VerdictStatus.TOO_LATE


@pytest.mark.clauses("S4-03", "Q93")
def test_the_burial_has_its_own_limit() -> None:
    machine, messages = started()
    _, decision = to_phase(machine, messages, Phase.BURY)
    assert decision.time_left_ms == 5_000
    assert decision.card_count == RULES.bottom
    assert machine.next_timer() in (1_010, 5_110)  # events that wait for others, or the limit


@pytest.mark.situation("T3")
def test_a_repeated_answer_is_a_duplicate_another_one_stale() -> None:
    machine, messages = started()
    seat, decision = to_phase(machine, messages, Phase.LEAD)
    action = default(machine, seat)
    for _ in range(2):
        machine.receive_answer(seat, decision.decision, action, 20)
    machine.receive_answer(seat, decision.decision, Pass(), 30)
    machine.receive_answer(seat, 99, Pass(), 30)
    machine.receive_answer(seat.next, 99, Pass(), 30)
    assert [v.status.name for v in verdicts(machine.outbox())] == [
        "ACCEPTED",
        "DUPLICATE",
        "STALE",
        "STALE",
        "STALE",
    ]


def test_the_side_of_a_seat_with_max_faults_forfeits_and_nothing_more_is_played() -> None:
    machine, messages = started()
    seat, decision = to_phase(machine, messages, Phase.LEAD)
    now, to_act = 10, seat
    seen: list[Message] = []
    while machine.result is None:
        if to_act == seat:
            now += 2_000
            machine.handle_timer(now)
        else:
            machine.receive_answer(to_act, decision.decision, default(machine, to_act), now)
        messages = machine.outbox()
        seen += messages
        if machine.result is None:
            to_act, decision = asked(messages)
    result = machine.result
    assert (result.how, result.forfeiting_seat, result.forfeiting_side) == ("forfeit", seat, seat.side)
    assert result.faults == {seat: {"timeout": 3}}
    assert (result.score, result.settlement) == (0, None)
    assert sum(record.fault == "timeout" for record in result.decisions) == 2
    ends = [m for m in seen if isinstance(m, Ended)]
    assert [m.seat for m in ends] == list(SEATS)
    for end in ends:
        told = [n.event for m in seen if isinstance(m, Update) and m.seat == end.seat for n in m.events]
        assert FaultRecorded(seat, "timeout", 3) in told
    assert machine.next_timer() is None


def test_the_verdict_on_the_answer_that_forfeits_names_no_action() -> None:
    machine, messages = started(TimeControl(attempts=1, max_faults=1))
    seat, decision = to_phase(machine, messages, Phase.LEAD)
    machine.receive_answer(seat, decision.decision, Pass(), 20)
    [verdict] = verdicts(machine.outbox())
    assert (verdict.status, verdict.applied, verdict.reason) == (VerdictStatus.REPLACED, None, "WRONG_ACTION_KIND")
    assert machine.result is not None
    assert machine.result.forfeiting_seat == seat


def test_a_limit_of_no_faults_means_never() -> None:
    machine, _ = started(TimeControl(play_ms=1_000, bury_ms=1_000, max_faults=0))
    now = 10
    while machine.result is None:
        now += 2_000
        machine.handle_timer(now)
    assert machine.result.how == "no_declaration"  # who is silent does not declare
    assert all(count["timeout"] > 10 for count in machine.result.faults.values())


def test_seats_that_are_never_ready_may_forfeit_before_a_card_is_played() -> None:
    machine = TableMachine(spec(TimeControl(ready_ms=2_000, max_faults=1)), 0)
    machine.handle_timer(2_000)
    assert machine.result is not None
    assert (machine.result.how, machine.result.faults) == ("forfeit", {Seat.S0: {"not_ready": 1}})
    assert machine.result.decisions == ()


def test_a_lost_seat_is_played_on_and_may_come_back() -> None:
    machine, messages = started()
    seat, decision = to_phase(machine, messages, Phase.LEAD)
    held = decision.as_of_seq
    machine.seat_lost(seat, 20)
    following, asked_next = asked(machine.outbox())
    assert following == seat.next
    machine.seat_back(seat, 30, last_seq=held)
    [update] = machine.outbox()
    assert isinstance(update, Update)
    assert [n.seq for n in update.events] == list(range(held + 1, held + 1 + len(update.events)))
    machine.receive_answer(following, asked_next.decision, default(machine, following), 40)
    played_out(machine, machine.outbox(), 40)
    assert machine.result is not None
    assert machine.result.faults == {seat: {"disconnected": 1}}


def test_events_wait_for_a_decision_at_most_one_second() -> None:
    machine, messages = started(TimeControl(play_ms=60_000))
    to_phase(machine, messages, Phase.FOLLOW)
    machine.handle_timer(1_009)
    assert machine.outbox() == []
    machine.handle_timer(1_010)
    assert {m.seat for m in machine.outbox()} != set()


def test_a_bot_that_wants_events_at_once_gets_each_as_it_happens_and_may_change_its_mind_when_it_comes_back() -> None:
    machine = TableMachine(spec(), 0)
    for seat in SEATS:
        machine.receive_ready(seat, 10, immediate=seat == Seat.S3)
    leader, _ = to_phase(machine, machine.outbox(), Phase.LEAD)
    asked_now = machine._open
    assert asked_now is not None
    machine.receive_answer(leader, asked_now.decision, default(machine, leader), 10)
    told = {m.seat for m in machine.outbox() if isinstance(m, Update) and m.events}
    assert told == {Seat.S3, leader.next}
    # It comes back and waits like the others; another one comes back and does not.
    other = next(seat for seat in SEATS if seat not in (Seat.S3, leader, leader.next))
    machine.seat_back(Seat.S3, 10, 1)
    machine.seat_back(other, 10, 1, immediate=True)
    machine.outbox()
    asked_now = machine._open
    assert asked_now is not None
    machine.receive_answer(asked_now.seat, asked_now.decision, default(machine, asked_now.seat), 10)
    told = {m.seat for m in machine.outbox() if isinstance(m, Update) and m.events}
    assert told == {other, asked_now.seat.next}


def test_redeals_go_on_with_the_next_setup_and_are_numbered_through() -> None:
    calls: list[int] = []

    def undeclared(redeals: int) -> Setup:
        calls.append(redeals)
        return setup(redeals)

    table = TableSpec("t/2", RULES, undeclared, ("a", "b", "c", "d"), CLOCK)
    machine = TableMachine(table, 0)
    for seat in SEATS:
        machine.receive_ready(seat, 10)
    messages = played_out(machine, machine.outbox())  # everybody passes while declaring
    started_events: list[Numbered] = [
        n
        for m in messages
        if isinstance(m, Update) and m.seat == Seat.S0
        for n in m.events
        if type(n.event) is DealStarted
    ]
    assert calls == list(range(len(started_events)))
    result = machine.result
    assert result is not None
    assert len(started_events) == RULES.redeal_cap + 1
    assert {r.redeals for r in result.decisions} <= set(calls)


def test_a_stopped_table_says_so_and_scores_nothing() -> None:
    machine, _ = started()
    machine.stop("host_fault", "drain")
    assert machine.result is not None
    assert (machine.result.how, machine.result.settlement, machine.result.note) == ("host_fault", None, "drain")
    assert len([m for m in machine.outbox() if isinstance(m, Ended)]) == 4


@pytest.mark.clauses("S2a-15", "S2a-20", "S2a-24", "Q26", "Q93", "Q112")
def test_calling_ends_with_the_clock_of_the_round_after_the_last_card() -> None:
    """The countdown of baomahui: nobody calls until it has run out, so all see the bottom, and nobody can stir."""
    rules = resolve("baomahui")
    cards = list(deck(2))
    random.Random(3).shuffle(cards)
    level = Rank.SEVEN
    later = Setup(rules, tuple(cards), Seat.S2, Seat.S2, (level, level), Seat.S2.side, first_deal=False)
    clock = TimeControl(play_ms=1_000, bury_ms=5_000, ready_ms=2_000, max_faults=200)
    machine = TableMachine(TableSpec("t/1", rules, lambda _: later, ("a", "b", "c", "d"), clock), 0)
    for seat in SEATS:
        machine.receive_ready(seat, 10)
    messages = machine.outbox()
    last_offers: list[Seat] = []
    while machine.deal.phase == Phase.DECLARE:
        last_card = machine.deal.view.hand_sizes == [rules.hand] * 4
        for update in messages:
            if isinstance(update, Update) and update.decision is not None and last_card:
                last_offers.append(update.seat)
                assert update.decision.time_left_ms == clock.play_ms
        due = machine.next_timer()
        assert due is not None
        machine.handle_timer(due)
        messages = machine.outbox()

    assert len(last_offers) >= 2  # who could still call was asked once more
    closed = {
        m.seat: n.event
        for m in messages
        if isinstance(m, Update)
        for n in m.events
        if isinstance(n.event, WindowClosed)
    }
    assert set(closed) == set(SEATS)
    assert all(event.undeclared and event.turned == tuple(cards[100:]) for event in closed.values())
    seat, decision = asked(messages)
    assert (seat, decision.phase) == (Seat.S2, Phase.BURY)
    machine.receive_answer(seat, decision.decision, default(machine, seat), machine.next_timer() or 0)
    assert machine.deal.phase == Phase.LEAD
    assert not [e for e in machine.deal.events if isinstance(e, Passed) and e.phase == Phase.STIR]
