"""Time in the match machine, with literal times: limits, bank, byo-yomi, budgets, allowance, grace."""

import random
from dataclasses import replace

import pytest
from chaodipi.engine.cards import SEATS, Seat
from chaodipi.engine.events import Phase
from chaodipi.engine.ruleset import preset_names, resolve
from chaodipi.service.match.clock import SeatClock, TimeControl, TimeControlError
from chaodipi.service.match.machine import TableMachine
from chaodipi.service.match.messages import Message, PresenceChanged, Update, VerdictStatus

from tests.match.test_machine import asked, default, played_out, spec, started, to_phase, verdicts

PLAIN = TimeControl(play_ms=1_000, bury_ms=5_000, ready_ms=2_000, max_faults=0)
BANK = replace(PLAIN, bank_ms=3_000)
FISCHER = replace(PLAIN, play_ms=0, bury_ms=0, bank_ms=3_000, increment_ms=500)
BYOYOMI = replace(PLAIN, play_ms=0, bury_ms=0, bank_ms=3_000, byoyomi_ms=400, byoyomi_periods=3)
START = replace(PLAIN, start_ms=20_000)
CAPPED = replace(BANK, bank_ms=80_000, cap_ms=6_000)
MODES = {"plain": PLAIN, "bank": BANK, "increment": FISCHER, "byoyomi": BYOYOMI, "start": START, "cap": CAPPED}


def ran(clock: SeatClock, at: int, took: int, limit: int) -> int:
    """One decision of *took* ms; what it was charged."""
    clock.start(at, limit)
    return clock.stop(at + took)


@pytest.mark.parametrize(
    ("settings", "key", "message"),
    [
        ({"play_ms": -1}, "play_ms", "play_ms = -1: 0 to 86400000 expected"),
        ({"ready_ms": 0}, "ready_ms", "ready_ms = 0: 1 to"),
        ({"attempts": 0}, "attempts", "attempts = 0: 1 to 100"),
        ({"play_ms": 0}, "play_ms", "needs increment_ms or byo-yomi"),
        ({"bury_ms": 0, "bank_ms": 9}, "bury_ms", "the bank may be used up"),
        ({"byoyomi_ms": 9}, "byoyomi_ms", "go together"),
        ({"byoyomi_periods": 9}, "byoyomi_periods", "go together"),
        ({"increment_ms": 9}, "increment_ms", "needs a bank_ms"),
        (
            {"increment_ms": 9, "bank_ms": 9, "byoyomi_ms": 9, "byoyomi_periods": 1},
            "increment_ms",
            "do not go together",
        ),
        ({"cap_ms": 89_999}, "cap_ms", "90000 or more for its limits"),
        ({"cap_ms": 90_000, "start_ms": 1}, "cap_ms", "90001 or more"),
        ({"untimed": True, "bank_ms": 9}, "bank_ms", "no meaning if untimed"),
        ({"untimed": True, "cap_ms": 9}, "cap_ms", "no meaning if untimed"),
    ],
)
def test_limits_that_cannot_be_are_refused_by_name(settings: dict[str, int], key: str, message: str) -> None:
    with pytest.raises(TimeControlError, match=message) as caught:
        TimeControl(**settings)
    assert caught.value.key == key


@pytest.mark.clauses("S4-03", "S4-04", "Q93")
@pytest.mark.parametrize("name", preset_names())
def test_the_limits_of_a_preset_are_its_default(name: str) -> None:
    ruleset = resolve(name)
    control = TimeControl.of(ruleset)
    assert (control.play_ms, control.bury_ms) == (1_000 * ruleset.play_s, 1_000 * ruleset.bury_s)
    if name == "t_timed":
        assert (control.play_ms, control.bury_ms) == (15_000, 90_000)
    assert TimeControl.of(ruleset, play_ms=7).play_ms == 7


def test_the_bank_is_used_when_the_limit_is_up_and_does_not_come_back() -> None:
    clock = SeatClock(BANK)
    assert ran(clock, 0, 1_100, 1_000) == 1_000  # the allowance is free
    assert clock.bank_ms == 3_000
    assert ran(clock, 5_000, 2_600, 1_000) == 2_500
    assert clock.bank_ms == 1_500
    clock.start(10_000, 1_000)
    assert (clock.left(10_000), clock.deadline_ms) == (2_500, 12_600)
    assert (clock.left(12_000), clock.bank_left(12_000)) == (500, 600)
    assert clock.stop(99_000) == 2_500  # a timer that comes late charges no more than there was
    assert clock.bank_ms == 0


def test_an_increment_fills_the_bank_after_each_decision() -> None:
    clock = SeatClock(FISCHER)
    assert ran(clock, 0, 1_100, 0) == 1_000
    assert clock.bank_ms == 2_500
    assert ran(clock, 5_000, 9_000, 0) == 2_500
    assert clock.bank_ms == 500  # used up, and still time for the next one


def test_a_byoyomi_period_is_lost_only_by_using_it_up_and_the_last_one_never() -> None:
    clock = SeatClock(BYOYOMI)
    ran(clock, 0, 3_100, 0)
    assert (clock.bank_ms, clock.periods) == (0, 3)
    ran(clock, 5_000, 500, 0)  # 400 charged: a whole period, within it
    assert clock.periods == 3
    ran(clock, 6_000, 501, 0)
    assert clock.periods == 2
    clock.start(7_000, 0)
    assert clock.left(7_000) == 800
    assert clock.stop(8_000) == 800
    assert clock.periods == 1
    ran(clock, 9_000, 9_000, 0)
    assert clock.periods == 1


@pytest.mark.situation("c")
def test_the_start_budget_is_for_the_first_decision_of_each_seat() -> None:
    """A model that is loaded at the first question is not late; the second question has the limit alone."""
    machine, messages = started(START)
    seen: dict[Seat, list[int]] = {seat: [] for seat in SEATS}
    for message in played_out(machine, messages):
        if isinstance(message, Update) and message.decision is not None:
            seen[message.seat].append(message.decision.time_left_ms)
    for times in seen.values():
        assert times[0] == 21_000
        assert set(times[1:]) <= {1_000, 5_000}


def test_the_cap_ends_a_decision_that_the_bank_would_leave_open() -> None:
    machine, messages = started(CAPPED)
    seat, decision = to_phase(machine, messages, Phase.LEAD)
    assert (decision.time_left_ms, decision.bank_left_ms) == (6_000, 6_000)
    machine.handle_timer(6_109)
    assert machine.deal.to_act == seat
    machine.handle_timer(6_110)
    assert machine.deal.to_act == seat.next


@pytest.mark.situation("T2")
@pytest.mark.parametrize("name", MODES)
def test_t2_silence_is_ended_by_the_clock_in_every_mode(name: str) -> None:
    control = MODES[name]
    assert control.hard_cap_ms is not None
    machine, _ = started(control)
    now = 10
    while machine.result is None:
        due = machine.next_timer()
        assert due is not None
        assert now <= due <= now + control.hard_cap_ms + control.allowance_ms
        now = due
        machine.handle_timer(now)
    assert machine.result.how == "no_declaration"  # who is silent does not declare
    assert {kind for kinds in machine.result.faults.values() for kind in kinds} == {"timeout"}


@pytest.mark.situation("T2")
def test_no_random_control_leaves_a_decision_open_longer_than_its_cap() -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    tried = 0
    while tried < 300:
        sizes = {
            key: chance.choice((0, 1, 500, 30_000, 900_000))
            for key in ("play_ms", "bury_ms", "start_ms", "bank_ms", "increment_ms", "byoyomi_ms", "grace_ms", "cap_ms")
        }
        try:
            control = TimeControl(**sizes, byoyomi_periods=chance.choice((0, 1, 5)))
        except TimeControlError:
            continue
        tried += 1
        assert control.hard_cap_ms is not None
        clock, now = SeatClock(control), 0
        for _ in range(20):
            clock.start(now, chance.choice((control.play_ms, control.bury_ms)))
            if chance.random() < 0.5:
                clock.away(now)
            if chance.random() < 0.5:
                clock.back(now + chance.randrange(1_000))
            deadline = clock.deadline_ms
            assert deadline is not None
            assert control.allowance_ms < deadline - now <= control.hard_cap_ms + control.allowance_ms
            now = chance.randrange(now, deadline + 1)
            charged = clock.stop(now)
            assert 0 <= charged <= control.hard_cap_ms
            assert clock.bank_ms >= 0


def test_each_verdict_says_what_was_charged_and_what_the_bank_holds() -> None:
    machine, messages = started(BANK)
    seat, decision = to_phase(machine, messages, Phase.LEAD)
    assert (decision.time_left_ms, decision.bank_left_ms) == (4_000, 3_000)
    machine.receive_malformed(seat, decision.decision, 1_310)
    messages = machine.outbox()
    [refused] = verdicts(messages)
    assert (refused.status, refused.charged_ms, refused.bank_left_ms) == (VerdictStatus.RETRY, 1_200, 2_800)
    _, again = asked(messages)
    assert (again.time_left_ms, again.bank_left_ms) == (2_700, 2_700)
    machine.receive_answer(seat, decision.decision, default(machine, seat), 1_610)
    [accepted] = verdicts(machine.outbox())
    assert (accepted.status, accepted.charged_ms, accepted.bank_left_ms) == (VerdictStatus.ACCEPTED, 1_500, 2_500)


def test_the_bank_of_one_seat_is_not_the_others() -> None:
    machine, messages = started(BANK)
    seat, decision = to_phase(machine, messages, Phase.LEAD)
    machine.receive_answer(seat, decision.decision, default(machine, seat), 3_000)
    _, following = asked(machine.outbox())
    assert following.bank_left_ms == 3_000


# ---- away


def test_the_disconnect_grace_runs_before_the_clock_and_once_a_table() -> None:
    control = replace(PLAIN, grace_ms=4_000)
    machine, messages = started(control)
    seat, decision = to_phase(machine, messages, Phase.LEAD)
    machine.seat_away(seat, 510)  # 500 ms of its second used
    machine.handle_timer(5_109)
    assert machine.deal.to_act == seat
    machine.seat_back(seat, 3_510, last_seq=decision.as_of_seq)  # 3 of its 4 seconds of grace used
    [again] = [m.decision for m in machine.outbox() if isinstance(m, Update) and m.decision]
    assert again.time_left_ms == 500
    machine.receive_answer(seat, decision.decision, default(machine, seat), 3_710)
    [verdict] = verdicts(machine.outbox())
    assert (verdict.status, verdict.charged_ms) == (VerdictStatus.ACCEPTED, 600)


def test_what_is_used_of_the_grace_is_gone() -> None:
    clock = SeatClock(replace(PLAIN, grace_ms=4_000))
    clock.start(0, 1_000)
    clock.away(0)
    clock.back(3_000)
    assert clock.stop(3_000) == 0
    clock.start(10_000, 1_000)
    clock.away(10_500)
    assert clock.deadline_ms == 10_000 + 1_000 + 100 + 1_000
    assert clock.stop(12_100) == 1_000
    clock.start(20_000, 1_000)  # away still, and no grace left
    assert clock.deadline_ms == 21_100


def test_an_absence_between_decisions_costs_no_grace() -> None:
    clock = SeatClock(replace(PLAIN, grace_ms=4_000))
    ran(clock, 0, 10, 1_000)
    clock.away(100)
    clock.back(90_000)
    clock.start(100_000, 1_000)
    clock.away(100_000)
    assert clock.deadline_ms == 105_100


def test_a_seat_that_stays_away_times_out_when_grace_and_clock_are_up() -> None:
    machine, messages = started(replace(PLAIN, grace_ms=4_000))
    seat, _ = to_phase(machine, messages, Phase.LEAD)
    machine.seat_away(seat, 10)
    machine.handle_timer(5_109)
    assert machine.deal.to_act == seat
    machine.handle_timer(5_110)
    assert machine.deal.to_act == seat.next


@pytest.mark.parametrize("absent", ["seat_away", "seat_absent", "seat_lost"])
def test_a_bot_that_was_away_before_it_was_ready_is_timed_as_any_other(absent: str) -> None:
    machine = TableMachine(spec(replace(PLAIN, grace_ms=4_000)), 0)
    for seat in SEATS:
        getattr(machine, absent)(seat, 5)
        machine.receive_ready(seat, 10)
    _, decision = to_phase(machine, machine.outbox(), Phase.LEAD)
    assert decision.time_left_ms == 1_000


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("away_at", [None, 0, 700])
def test_a_timer_that_fires_late_costs_the_seat_nothing(name: str, away_at: int | None) -> None:
    books = []
    for late in (0, 5_000):
        clock = SeatClock(replace(MODES[name], grace_ms=2_000))
        clock.start(0, 1_000)
        if away_at is not None:
            clock.away(away_at)
        assert clock.deadline_ms is not None
        charged = clock.stop(clock.deadline_ms + late)
        clock.start(1_000_000, 1_000)
        books.append((charged, clock.bank_ms, clock.periods, clock.deadline_ms))
    assert books[0] == books[1]


def presence(messages: list[Message]) -> list[tuple[Seat, Seat, bool]]:
    """Who was told what of whom."""
    return [
        (m.seat, n.event.seat, n.event.connected)
        for m in messages
        if isinstance(m, Update)
        for n in m.events
        if isinstance(n.event, PresenceChanged)
    ]


def test_the_other_seats_are_told_who_went_and_who_is_back() -> None:
    machine, messages = started(replace(PLAIN, play_ms=60_000))
    to_phase(machine, messages, Phase.LEAD)
    machine.seat_away(Seat.S2, 100)
    machine.handle_timer(1_099)
    assert presence(machine.outbox()) == []
    machine.handle_timer(1_100)
    others = [Seat.S0, Seat.S1, Seat.S3]
    assert presence(machine.outbox()) == [(other, Seat.S2, False) for other in others]
    machine.seat_back(Seat.S2, 3_000)
    machine.handle_timer(4_000)
    assert presence(machine.outbox()) == [(other, Seat.S2, True) for other in others]


def test_a_bot_that_flaps_is_not_worth_a_word() -> None:
    machine, messages = started(replace(PLAIN, play_ms=60_000))
    to_phase(machine, messages, Phase.LEAD)
    for at in range(100, 1_000, 10):
        machine.seat_away(Seat.S2, at)
        machine.seat_back(Seat.S2, at + 5)
    machine.handle_timer(2_000)
    assert presence(machine.outbox()) == []


# ---- nobody there, nobody counting


def test_a_seat_whose_bot_was_given_up_is_not_waited_for() -> None:
    machine = TableMachine(spec(PLAIN), 0)
    for seat in SEATS[:3]:
        machine.receive_ready(seat, 5)
    machine.seat_absent(Seat.S3, 5)
    messages = played_out(machine, machine.outbox(), 5)
    assert machine.result is not None
    assert machine.result.faults == {Seat.S3: {"not_ready": 1}}
    assert (Seat.S0, Seat.S3, False) not in presence(messages)  # the table was over before a second was


def test_an_untimed_decision_waits_for_ever_and_charges_what_it_took() -> None:
    machine, messages = started(replace(PLAIN, untimed=True))
    seat, decision = to_phase(machine, messages, Phase.LEAD)
    assert (decision.time_left_ms, decision.bank_left_ms) == (0, 0)
    machine.handle_timer(10**9)
    assert machine.next_timer() is None
    machine.receive_answer(seat, decision.decision, default(machine, seat), 10**9)
    [verdict] = verdicts(machine.outbox())
    assert (verdict.status, verdict.charged_ms) == (VerdictStatus.ACCEPTED, 10**9 - 10 - 100)


def test_getting_ready_is_timed_even_if_decisions_are_not() -> None:
    machine = TableMachine(spec(replace(PLAIN, untimed=True)), 0)
    assert machine.next_timer() == 2_000


@pytest.mark.situation("T3")
def test_t3_late_doubled_and_early_answers_are_counted_and_are_no_faults() -> None:
    machine, messages = started(PLAIN)
    seat, decision = to_phase(machine, messages, Phase.LEAD)
    machine.handle_timer(1_110)
    _, next_decision = asked(machine.outbox())
    machine.receive_answer(seat, decision.decision, default(machine, seat), 1_200)
    [late] = verdicts(machine.outbox())
    assert (late.status, late.reason) == (VerdictStatus.TOO_LATE, "STALE_DECISION")
    assert late.metadata == {"decision": str(decision.decision)}
    following = seat.next
    action = default(machine, following)
    machine.receive_answer(following, next_decision.decision + 1, action, 1_300)  # before it is asked
    [early] = verdicts(machine.outbox())
    assert (early.status, early.reason) == (VerdictStatus.STALE, "STALE_DECISION")
    open_now = {"decision": str(next_decision.decision + 1), "open": str(next_decision.decision)}
    assert early.metadata == open_now
    for _ in range(2):
        machine.receive_answer(following, next_decision.decision, action, 1_400)
    messages = machine.outbox()
    assert [v.status for v in verdicts(messages)] == [VerdictStatus.ACCEPTED, VerdictStatus.DUPLICATE]
    played_out(machine, messages, 1_400)
    assert machine.result is not None
    assert machine.result.strays == {seat: {"late": 1}, following: {"stale": 1, "duplicate": 1}}
    assert machine.result.faults == {seat: {"timeout": 1}}
