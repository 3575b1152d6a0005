"""The host over a real socket, with raw clients that know nothing but the protocol."""

import asyncio
import io
import json
import urllib.request
from typing import Any

import grpc
import pytest
import structlog
from chaodipi.engine.actions import Action
from chaodipi.engine.cards import Seat
from chaodipi.engine.setup import Setup
from chaodipi.sdk.baselines.greedy import GreedyBot
from chaodipi.sdk.session import Session
from chaodipi.service.host.errors import HostError
from chaodipi.service.host.host import Host
from chaodipi.service.host.identity import hash_token
from chaodipi.service.logs import configure_logs
from chaodipi.service.match.machine import TableMachine
from chaodipi.service.match.table import TableSpec, TimeControl
from chaodipi.service.metrics import serve_metrics
from chaodipi.service.rpc.gate import RIGHTS
from chaodipi.service.rpc.server import start_server
from chaodipi.v1 import (
    bot_pb2,
    bot_pb2_grpc,
    cards_pb2,
    match_pb2,
    rules_pb2,
    rules_pb2_grpc,
    session_pb2,
    session_pb2_grpc,
)
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.support.raw_client import CLOCK, NAMES, RULES, Client, hosting, seated, table


async def test_a_table_is_played_over_a_socket() -> None:
    async with hosting() as (host, port), seated(port) as clients:
        await host.wait_for_bots(NAMES, 10)
        result = await asyncio.wait_for(host.play_table(table()), 20)
        await asyncio.sleep(0.1)
        assert result.how == "played"
        assert result.faults == {}
        assert result.settlement is not None
        assert host.tables_in_flight == 0
        for client in clients.values():
            assert [e.result.deals[0].score for e in client.ended] == [result.score]
            assert {r.status for r in client.results} == {session_pb2.AnswerResult.STATUS_ACCEPTED}
            [(_, view)] = client.seats.values()
            assert view.end is not None
            assert client.assigned[0].match.ruleset_digest == RULES.digest


async def test_many_tables_at_once_on_one_session() -> None:
    async with hosting() as (host, port), seated(port, max_tables=8):
        await host.wait_for_bots(NAMES, 10)
        tables = [host.play_table(table(f"t/{i}", seed=i)) for i in range(20)]
        results = await asyncio.wait_for(asyncio.gather(*tables), 60)
        assert [r.how for r in results] == ["played"] * 20
        assert not any(r.faults for r in results)
        text = host.metrics.registry.get_sample_value("chaodipi_tables_total", {"ending": "played"})
        assert text == 20


async def test_a_bot_may_hold_all_four_seats() -> None:
    async with hosting() as (host, port), seated(port, ("ant",)) as clients:
        await host.wait_for_bots(["ant"], 10)
        result = await asyncio.wait_for(host.play_table(table(bots=("ant",) * 4)), 20)
        assert result.how == "played"
        assert len(clients["ant"].assigned) == 4


async def test_a_bad_token_is_refused() -> None:
    async with hosting() as (_, port):
        for token, reason in (("token-eel", "TOKEN_INVALID"), ("", "TOKEN_MISSING")):
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                call: Any = session_pb2_grpc.BotSessionServiceStub(channel).OpenSession(
                    metadata=(("authorization", f"Bearer {token}"),)
                )
                hello = session_pb2.ClientMessage(hello=session_pb2.Hello())
                await call.write(session_pb2.OpenSessionRequest(messages=[hello]))
                assert await call.code() == grpc.StatusCode.UNAUTHENTICATED
                assert (await call.details()).startswith(f"{reason}: ")
                assert reason.encode() in dict(await call.trailing_metadata())["grpc-status-details-bin"]


async def test_hello_must_come_first() -> None:
    async with hosting() as (_, port), grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        call: Any = session_pb2_grpc.BotSessionServiceStub(channel).OpenSession(
            metadata=(("authorization", "Bearer token-ant"),)
        )
        ping = session_pb2.ClientMessage(ping=session_pb2.Ping(nonce=1))
        await call.write(session_pb2.OpenSessionRequest(messages=[ping]))
        assert await call.code() == grpc.StatusCode.FAILED_PRECONDITION
        assert "HELLO_REQUIRED" in await call.details()


@pytest.mark.situation("T4")
async def test_an_illegal_answer_is_asked_again_then_replaced() -> None:
    def wrong(decision: Any) -> cards_pb2.Action | None:
        if decision.phase in (cards_pb2.PHASE_LEAD, cards_pb2.PHASE_FOLLOW):
            return cards_pb2.Action(passing=cards_pb2.Pass())
        return None

    async with hosting() as (host, port), seated(port) as clients:
        clients["bee"].answer = wrong
        await host.wait_for_bots(NAMES, 10)
        time = TimeControl(attempts=2, max_faults=3)
        result = await asyncio.wait_for(host.play_table(table(time=time)), 20)
        await asyncio.sleep(0.1)
        statuses = [r for r in clients["bee"].results if r.status != session_pb2.AnswerResult.STATUS_ACCEPTED]
        assert [r.status for r in statuses] == [3, 4, 3, 4, 3, 4]
        assert statuses[0].problem.reason == "WRONG_ACTION_KIND"
        assert statuses[0].attempts_left == 1
        assert statuses[1].applied.WhichOneof("kind") == "play"
        assert not statuses[-1].HasField("applied")
        assert (result.how, result.forfeiting_seat) == ("forfeit", Seat.S1)
        assert result.faults == {Seat.S1: {"illegal": 3}}
        value = host.metrics.registry.get_sample_value
        assert value("chaodipi_faults_total", {"bot": "bee", "kind": "illegal"}) == 3
        assert value("chaodipi_tables_total", {"ending": "forfeit"}) == 1
        accepted = sum(not record.by_host for record in result.decisions)
        phases = ("declare", "stir", "bury", "lead", "follow")
        counts = [value("chaodipi_decisions_total", {"bot": b, "phase": p}) or 0 for b in NAMES for p in phases]
        assert sum(counts) == accepted
        for client in clients.values():
            [ended] = client.ended
            assert ended.result.end_reason == match_pb2.MatchResult.END_REASON_FORFEIT
            assert (ended.result.forfeiting_seat, ended.result.winner) == (cards_pb2.SEAT_1, cards_pb2.SIDE_02)


async def test_a_timeout_is_defaulted() -> None:
    async with hosting() as (host, port), seated(port) as clients:
        clients["cat"].silent = True
        await host.wait_for_bots(NAMES, 10)
        time = TimeControl(play_ms=20, bury_ms=20, max_faults=0)
        result = await asyncio.wait_for(host.play_table(table(time=time)), 20)
        assert result.how == "played"
        # A clock as short as that may be too short for the others too, on a busy machine.
        cats = [record for record in result.decisions if record.seat == Seat.S2]
        assert {record.fault for record in cats} == {"timeout"}
        assert result.faults[Seat.S2] == {"timeout": len(cats)}


@pytest.mark.situation("g")
async def test_a_bot_that_never_comes_is_played_by_default_actions() -> None:
    async with hosting() as (host, port), seated(port, NAMES[:3]):
        await host.wait_for_bots(NAMES[:3], 10)
        result = await asyncio.wait_for(host.play_table(table(time=TimeControl(ready_ms=200))), 20)
        assert result.how == "played"
        assert result.faults == {Seat.S3: {"not_ready": 1}}
        with pytest.raises(HostError, match="dog"):
            await host.wait_for_bots(NAMES, 0.05)


@pytest.mark.situation("T1")
async def test_a_killed_bot_comes_back_and_goes_on() -> None:
    async with hosting(resume_window_s=10.0) as (host, port), seated(port, NAMES[:3]):
        first = Client(port, "dog")
        first.silent = True
        task = asyncio.create_task(first.run())
        await host.wait_for_bots(NAMES, 10)
        playing = asyncio.create_task(host.play_table(table()))
        await asyncio.wait_for(first.asked.wait(), 10)
        await first.close()
        await asyncio.gather(task, return_exceptions=True)
        async with seated(port, ("dog",)) as again:
            result = await asyncio.wait_for(playing, 20)
            assert again["dog"].assigned[0].resumed
        assert result.how == "played"
        assert result.faults == {}


async def test_a_newer_session_of_an_instance_takes_over() -> None:
    async with hosting() as (host, port):
        old = Client(port, "ant", instance="one")
        task = asyncio.create_task(old.run())
        await host.wait_for_bots(["ant"], 10)
        async with seated(port, ("ant",), instance="one"):
            with pytest.raises(grpc.aio.AioRpcError) as ended:
                await asyncio.wait_for(task, 10)
            assert ended.value.code() == grpc.StatusCode.ABORTED
            assert "SESSION_REPLACED" in (ended.value.details() or "")
        await old.close()


async def test_a_setup_that_fails_is_a_host_fault_and_the_others_go_on() -> None:
    def broken(redeals: int) -> Setup:
        raise RuntimeError("no cards")

    async with hosting() as (host, port), seated(port):
        await host.wait_for_bots(NAMES, 10)
        bad = TableSpec("t/bad", RULES, broken, NAMES)
        results = await asyncio.wait_for(asyncio.gather(host.play_table(bad), host.play_table(table())), 20)
        assert [r.how for r in results] == ["host_fault", "played"]


async def test_stopping_ends_tables_as_host_faults_and_sessions_in_order() -> None:
    host = Host({name: hash_token(f"token-{name}") for name in NAMES})
    server, port = await start_server(host)
    clients = [Client(port, name) for name in NAMES]
    for client in clients:
        client.silent = True
    tasks = [asyncio.create_task(client.run()) for client in clients]
    await host.wait_for_bots(NAMES, 10)
    playing = asyncio.create_task(host.play_table(table()))
    await asyncio.sleep(0.2)
    await host.stop(0.1)
    await server.stop(1)
    assert (await playing).how == "host_fault"
    await asyncio.wait_for(asyncio.gather(*tasks), 5)  # the streams ended with OK
    with pytest.raises(HostError, match="stopping"):
        await host.play_table(table("t/2"))
    for client in clients:
        await client.close()


async def test_health_says_not_serving_while_the_host_drains() -> None:
    """A balancer must send nobody to a host that refuses new sessions, while tables in flight go on."""
    services = ["", *sorted({method.split("/")[1] for method in RIGHTS if method.startswith("/chaodipi.")})]
    async with hosting() as (host, port), seated(port) as clients:
        clients["dog"].silent = True
        await host.wait_for_bots(NAMES, 10)
        playing = asyncio.create_task(host.play_table(table()))
        await asyncio.wait_for(clients["dog"].asked.wait(), 10)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            health: Any = health_pb2_grpc.HealthStub(channel)

            async def states() -> list[int]:
                answers = [await health.Check(health_pb2.HealthCheckRequest(service=name)) for name in services]
                return [answer.status for answer in answers]

            watch = health.Watch(health_pb2.HealthCheckRequest(service=services[1]))
            assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
            assert await states() == [health_pb2.HealthCheckResponse.SERVING] * len(services)
            draining = asyncio.create_task(host.drain(60))
            assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
            assert await states() == [health_pb2.HealthCheckResponse.NOT_SERVING] * len(services)
            assert not playing.done()
            watch.cancel()
            draining.cancel()
        playing.cancel()
        await asyncio.gather(draining, playing, return_exceptions=True)


async def test_a_port_in_use_is_said_so() -> None:
    async with hosting() as (_, port):
        with pytest.raises(HostError, match=f"port {port} is in use"):
            await start_server(Host(), f"127.0.0.1:{port}")


async def test_unary_services_answer() -> None:
    bearer = (("authorization", "Bearer token-ant"),)
    async with hosting() as (_, port), grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        system: Any = bot_pb2_grpc.SystemServiceStub(channel)
        info = await system.GetServerInfo(bot_pb2.GetServerInfoRequest())
        assert info.ruleset_digests["huanle_2"] == RULES.digest
        me = await system.WhoAmI(bot_pb2.WhoAmIRequest(), metadata=bearer)
        assert me.principal == "bots/ant"
        rules: Any = rules_pb2_grpc.RulesServiceStub(channel)
        listed = await rules.ListRulesets(rules_pb2.ListRulesetsRequest(), metadata=bearer)
        assert "rulesets/huanle_2" in [r.name for r in listed.rulesets]
        judged = await rules.Judge(rules_pb2.JudgeRequest(question_json="{}"), metadata=bearer)
        assert judged.answer_json.startswith("{")
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await rules.Judge(rules_pb2.JudgeRequest(question_json="no"), metadata=bearer)
        assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.situation("T7")
async def test_a_table_that_fails_ends_as_a_host_fault_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = TableMachine.receive_answer

    def failing(machine: TableMachine, seat: Seat, decision: int, action: Action, now: int) -> None:
        if machine.spec.table_id == "t/bad" and decision == 5:
            raise RuntimeError("a bug of ours")
        whole(machine, seat, decision, action, now)

    monkeypatch.setattr(TableMachine, "receive_answer", failing)
    async with hosting() as (host, port), seated(port) as clients:
        await host.wait_for_bots(NAMES, 10)
        both = asyncio.gather(host.play_table(table("t/bad")), host.play_table(table()))
        results = await asyncio.wait_for(both, 20)
        assert [r.how for r in results] == ["host_fault", "played"]
        await asyncio.sleep(0.1)
        reasons = {ended.result.end_reason for ended in clients["ant"].ended}
        assert reasons == {match_pb2.MatchResult.END_REASON_HOST_FAULT, match_pb2.MatchResult.END_REASON_COMPLETED}


async def test_a_seat_that_is_left_is_played_on() -> None:
    async with hosting() as (host, port), seated(port) as clients:
        clients["dog"].silent = True
        await host.wait_for_bots(NAMES, 10)
        playing = asyncio.create_task(host.play_table(table()))
        await asyncio.wait_for(clients["dog"].asked.wait(), 10)
        await clients["dog"].leave(1)
        result = await asyncio.wait_for(playing, 20)
        assert result.how == "played"
        assert result.faults == {Seat.S3: {"disconnected": 1}}


async def test_a_bot_that_stays_away_is_played_on_after_the_resume_window() -> None:
    async with hosting(resume_window_s=0.2) as (host, port), seated(port) as clients:
        clients["dog"].silent = True
        await host.wait_for_bots(NAMES, 10)
        playing = asyncio.create_task(host.play_table(table()))
        await asyncio.wait_for(clients["dog"].asked.wait(), 10)
        await clients["dog"].close()
        result = await asyncio.wait_for(playing, 20)
        assert result.faults == {Seat.S3: {"disconnected": 1}}


async def test_every_answer_gets_a_verdict_even_on_a_channel_that_is_not_open() -> None:
    async with hosting() as (host, port), seated(port, ("ant",)) as clients:
        await host.wait_for_bots(["ant"], 10)
        await clients["ant"].send_answer(session_pb2.Answer(channel=77, decision_id=3))
        async with asyncio.timeout(5):
            while not clients["ant"].results:
                await asyncio.sleep(0.01)
        [result] = clients["ant"].results
        assert (result.channel, result.decision_id, result.status) == (77, 3, 6)
        assert result.problem.reason == "CHANNEL_UNKNOWN"


@pytest.mark.situation("T7")
async def test_metrics_are_served_on_their_own_port() -> None:
    async with hosting() as (host, port), seated(port):
        await host.wait_for_bots(NAMES, 10)
        await asyncio.wait_for(host.play_table(table()), 20)
        metrics_port, stop = serve_metrics(host.metrics, 0)
        with pytest.raises(HostError, match=f"port {metrics_port} is in use"):
            serve_metrics(host.metrics, metrics_port)
        page = await asyncio.to_thread(_read, f"http://127.0.0.1:{metrics_port}/metrics")
        stop()
        assert 'chaodipi_tables_total{ending="played"} 1.0' in page
        assert "chaodipi_sessions 4.0" in page
        assert "chaodipi_tables_in_flight 0.0" in page
        assert 'chaodipi_decisions_total{bot="ant",phase="follow"}' in page


def _read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as page:
        return bytes(page.read()).decode()


def test_logs_are_json_lines_without_secrets() -> None:
    stream = io.StringIO()
    before = structlog.get_config()
    try:
        configure_logs("info", stream)
        structlog.get_logger("test").info("seat_lost", seat=1, token="abc", cards="H5 H5")
        structlog.get_logger("test").debug("not_written")
    finally:
        structlog.configure(**before)
    [line] = stream.getvalue().splitlines()
    entry = json.loads(line)
    assert (entry["event"], entry["seat"], entry["level"]) == ("seat_lost", 1, "info")
    assert "abc" not in line
    assert "H5" not in line


def test_the_trace_of_an_error_has_no_values_in_it() -> None:
    """What a function holds when it fails may be a hand or a token."""
    stream = io.StringIO()
    before = structlog.get_config()
    try:
        configure_logs("info", stream)
        secret = "".join(("H5 ", "S9"))
        try:
            int("x" * len(secret))
        except ValueError:
            structlog.get_logger("test").exception("failed")
    finally:
        structlog.configure(**before)
    entry = json.loads(stream.getvalue())
    assert entry["exception"][0]["exc_type"] == "ValueError"
    assert "test_host.py" in stream.getvalue()
    assert secret not in stream.getvalue()


async def test_busy_bots_are_waited_for() -> None:
    async with hosting() as (host, port), seated(port, max_tables=1) as clients:
        await host.wait_for_bots(NAMES, 10)
        time = TimeControl(ready_ms=1)
        tables = [host.play_table(table(f"t/{i}", time=time if i else CLOCK)) for i in range(3)]
        results = await asyncio.wait_for(asyncio.gather(*tables), 30)
        assert {r.how for r in results} <= {"played", "no_declaration"}  # who comes late does not declare
        await asyncio.sleep(0.1)
        assert len(clients["ant"].ended) == 3


async def test_bots_of_the_sdk_play() -> None:
    async with hosting() as (host, port):
        sessions = [Session(GreedyBot, f"127.0.0.1:{port}", f"token-{name}") for name in NAMES]
        tasks = [asyncio.create_task(session.run()) for session in sessions]
        await host.wait_for_bots(NAMES, 10)
        playing = [asyncio.create_task(host.play_table(table(f"t/{i}", seed=i))) for i in range(8)]
        results = await asyncio.wait_for(asyncio.gather(*playing), 60)
        assert {r.how for r in results} == {"played"}
        assert not any(r.faults for r in results)
        for session in sessions:
            assert session.defaults == 0
            session.stop()
        await asyncio.gather(*tasks)


async def test_a_cursor_brings_only_the_events_that_were_missed() -> None:
    async with hosting() as (host, port), seated(port, NAMES[:3]):
        first = Client(port, "dog")
        first.silent = True
        task = asyncio.create_task(first.run())
        await host.wait_for_bots(NAMES, 10)
        playing = asyncio.create_task(host.play_table(table()))
        await asyncio.wait_for(first.asked.wait(), 10)
        await asyncio.sleep(0.1)
        await first.close()
        await asyncio.gather(task, return_exceptions=True)
        async with seated(port, ("dog",), before=first) as again:
            result = await asyncio.wait_for(playing, 20)
            assert again["dog"].assigned[0].resumed
            assert again["dog"].firsts == [first.seqs[1] + 1]
        assert result.faults == {}


@pytest.mark.parametrize("decisions", [1, 8, 20])
async def test_a_bot_that_trusts_nothing_it_was_told_gets_a_snapshot_in_its_place(decisions: int) -> None:
    """It makes the same view as all events did, is followed by the next event, and the decision is asked again."""
    async with hosting() as (host, port), seated(port, NAMES[:3]), asyncio.timeout(60):
        dog = Client(port, "dog")

        def quiet_from_then_on(request: Any) -> None:
            dog.silent = request.decision_id + 1 >= decisions

        dog.silent, dog.answer = decisions == 1, quiet_from_then_on
        task = asyncio.create_task(dog.run())
        await host.wait_for_bots(NAMES, 10)
        playing = asyncio.create_task(host.play_table(table()))
        while not dog._unanswered:
            await asyncio.sleep(0.01)
        asked = dog._unanswered.pop()
        (seat, before), seq = dog.seats[1], dog.seqs[1]
        await dog.resync(1, 0)
        while not dog._unanswered:
            await asyncio.sleep(0.01)
        [snapshot] = dog.snapshots
        # Presence and faults are numbered too and may have come meanwhile.
        assert snapshot.seq >= seq
        assert dog.seats[1] == (seat, before)
        again = dog._unanswered[0]
        assert not again.events
        assert again.decision.decision_id == asked.decision.decision_id
        dog.answer = None
        await dog.go_on()
        result = await playing
        assert (result.how, result.faults) == ("played", {})
        while not dog.ended:
            await asyncio.sleep(0.01)
        assert dog.seats[1][1].end is not None
        await dog.close()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("token", [True, False], ids=["resume token", "cursor only"])
async def test_nothing_is_doubled_where_the_host_has_not_noticed_that_a_stream_is_lost(token: bool) -> None:
    async with hosting() as (host, port), seated(port, NAMES[:3]):
        first = Client(port, "dog")
        first.silent = True
        task = asyncio.create_task(first.run())
        await host.wait_for_bots(NAMES, 10)
        playing = asyncio.create_task(host.play_table(table()))
        await asyncio.wait_for(first.asked.wait(), 10)
        if not token:
            assert first.welcome is not None
            first.welcome.resume_token = ""
        async with seated(port, ("dog",), before=first) as again:
            if token:
                with pytest.raises(grpc.aio.AioRpcError, match="SESSION_REPLACED"):
                    await asyncio.wait_for(task, 10)
            else:
                async with asyncio.timeout(10):
                    while host.online()["dog"] < 2:
                        await asyncio.sleep(0.01)
            await first.close()
            result = await asyncio.wait_for(playing, 30)
            assert again["dog"].firsts == [first.seqs[1] + 1]
        await asyncio.gather(task, return_exceptions=True)
        assert result.faults == {}


@pytest.mark.situation("g")
async def test_a_busy_bot_is_waited_for_even_if_another_one_never_comes() -> None:
    """Who is playing elsewhere is here: that somebody is missing is not his fault."""
    async with hosting() as (host, port), seated(port, ("bee", "cat")) as clients, seated(port, ("ant",), max_tables=1):
        await host.wait_for_bots(NAMES[:3], 10)
        clients["bee"].silent = True
        slow = TimeControl(play_ms=30, bury_ms=30, allowance_ms=0, max_faults=0)
        first = asyncio.create_task(host.play_table(table("t/1", ("ant", "bee", "cat", "bee"), slow)))
        await asyncio.wait_for(clients["bee"].asked.wait(), 10)
        hasty = TimeControl(play_ms=30, bury_ms=30, ready_ms=200, max_faults=0)
        second = await asyncio.wait_for(host.play_table(table("t/2", ("ant", "cat", "cat", "dog"), hasty)), 60)
        assert first.done()
        assert second.faults == {Seat.S3: {"not_ready": 1}}


async def test_a_bot_that_was_given_up_is_not_waited_for_until_it_comes_after_all() -> None:
    async with hosting() as (host, port), seated(port, NAMES[:3]):
        await host.wait_for_bots(NAMES[:3], 10)
        host.give_up("dog")
        patient = TimeControl(ready_ms=600_000)
        result = await asyncio.wait_for(host.play_table(table("t/1", time=patient)), 60)
        assert result.faults == {Seat.S3: {"not_ready": 1}}
        async with seated(port, ("dog",)):
            await host.wait_for_bots(NAMES, 10)
            result = await asyncio.wait_for(host.play_table(table("t/2", time=patient)), 60)
            assert result.faults == {}
