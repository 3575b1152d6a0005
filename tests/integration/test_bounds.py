"""Everything that a bot or caller can send has a bound: at it all is well, beyond it a typed error names the field."""

import asyncio
import contextlib
from typing import Any

import grpc
import pytest
from chaodipi.engine.cards import Card, Rank
from chaodipi.service.host import session as host_session
from chaodipi.service.host.quota import Quotas
from chaodipi.service.host.session import MAX_QUEUE_BYTES, SEAT_QUEUE_BYTES
from chaodipi.service.rpc.greeting import BOUNDS
from chaodipi.service.rpc.session import MAX_DEBUG_NOTE_BYTES, MAX_FRAME_BYTES, MAX_FRAME_MESSAGES, MAX_REASON_BYTES
from chaodipi.v1 import cards_pb2, rules_pb2, rules_pb2_grpc, session_pb2, session_pb2_grpc

from tests.support.raw_client import NAMES, TimeControl, hosting, seated, table

BEARER = (("authorization", "Bearer token-ant"),)
DIGEST = "0" * 64


def hello(field: str, size: int) -> session_pb2.Hello:
    """Hello with *size* in *field*, a key of BOUNDS."""
    body: dict[str, Any] = {
        "capabilities": lambda: {"capabilities": ["x"] * size},
        "capabilities[]": lambda: {"capabilities": ["x" * size]},
        "cursors": lambda: {"cursors": [{"seat_token": f"t{n}"} for n in range(size)]},
        "cursors[].match": lambda: {"cursors": [{"match": "x" * size}]},
        "cursors[].seat_token": lambda: {"cursors": [{"seat_token": "x" * size}]},
        "ruleset_digests": lambda: {"ruleset_digests": {f"r{n}": DIGEST for n in range(size)}},
        "ruleset_digests[]": lambda: {"ruleset_digests": {"x" * size: DIGEST}},
        "ruleset_digests[].value": lambda: {"ruleset_digests": {"r": "0" * size}},
    }.get(field, lambda: {field: "x" * size})()
    return session_pb2.Hello(**body)


@contextlib.asynccontextmanager
async def session(port: int, first: session_pb2.Hello | None = None):
    """A session that began with *first*, its Hello; what the host answered is read by the test."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stream: Any = session_pb2_grpc.BotSessionServiceStub(channel).OpenSession(metadata=BEARER)
        await stream.write(session_pb2.OpenSessionRequest(messages=[{"hello": first or session_pb2.Hello()}]))
        if first is None:
            assert (await stream.read()).messages[0].WhichOneof("body") == "welcome"
        yield stream
        stream.cancel()


async def said(stream: Any, *bodies: dict[str, Any]) -> list[session_pb2.ServerMessage]:
    """All that the host says to *bodies*, sent in one frame."""
    messages = [*bodies, {"ping": {"nonce": 99}}]
    await stream.write(session_pb2.OpenSessionRequest(messages=messages))
    heard: list[session_pb2.ServerMessage] = []
    while True:
        frame = await asyncio.wait_for(stream.read(), 20)
        assert frame is not grpc.aio.EOF
        for message in frame.messages:
            if message.WhichOneof("body") == "pong":
                return heard
            heard.append(message)


async def refused(stream: Any) -> str:
    """How the host ended *stream*, with its metadata."""
    with contextlib.suppress(grpc.aio.AioRpcError):
        async with asyncio.timeout(20):
            while await stream.read() is not grpc.aio.EOF:
                pass
    assert await stream.code() == grpc.StatusCode.INVALID_ARGUMENT
    return str(await stream.details()) + repr(dict(await stream.trailing_metadata())["grpc-status-details-bin"])


@pytest.mark.parametrize("field", sorted(BOUNDS))
async def test_fields_of_hello(field: str) -> None:
    async with hosting() as (host, port):
        async with session(port, hello(field, BOUNDS[field])) as stream:
            assert (await stream.read()).messages[0].WhichOneof("body") == "welcome"
        async with session(port, hello(field, BOUNDS[field] + 1)) as stream:
            text = await refused(stream)
            assert text.startswith(f"FIELD_INVALID: hello.{field} has {BOUNDS[field] + 1} ")
            assert f"hello.{field}".encode() in text.encode()
        assert host.online()["ant"] == 0


def test_every_field_of_hello_that_has_no_fixed_size_has_a_bound() -> None:
    empty = session_pb2.Hello()
    sized = {field.name for field in empty.DESCRIPTOR.fields if hasattr(getattr(empty, field.name), "__len__")}
    assert {name.partition("[")[0] for name in BOUNDS} == sized


@pytest.mark.situation("T11")
async def test_bytes_and_messages_of_a_frame() -> None:
    answer = {"channel": 9, "decision_id": 1}
    note = MAX_FRAME_BYTES - 20
    while session_pb2.OpenSessionRequest(messages=[{"answer": {**answer, "debug_note": "x" * note}}]).ByteSize() < (
        MAX_FRAME_BYTES
    ):
        note += 1
    async with hosting(ping_interval_ms=0) as (_, port):
        async with session(port) as stream:
            frame = session_pb2.OpenSessionRequest(messages=[{"answer": {**answer, "debug_note": "x" * note}}])
            assert frame.ByteSize() == MAX_FRAME_BYTES
            await stream.write(frame)
            assert [message.WhichOneof("body") for message in await said(stream)] == ["warning", "answer_result"]
            frame.messages[0].answer.debug_note += "x"
            await stream.write(frame)
            assert f"FRAME_TOO_LARGE: a frame of {MAX_FRAME_BYTES + 1} bytes" in await refused(stream)
        async with session(port) as stream:
            await said(stream, *[{"seat_ready": {"channel": 9}}] * (MAX_FRAME_MESSAGES - 1))
            await stream.write(session_pb2.OpenSessionRequest(messages=[{"ping": {}}] * (MAX_FRAME_MESSAGES + 1)))
            assert f"FRAME_TOO_LARGE: a frame of {MAX_FRAME_MESSAGES + 1} messages" in await refused(stream)


@pytest.mark.parametrize(
    ("field", "bound", "reason", "body"),
    [
        ("answer.debug_note", MAX_DEBUG_NOTE_BYTES, "NOTE_TOO_LARGE", lambda n: {"answer": {"debug_note": "x" * n}}),
        ("leave_match.reason", MAX_REASON_BYTES, "FIELD_INVALID", lambda n: {"leave_match": {"reason": "x" * n}}),
    ],
)
async def test_texts_that_are_left_out_with_a_warning(field: str, bound: int, reason: str, body: Any) -> None:
    """The session goes on, and so does what they were sent with."""
    async with hosting() as (_, port), session(port) as stream:
        warned = [m.warning for m in await said(stream, body(bound)) if m.WhichOneof("body") == "warning"]
        assert warned == []
        [warning] = [m.warning for m in await said(stream, body(bound + 1)) if m.WhichOneof("body") == "warning"]
        assert (warning.reason, warning.metadata["field"]) == (reason, field)
        assert warning.metadata["bytes"] == str(bound + 1)


@pytest.mark.parametrize("kind", ["play", "bury", "show"])
async def test_cards_of_an_action(kind: str) -> None:
    """More than any hand has are not looked at; the decision is asked again."""
    problems: list[cards_pb2.Problem] = []

    def answer(decision: Any) -> cards_pb2.Action | None:
        if len(tried) == 2:
            return None
        tried.append(39 + len(tried))
        return cards_pb2.Action(**{kind: {"cards": [int(Card.parse("H5"))] * tried[-1]}})

    tried: list[int] = []
    async with hosting() as (host, port), seated(port) as clients:
        clients["ant"].answer = answer
        await host.wait_for_bots(NAMES, 20)
        result = await asyncio.wait_for(host.play_table(table()), 60)
        problems = [said.problem for said in clients["ant"].results if said.HasField("problem")]
    assert result.faults == {}
    assert tried == [39, 40]
    assert problems[0].reason != "FIELD_INVALID"
    assert problems[1].reason == "FIELD_INVALID"
    assert problems[1].message == f"action.{kind}.cards has 40 cards, at most 39"


SITUATION: dict[str, Any] = {
    "ruleset": "rulesets/huanle_2",
    "trump": {"suit": cards_pb2.SUIT_HEARTS, "level": int(Rank.TWO)},
    "hand": [int(Card.parse("S9"))],
}


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("hand", {"hand": [int(Card.parse("S9"))] * 40}),
        ("trick[0].cards", {"trick": [{"cards": [int(Card.parse("S9"))] * 40}]}),
        ("trick[2].cards", {"trick": [{"cards": [int(Card.parse("S9"))]}] * 2 + [{"cards": [1] * 40}]}),
        ("trick", {"trick": [{"cards": [int(Card.parse("S9"))]}] * 4}),
        ("unknown ruleset key 'x", {"overrides": {"x" * 1_000: "1"}}),
        ("overrides", {"overrides": {"decks": "[" * 5_000}}),
    ],
)
async def test_sizes_within_a_situation(field: str, bad: dict[str, Any]) -> None:
    async with hosting() as (_, port), grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        rules: Any = rules_pb2_grpc.RulesServiceStub(channel)
        good = rules_pb2.ListLegalPlaysRequest(situation=SITUATION)
        await rules.ListLegalPlays(good, metadata=BEARER)
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await rules.ListLegalPlays(rules_pb2.ListLegalPlaysRequest(situation=SITUATION | bad), metadata=BEARER)
        assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert field in (error.value.details() or "")


# ---- what waits for a slow reader


@pytest.mark.situation("T12")
async def test_a_bot_that_does_not_read_is_closed_when_its_queue_is_full_and_nobody_else_notices() -> None:
    """It asks for pongs and takes none: they wait at the host, in bytes, and its clock is not touched by it."""
    plenty = Quotas(messages_s=10**7, bytes_s=10**9)
    async with hosting(ping_interval_ms=0, quotas=plenty) as (host, port), seated(port, NAMES[1:]):
        async with session(port) as stream:
            await stream.write(session_pb2.OpenSessionRequest(messages=[{"availability": {"max_matches": 1}}]))
            await host.wait_for_bots(NAMES, 20)
            [deaf] = host._sessions["ant"]
            most = 0
            frame = session_pb2.OpenSessionRequest(messages=[{"ping": {"nonce": 2**32 - 1}}] * 2_000)
            flood = asyncio.create_task(_flood(stream, frame))
            async with asyncio.timeout(120):
                while not deaf.closed:
                    most = max(most, deaf.queued_bytes)
                    await asyncio.sleep(0)
                playing = host.play_table(table(bots=("bee", "cat", "dog", "bee")))
                assert (await playing).faults == {}
                while host.online()["ant"]:
                    await asyncio.sleep(0.01)
            flood.cancel()
            await asyncio.gather(flood, return_exceptions=True)
        assert deaf.refusal is not None
        assert deaf.refusal.reason == "SLOW_CONSUMER"
        assert most <= MAX_QUEUE_BYTES + SEAT_QUEUE_BYTES


@pytest.mark.situation("T12")
async def test_a_bot_that_answers_no_ping_loses_its_session_but_not_while_it_may_think(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its time at a table is its own, and at an untimed one without end: somebody debugs."""
    monkeypatch.setattr(host_session, "PATIENCE_S", 2.0)
    async with (
        hosting(ping_interval_ms=20) as (host, port),
        seated(port, NAMES[1:]) as clients,
        session(port, session_pb2.Hello(instance="idle")) as idle,
        session(port, session_pb2.Hello(instance="seated")) as thinking,
    ):
        clients["bee"].silent = True
        await thinking.write(session_pb2.OpenSessionRequest(messages=[{"availability": {"max_matches": 1}}]))
        await host.wait_for_bots(NAMES, 20)
        untimed = TimeControl(untimed=True)
        playing = asyncio.create_task(host.play_table(table(time=untimed)))
        async with asyncio.timeout(20):
            while host.online()["ant"] != 1 or not host.tables_in_flight:
                await asyncio.sleep(0.01)
            with contextlib.suppress(grpc.aio.AioRpcError):
                while await idle.read() is not grpc.aio.EOF:
                    pass
            assert "SLOW_CONSUMER: the bot does not read what it is sent: no Pong" in await idle.details()
        [left] = host._sessions["ant"]
        assert left.instance == "seated"
        assert not thinking.done()
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)


async def _flood(stream: Any, frame: session_pb2.OpenSessionRequest) -> None:
    with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
        while True:
            await stream.write(frame)
