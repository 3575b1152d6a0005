"""Time over sockets: what bots are told of it, late answers (T3), and a wall clock that somebody sets (T13)."""

import asyncio
import itertools
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest
from chaodipi.sdk import Action, Bot, Decision, Session
from chaodipi.sdk.decision import default_action
from chaodipi.service.match.table import TimeControl
from chaodipi.v1 import match_pb2, seat_pb2, session_pb2

from tests.support.clocks import stepping
from tests.support.raw_client import NAMES, hosting, seated, table

HOUR_S = 3_600.0
SERVICE = Path(__file__).resolve().parents[2] / "service" / "src" / "chaodipi" / "service"


class Stepping:
    """A wall clock that somebody sets: an hour forward, then back, with every look at it."""

    def __init__(self) -> None:
        self._true = time.time
        self._steps = itertools.cycle((HOUR_S, -HOUR_S, 0.0))
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return self._true() + next(self._steps)


async def play(control: TimeControl, silent: str = "", **options: Any) -> tuple[Any, list[Any]]:
    """A table; its result, and all verdicts that the bots got."""
    async with hosting(**options) as (host, port), seated(port) as clients:
        await host.wait_for_bots(NAMES, 20)
        if silent:
            clients[silent].silent = True
        result = await asyncio.wait_for(host.play_table(table(time=control)), 120)
        await asyncio.sleep(0.05)
        return result, [verdict for client in clients.values() for verdict in client.results]


@pytest.mark.situation("T13")
async def test_t13_a_wall_clock_that_is_stepped_by_an_hour_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    calm, _ = await play(TimeControl())
    stepping = Stepping()
    monkeypatch.setattr(time, "time", stepping)
    stepped, verdicts = await play(TimeControl(), wall_clock=stepping)
    assert stepping.looks
    assert [(d.seat, d.action) for d in stepped.decisions] == [(d.seat, d.action) for d in calm.decisions]
    assert (stepped.how, stepped.faults) == ("played", {})
    assert {verdict.status for verdict in verdicts} == {session_pb2.AnswerResult.STATUS_ACCEPTED}
    assert max(verdict.charged_ms for verdict in verdicts) < HOUR_S * 1000 / 2


@pytest.mark.situation("T13", "T2")
async def test_t13_and_nobody_is_silent_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    stepping = Stepping()
    monkeypatch.setattr(time, "time", stepping)
    control = TimeControl(play_ms=30, bury_ms=30, max_faults=5)
    result, _ = await play(control, silent="bee", wall_clock=stepping)
    assert (result.how, result.faults) == ("forfeit", {1: {"timeout": 5}})


@pytest.mark.situation("T13")
def test_t13_the_time_of_day_is_read_where_it_is_listed_and_nowhere_in_play() -> None:
    readers = {
        str(path.relative_to(SERVICE))
        for path in SERVICE.rglob("*.py")
        if any(word in path.read_text() for word in ("time.time", "datetime.now", "utcnow", "from time import"))
    }
    # When tokens and certificates expire, when rows were written, and what `doctor` compares with the host's.
    assert readers == {"cli/bots.py", "cli/doctor.py", "doctor.py", "host/host.py", "store/store.py"}


@pytest.mark.situation("T13")
def test_t13_no_message_of_a_session_holds_a_time_of_day() -> None:
    """What is left is said in milliseconds; a bot's own clock may be wrong by a day."""
    for file in (seat_pb2, session_pb2):
        for message in file.DESCRIPTOR.message_types_by_name.values():
            for field in message.fields:
                assert "unix" not in field.name
                assert field.message_type is None or field.message_type.full_name != "google.protobuf.Timestamp"
    assert match_pb2.TimeControl.DESCRIPTOR.fields_by_name["per_decision"].message_type.name == "Duration"


@pytest.mark.situation("T3")
async def test_a_late_answer_is_refused_by_the_number_of_its_decision_while_the_next_one_is_open() -> None:
    """T3: the answer to one decision comes when the next one of the same seat is open, and is not played as that."""
    async with hosting() as (host, port), seated(port) as clients:
        await host.wait_for_bots(NAMES, 20)
        bee = clients["bee"]
        late: list[Any] = []
        bee.silent = True
        opened = asyncio.Queue[Any]()
        update = bee._update

        def watched(message: Any) -> Any:
            if message.HasField("decision"):
                opened.put_nowait(message)
            return update(message)

        bee._update = watched  # type: ignore[method-assign]
        control = TimeControl(play_ms=150, bury_ms=150, max_faults=0, attempts=1)
        playing = asyncio.create_task(host.play_table(table(time=control)))
        first = await asyncio.wait_for(opened.get(), 30)
        second = await asyncio.wait_for(opened.get(), 30)
        assert second.decision.decision_id == first.decision.decision_id + 1
        action = bee._first_legal(first.channel, first.decision)
        await bee.send_answer(
            session_pb2.Answer(channel=first.channel, decision_id=first.decision.decision_id, action=action)
        )
        while not late and not playing.done():
            late = [verdict for verdict in bee.results if verdict.decision_id == first.decision.decision_id]
            await asyncio.sleep(0.01)
        result = await asyncio.wait_for(playing, 120)
        value = host.metrics.registry.get_sample_value
        assert value("chaodipi_late_answers_total", {"bot": "bee"}) == 1
        assert not value("chaodipi_faults_total", {"bot": "bee", "kind": "illegal"})
    status = session_pb2.AnswerResult
    assert (late[0].status, late[0].problem.reason) == (status.STATUS_TOO_LATE, "STALE_DECISION")
    assert set(result.faults) == {1}
    assert set(result.faults[1]) == {"timeout"}
    assert result.strays == {1: {"late": 1}}
    own = [record for record in result.decisions if record.seat == 1]
    assert all(record.by_host for record in own), "none of its decisions was closed by the late answer"


@pytest.mark.situation("c")
async def test_a_bot_may_load_at_its_first_decision_and_not_at_later_ones() -> None:
    """Spare (c): an hour for the first decision is no fault; the same for the second one is."""
    control = TimeControl(play_ms=60_000, bury_ms=60_000, start_ms=7_200_000, attempts=1, max_faults=1)
    async with hosting(ping_interval_ms=0) as (host, port), seated(port) as clients:
        await host.wait_for_bots(NAMES, 60)
        bee = clients["bee"]
        with stepping() as step:
            bee.silent = True
            playing = asyncio.create_task(host.play_table(table(time=control)))
            await asyncio.wait_for(bee.asked.wait(), 60)
            [first] = bee._unanswered
            assert first.decision.time_left_ms > 7_200_000
            step(HOUR_S)
            bee.asked.clear()
            bee._unanswered.clear()
            await bee._write([bee._answer_to(first)])
            await asyncio.wait_for(bee.asked.wait(), 60)
            [second] = bee._unanswered
            assert second.decision.time_left_ms <= 60_000
            assert [verdict.status for verdict in bee.results] == [session_pb2.AnswerResult.STATUS_ACCEPTED]
            step(HOUR_S)
            result = await asyncio.wait_for(playing, 60)
    assert (result.how, result.forfeiting_seat, result.faults) == ("forfeit", 1, {1: {"timeout": 1}})


LIMITS = {
    "per decision": TimeControl(max_faults=3),
    "bank": TimeControl(bank_ms=60_000, max_faults=3),
    "a bank of a day": TimeControl(bank_ms=86_400_000, max_faults=3),
    "increment": TimeControl(play_ms=0, bury_ms=0, bank_ms=60_000, increment_ms=500, max_faults=3),
    "byo-yomi": TimeControl(play_ms=0, bury_ms=0, byoyomi_ms=5_000, byoyomi_periods=3, max_faults=3),
    "start budget": TimeControl(start_ms=60_000, max_faults=3),
    "cap": TimeControl(bank_ms=80_000, cap_ms=100_000, max_faults=3),
}


@pytest.mark.situation("T2")
@pytest.mark.parametrize("mode", LIMITS)
async def test_t2_a_bot_that_hangs_forfeits_its_table_under_every_kind_of_limit(mode: str) -> None:
    """No decision is open for longer than ten minutes, or the longest limit that somebody set."""
    control = LIMITS[mode]
    assert control.hard_cap_ms is not None
    assert control.hard_cap_ms <= max(600_000, control.cap_ms)
    async with hosting(ping_interval_ms=0) as (host, port), seated(port) as clients:
        await host.wait_for_bots(NAMES, 60)
        dog = clients["dog"]
        dog.silent = True
        with stepping() as step:
            playing = asyncio.create_task(host.play_table(table(time=control)))
            for _ in range(3):
                await asyncio.wait_for(dog.asked.wait(), 60)
                dog.asked.clear()
                assert not playing.done()
                step((control.hard_cap_ms + control.allowance_ms) / 1_000)
            result = await asyncio.wait_for(playing, 60)
        assert host.online()["dog"] == 1
    assert (result.how, result.forfeiting_seat, result.faults) == ("forfeit", 3, {3: {"timeout": 3}})


class Thinker(Bot):
    """Thinks 20 ms about everything, and notes what it is told of time."""

    told: ClassVar[dict[str, list[tuple[int, int]]]] = {}

    def decide(self, decision: Decision) -> Action:
        assert decision.time_left_ms is not None
        assert decision.bank_left_ms <= 60_000
        self.told.setdefault(str(self.seat), []).append((decision.bank_left_ms, decision.last_charged_ms))
        time.sleep(0.02)
        return default_action(decision.view, decision.seat)


@pytest.mark.situation("T13")
async def test_a_bot_is_told_what_its_bank_holds_and_what_its_last_answer_cost() -> None:
    Thinker.told = {}
    control = TimeControl(play_ms=1, bury_ms=1, bank_ms=60_000, allowance_ms=0)
    async with hosting() as (host, port):
        sessions = [Session(Thinker, f"127.0.0.1:{port}", f"token-{name}") for name in NAMES]
        tasks = [asyncio.create_task(session.run()) for session in sessions]
        await host.wait_for_bots(NAMES, 20)
        result = await asyncio.wait_for(host.play_table(table(time=control)), 120)
        for session in sessions:
            session.stop()
        await asyncio.gather(*tasks)
    assert (result.how, result.faults) == ("no_declaration", {})  # who only thinks does not declare
    assert len(Thinker.told) == 4
    for told in Thinker.told.values():
        assert told[0] == (60_000, 0)
        for (bank, _), (later, charged) in itertools.pairwise(told):
            assert charged >= 15
            assert later == bank - (charged - 1)


async def test_an_assignment_says_the_whole_time_control() -> None:
    fischer = TimeControl(play_ms=0, bury_ms=0, bank_ms=9_000, increment_ms=1_500, start_ms=2_000, cap_ms=5_000)
    byoyomi = TimeControl(byoyomi_ms=3_000, byoyomi_periods=4, grace_ms=0)
    free = TimeControl(untimed=True)
    async with hosting() as (host, port), seated(port) as clients:
        await host.wait_for_bots(NAMES, 20)
        for number, control in enumerate((fischer, byoyomi, free)):
            await asyncio.wait_for(host.play_table(table(f"t/{number}", time=control)), 60)
        said = [assigned.match.time_control for assigned in clients["ant"].assigned]
    seconds = [
        {field.name: value.ToTimedelta().total_seconds() for field, value in each.ListFields() if field.message_type}
        for each in said
    ]
    common = {"ready_timeout": 60, "network_allowance": 0.1}
    assert seconds[0] == common | {
        "per_decision": 0,
        "per_burial": 0,
        "bank": 9,
        "increment": 1.5,
        "start_budget": 2,
        "decision_cap": 5,
        "disconnect_grace": 10,
    }
    assert seconds[1] == common | {"per_decision": 15, "per_burial": 90, "byoyomi_period": 3, "decision_cap": 600}
    assert said[1].byoyomi_periods == 4
    assert seconds[2] == {"ready_timeout": 60}
    assert [each.untimed for each in said] == [False, False, True]
