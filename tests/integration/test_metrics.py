"""What the host counts, beyond decisions and faults."""

import asyncio
import contextlib
import io
import json
from typing import Any

import grpc
import pytest
import structlog
from chaodipi.engine.cards import Seat
from chaodipi.service.logs import configure_logs
from chaodipi.service.match.table import TimeControl
from chaodipi.service.metrics import Metrics
from chaodipi.v1 import bot_pb2, bot_pb2_grpc, cards_pb2, session_pb2

from tests.support.raw_client import NAMES, Client, hosting, seated, table


def value(host: Any, name: str, **labels: str) -> float:
    return host.metrics.registry.get_sample_value(f"chaodipi_{name}", labels) or 0.0


async def test_calls_are_counted_by_method_and_reason() -> None:
    async with hosting() as (host, port), grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        system: Any = bot_pb2_grpc.SystemServiceStub(channel)
        await system.WhoAmI(bot_pb2.WhoAmIRequest(), metadata=(("authorization", "Bearer token-ant"),))
        with contextlib.suppress(grpc.aio.AioRpcError):
            await system.WhoAmI(bot_pb2.WhoAmIRequest())
        assert value(host, "calls_total", method="SystemService/WhoAmI", reason="OK") == 1
        assert value(host, "calls_total", method="SystemService/WhoAmI", reason="TOKEN_MISSING") == 1


async def test_a_seat_that_goes_on_in_a_new_session_is_counted() -> None:
    async with hosting(resume_window_s=30) as (host, port), seated(port, NAMES[1:]) as clients:
        first = Client(port, "ant")
        first.silent = True
        running = asyncio.create_task(first.run())
        await host.wait_for_bots(NAMES, 10)
        playing = asyncio.create_task(host.play_table(table()))
        await asyncio.wait_for(first.asked.wait(), 10)
        await first.close()
        await asyncio.gather(running, return_exceptions=True)
        second = Client(port, "ant", before=first)
        again = asyncio.create_task(second.run())
        result = await asyncio.wait_for(playing, 30)
        await second.close()
        await asyncio.gather(again, return_exceptions=True)
        assert result.how == "played"
        assert value(host, "resumes_total", bot="ant") >= 1
        assert clients["bee"].ended


async def test_a_late_answer_is_counted() -> None:
    async with hosting() as (host, port), seated(port) as clients:
        clients["bee"].silent = True
        await host.wait_for_bots(NAMES, 10)
        clock = TimeControl(play_ms=50, bury_ms=50, attempts=100, max_faults=0)
        playing = asyncio.create_task(host.play_table(table(time=clock)))
        bee = clients["bee"]
        await asyncio.wait_for(bee.asked.wait(), 20)

        while value(host, "late_answers_total", bot="bee") == 0 and not playing.done():
            await bee.send_answer(session_pb2.Answer(channel=1, decision_id=1))
            await asyncio.sleep(0.02)
        assert value(host, "late_answers_total", bot="bee") >= 1
        result = await asyncio.wait_for(playing, 60)
        assert result.faults.keys() == {Seat.S1}


async def test_answers_that_are_not_asked_for_are_counted_by_kind() -> None:
    """One that is doubled and one to a decision that never was; late ones are no strays."""
    async with hosting() as (host, port), seated(port) as clients:
        bee = clients["bee"]
        bee.silent = True
        await host.wait_for_bots(NAMES, 10)
        playing = asyncio.create_task(host.play_table(table()))
        await asyncio.wait_for(bee.asked.wait(), 20)
        await bee.send_answer(session_pb2.Answer(channel=1, decision_id=999))
        await bee.go_on()
        doubled = session_pb2.Answer(channel=1, decision_id=1)
        await bee.send_answer(doubled)
        result = await asyncio.wait_for(playing, 60)
        strays = {
            kind: int(value(host, "stray_answers_total", bot="bee", kind=kind)) for kind in ("duplicate", "stale")
        }
        assert strays["stale"] >= 1
        assert sum(strays.values()) == 2
        assert (value(host, "late_answers_total", bot="bee"), result.faults) == (0, {})


async def test_what_a_played_table_counts_and_that_no_label_names_it() -> None:
    """Every decision with its time, frames and messages both ways, how it ended; labels of few values only."""
    async with hosting() as (host, port), seated(port) as clients:
        await host.wait_for_bots(NAMES, 10)
        playing = asyncio.create_task(host.play_table(table("secret-table/7")))
        await asyncio.wait_for(clients["ant"].asked.wait(), 20)
        assert value(host, "tables_in_flight") == 1
        result = await asyncio.wait_for(playing, 60)
        assert value(host, "tables_in_flight") == 0
        assert value(host, "tables_total", ending="played") == 1
        samples = [sample for family in host.metrics.registry.collect() for sample in family.samples]
        for name in ("decisions_total", "decision_seconds_count"):
            assert sum(s.value for s in samples if s.name == f"chaodipi_{name}") == len(result.decisions)
        for direction in ("in", "out"):
            frames = value(host, "frames_total", direction=direction)
            assert 0 < frames <= value(host, "messages_total", direction=direction)
        sessions = {session.id for sessions in host._sessions.values() for session in sessions}
        for sample in samples:
            assert sample.labels.keys() <= {"bot", "phase", "kind", "ending", "direction", "method", "reason", "le"}
            assert "secret-table/7" not in sample.labels.values()
            assert sessions.isdisjoint(sample.labels.values())


async def test_the_loop_and_the_queues_are_watched() -> None:
    async with hosting(ping_interval_ms=50) as (host, port), seated(port):
        await host.wait_for_bots(NAMES, 10)
        while not value(host, "loop_lag_seconds_count"):
            await asyncio.sleep(0.01)
        assert value(host, "queued_bytes") >= 0
        while host.metrics.registry.get_sample_value("chaodipi_bot_loop_lag_seconds", {"bot": "ant"}) != 0:
            await asyncio.sleep(0.01)
        assert value(host, "sessions") == 4


async def test_faults_are_in_the_log_with_table_deal_seat_and_decision_when_their_table_is_over() -> None:
    """One line a fault, as many as the table counts; all else that the log says of the table comes before or after."""
    stream = io.StringIO()
    before = structlog.get_config()
    try:
        configure_logs("info", stream)
        async with hosting() as (host, port), seated(port) as clients:
            wrong = cards_pb2.Action(play=cards_pb2.Play(cards=[cards_pb2.CARD_BIG_JOKER] * 39))
            clients["bee"].answer = lambda _decision: wrong
            await host.wait_for_bots(NAMES, 10)
            clock = TimeControl(attempts=1, max_faults=3)
            result = await asyncio.wait_for(host.play_table(table(time=clock)), 60)
    finally:
        structlog.configure(**before)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    faults = [line for line in lines if line["event"] == "fault"]
    assert {"t/1"} == {line["table"] for line in faults}
    assert [(line["seat"], line["bot"], line["kind"]) for line in faults] == [(1, "bee", "illegal")] * 3
    assert [line["decision"] for line in faults] == [1, 2, 3]
    assert {line["deal"] for line in faults} <= {1, 2, 3, 4}
    assert result.faults == {1: {"illegal": 3}}
    assert [line["event"] for line in lines if line.get("table") == "t/1"] == [
        "table_started",
        *["fault"] * 3,
        "table_over",
    ]


@pytest.mark.parametrize("level", ["info", "debug"])
async def test_at_debug_each_decision_is_in_the_log_when_its_table_is_over(level: str) -> None:
    """With table, deal, seat and decision, and without its cards; at info there is none."""
    stream = io.StringIO()
    before = structlog.get_config()
    try:
        configure_logs(level, stream)
        async with hosting() as (host, port), seated(port) as clients:
            clients["cat"].answer = lambda _decision: cards_pb2.Action(passing=cards_pb2.Pass())
            await host.wait_for_bots(NAMES, 10)
            playing = host.play_table(table(time=TimeControl(attempts=1, max_faults=3)))
            result = await asyncio.wait_for(playing, 60)
    finally:
        structlog.configure(**before)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    told = [line for line in lines if line["event"] == "decision"]
    if level == "info":
        assert told == []
        return
    assert [line["event"] for line in lines if line.get("table") == "t/1"][:2] == ["table_started", "decision"]
    assert [(line["table"], line["seat"], line["deal"], line["fault"], line["kind"]) for line in told] == [
        ("t/1", made.seat, made.redeals + 1, made.fault, made.action.kind.name.lower()) for made in result.decisions
    ]
    for seat in range(4):
        numbers = [line["decision"] for line in told if line["seat"] == seat]
        assert numbers == list(range(1, len(numbers) + 1))
    # In place of the last one nothing was played: it forfeited the table.
    assert [line["decision"] for line in told if line["fault"]] == [
        line["decision"] for line in lines if line["event"] == "fault"
    ][:-1]
    assert {key for line in told for key in line} == {
        *("table", "deal", "seat", "bot", "decision", "kind", "think_ms", "fault"),
        *("event", "level", "timestamp"),
    }


def test_what_an_alert_waits_for_is_0_before_it_happens() -> None:
    """A counter that first appears with 1 has not risen for who reads it, so the first fault would wake nobody."""
    text = Metrics().text()
    for name in ('tables_total{ending="host_fault"}', "failed_saves_total", "flagged_pairs_total", "reruns_total"):
        assert f"chaodipi_{name} 0.0" in text
