"""What one token can do to everybody else by sending much, or what costs much: nothing that others would notice."""

import asyncio
import contextlib
import io
import json
from typing import Any

import grpc
import pytest
import structlog
from chaodipi.service.host.host import Host
from chaodipi.service.host.quota import Bucket, Quotas
from chaodipi.service.logs import configure_logs
from chaodipi.service.rpc import session as rpc_session
from chaodipi.v1 import rules_pb2, rules_pb2_grpc, session_pb2, session_pb2_grpc

from tests.support.raw_client import hosting

Body = dict[str, Any]
HELLO: Body = {"hello": {}}


def bearer(name: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer token-{name}"),)


@contextlib.asynccontextmanager
async def session(port: int, name: str):
    """A session of *name*, and a channel of its own."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        stream: Any = session_pb2_grpc.BotSessionServiceStub(channel).OpenSession(metadata=bearer(name))
        await stream.write(session_pb2.OpenSessionRequest(messages=[HELLO]))
        await stream.read()
        yield stream


async def ended(stream: Any) -> str:
    """Reads *stream* to its end; the reason that it was ended for, as said in band."""
    said = ""
    with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
        while (frame := await stream.read()) is not grpc.aio.EOF:
            for message in frame.messages:
                said = message.warning.reason or said
    return said


@pytest.mark.parametrize(
    ("body", "quota"),
    [
        ({"ping": {"nonce": 1}}, {"messages_s": 1_000}),
        ({"pong": {"nonce": 1}}, {"messages_s": 1_000}),
        ({"seat_ready": {"channel": 9}}, {"messages_s": 1_000}),
        ({"availability": {"max_matches": 1}}, {"messages_s": 1_000}),
        ({"resync": {"channel": 9}}, {"resyncs_s": 100}),
    ],
)
async def test_a_frame_of_thousands_ends_its_own_session_before_it_is_worked_through(body: Body, quota: Body) -> None:
    """Frames are few, messages are not: each kind is counted by itself."""
    async with (
        hosting(quotas=Quotas(**quota)) as (host, port),
        session(port, "bee") as quiet,
        session(port, "ant") as loud,
        asyncio.timeout(30),
    ):
        reading = asyncio.create_task(ended(loud))
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            for _ in range(5):
                await loud.write(session_pb2.OpenSessionRequest(messages=[body] * 1_800))
        await reading
        counted = {"method": "BotSessionService/OpenSession", "reason": "RATE_LIMITED"}
        while host.metrics.registry.get_sample_value("chaodipi_calls_total", counted) != 1:
            await asyncio.sleep(0.01)
        assert not quiet.done()
        assert host.online() == {"ant": 0, "bee": 1, "cat": 0, "dog": 0}


async def test_others_have_their_turn_while_a_long_frame_is_worked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within one frame no more than so many messages are taken in one pass of the loop."""
    passes: list[int] = [0]
    most = 0
    real = Host.receive_ready

    def counted(host: Host, of: Any, channel: int) -> None:
        nonlocal most
        passes[-1] += 1
        most = max(most, passes[-1])
        real(host, of, channel)

    monkeypatch.setattr(Host, "receive_ready", counted)

    async def turn() -> None:
        while True:
            passes.append(0)
            await asyncio.sleep(0)

    async with hosting() as (_, port), session(port, "ant") as loud, asyncio.timeout(30):
        other = asyncio.create_task(turn())
        frame = [{"seat_ready": {"channel": 9}}] * 5_000 + [{"ping": {"nonce": 4}}]
        await loud.write(session_pb2.OpenSessionRequest(messages=frame))
        assert (await loud.read()).messages[0].pong.nonce == 4
        other.cancel()
    assert sum(passes) == 5_000
    assert most <= rpc_session.MAX_AT_ONCE


async def test_a_bot_cannot_fill_the_log() -> None:
    """Whatever it sends within its quotas: a session costs its two lines."""
    log = io.StringIO()
    configure_logs("debug", log)
    try:
        async with hosting(ping_interval_ms=0) as (host, port), asyncio.timeout(30):
            async with session(port, "ant") as loud:
                late = [{"pong": {"nonce": nonce, "loop_lag_ms": 2**32 - 1}} for nonce in range(1_000)]
                noise = [{"answer": {"channel": 9}}, {"leave_match": {"channel": 9}}, {"seat_ready": {}}] * 300
                await loud.write(session_pb2.OpenSessionRequest(messages=[*late, *noise, {"ping": {"nonce": 4}}]))
                while not any(message.pong.nonce == 4 for message in (await loud.read()).messages):
                    pass
            assert host.metrics.registry.get_sample_value("chaodipi_bot_loop_lag_seconds", {"bot": "ant"}) is None
    finally:
        structlog.reset_defaults()
    events = [json.loads(line)["event"] for line in log.getvalue().splitlines()]
    assert [event for event in events if event not in ("session_opened", "session_closed")] == []
    assert len(events) <= 2


async def test_sessions_cannot_be_opened_without_end() -> None:
    """A storm of sessions is refused with the time to wait; the quota counts them when they are begun, not by Hello."""
    async with (
        hosting(quotas=Quotas(sessions=3, opens_s=1)) as (_, port),
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
        asyncio.timeout(30),
    ):
        stub: Any = session_pb2_grpc.BotSessionServiceStub(channel)
        silent = [stub.OpenSession(metadata=bearer("ant")) for _ in range(3)]
        for stream in silent:
            await stream.wait_for_connection()
        while True:
            stream = stub.OpenSession(metadata=bearer("ant"))
            try:
                await stream.write(session_pb2.OpenSessionRequest(messages=[HELLO]))
                await stream.read()
            except grpc.aio.AioRpcError as error:
                refused = error
                break
            stream.cancel()
        assert (refused.details() or "").startswith("RATE_LIMITED: too many sessions")
        assert b"google.rpc.RetryInfo" in dict(refused.trailing_metadata())["grpc-status-details-bin"]
        other = stub.OpenSession(metadata=bearer("bee"))
        await other.write(session_pb2.OpenSessionRequest(messages=[HELLO]))
        assert (await other.read()).messages[0].WhichOneof("body") == "welcome"


async def test_questions_that_cost_much_are_refused_to_who_asked_them() -> None:
    question = json.dumps({"op": "trick", "ruleset": "huanle_2", "level": "2", "trump": "S", "plays": ["H5"] * 9_000})
    async with (
        hosting(quotas=Quotas(work_ms_s=1)) as (_, port),
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
        asyncio.timeout(60),
    ):
        stub: Any = rules_pb2_grpc.RulesServiceStub(channel)
        request = rules_pb2.JudgeRequest(question_json=question)
        calls = [stub.Judge(request, metadata=bearer("ant")) for _ in range(20)]
        said = await asyncio.gather(*calls, return_exceptions=True)
        refused = [error for error in said if isinstance(error, grpc.aio.AioRpcError)]
        assert 10 < len(refused) < 20
        assert {error.code() for error in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert all((error.details() or "").startswith("RATE_LIMITED: too many milli") for error in refused)
        await stub.Judge(rules_pb2.JudgeRequest(question_json="{}"), metadata=bearer("bee"))


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ('{"id": "\\ud800"}', '"id": "\\ud800"'),
        ('{"op": "\\udfff\\ud800"}', "unknown op"),
        ('{"id": 1e999}', "FIELD_INVALID"),
        ('{"id": NaN}', "FIELD_INVALID"),
        ('{"op": "ruleset", "ruleset": {"base": "huanle_2", "overrides": {"decks": "\\ud800"}}}', "decks"),
        ('{"op": "' + "x" * 60_000 + '"}', "unknown op"),
    ],
)
async def test_whatever_a_question_repeats_comes_back_in_a_readable_answer(question: str, said: str) -> None:
    async with hosting() as (_, port), grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub: Any = rules_pb2_grpc.RulesServiceStub(channel)
        request = rules_pb2.JudgeRequest(question_json=question)
        if said == "FIELD_INVALID":
            with pytest.raises(grpc.aio.AioRpcError, match="FIELD_INVALID: question_json has a number"):
                await stub.Judge(request, metadata=bearer("ant"))
        else:
            text = (await stub.Judge(request, metadata=bearer("ant"))).answer_json
            json.loads(text)
            assert said in text


@pytest.mark.parametrize("text", ["x" * 300_000, "\ud800".encode(errors="replace").decode(), "汉" * 5_000, "\n\0"])
async def test_a_refusal_stays_typed_however_long_what_it_names_is(text: str) -> None:
    """Trailers have a limit at the client, beyond which it would see an error of its own."""
    async with hosting() as (_, port), grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub: Any = rules_pb2_grpc.RulesServiceStub(channel)
        for situation in (
            rules_pb2.Situation(ruleset=text),
            rules_pb2.Situation(ruleset="rulesets/huanle_2", overrides={text: "1"}),
            rules_pb2.Situation(ruleset="rulesets/huanle_2", overrides={"decks": json.dumps(text)}),
            rules_pb2.Situation(ruleset="rulesets/huanle_2", overrides={"decks": '"\\ud800"'}),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await stub.CheckPlay(rules_pb2.CheckPlayRequest(situation=situation), metadata=bearer("ant"))
            assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
            assert (refused.value.details() or "").startswith("FIELD_INVALID")
            assert b"google.rpc.ErrorInfo" in dict(refused.value.trailing_metadata())["grpc-status-details-bin"]


def test_what_is_known_afterwards_only_is_taken_from_what_comes_later() -> None:
    bucket = Bucket(rate=10, burst=20)
    assert bucket.lacks(100.0) == 0
    bucket.spend(50)
    assert bucket.lacks(100.0) == pytest.approx(3.0, abs=0.01)
    assert bucket.lacks(102.9) > 0
    assert bucket.lacks(103.1) == 0
