"""A whole table over a real socket against a small host: hello, frames, resume, refusals."""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from chaodipi.engine.cards import SEATS, Rank, Seat, deck
from chaodipi.engine.deal import Deal
from chaodipi.engine.events import visible
from chaodipi.engine.ruleset import resolve
from chaodipi.engine.setup import Setup
from chaodipi.sdk import Action, Bot, Decision, Session, SessionError, run, wire
from chaodipi.sdk import session as session_module
from chaodipi.sdk.baselines import GreedyBot
from chaodipi.sdk.transport import FRAME_BYTES, FRAME_MESSAGES, backoff, frames
from chaodipi.v1 import cards_pb2, match_pb2, seat_pb2, session_pb2, session_pb2_grpc

Message = session_pb2.ServerMessage


class SmallHost:
    """One table, all four seats for the one bot that comes; checks every answer."""

    def __init__(self, *, drop_after: int = 0, snapshot: bool = False, ping_interval_ms: int = 0) -> None:
        ruleset = resolve("ming_chao")
        cards = list(deck(2))
        random.Random(4).shuffle(cards)
        self.deal = Deal(Setup(ruleset, tuple(cards), Seat.S1, Seat.S1, (Rank.FIVE, Rank.SIX), Seat.S1.side, False))
        self.drop_after = drop_after
        self.snapshot = snapshot
        self.ping_interval_ms = ping_interval_ms
        self.hellos: list[session_pb2.Hello] = []
        self.metadata: dict[str, Any] = {}
        self.frames = 0
        self.pongs = 0
        self.nonces: list[bytes] = []
        self.notes: list[str] = []
        self.answers = 0
        self.decision = 0
        self.told = dict.fromkeys(SEATS, 0)
        """Events of the deal that each seat was told, and their sequence numbers."""
        self.seqs = dict.fromkeys(SEATS, 0)
        self.over = asyncio.Event()

    async def open_session(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        self.metadata = dict(context.invocation_metadata())
        if self.metadata.get("authorization") != "Bearer right":
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "the token belongs to no bot of this host")
        resumed = bool(self.hellos)
        async for frame in requests:
            self.frames += 1
            out: list[Message] = []
            for message in frame.messages:
                out += self._take(message, resumed)
            if out:
                yield session_pb2.OpenSessionResponse(messages=out)
            if self.drop_after and self.answers >= self.drop_after:
                self.drop_after = 0
                await context.abort(grpc.StatusCode.UNAVAILABLE, "a broken line")

    def _take(self, message: session_pb2.ClientMessage, resumed: bool) -> list[Message]:
        kind = message.WhichOneof("body")
        if kind == "hello":
            self.hellos.append(message.hello)
            limits = session_pb2.SessionLimits(max_matches=16, max_frame_bytes=1 << 18, max_debug_note_bytes=1024)
            welcome = session_pb2.Welcome(
                session="s",
                bot="bots/b",
                resume_token="again",
                limits=limits,
                ping_interval_ms=self.ping_interval_ms,
            )
            return [Message(welcome=welcome), Message(ping=session_pb2.Ping(nonce=9)), Message()]
        if kind == "ping":
            return [Message(pong=session_pb2.Pong(nonce=message.ping.nonce))]
        if kind == "pong":
            assert message.pong.nonce == 9
            self.pongs += 1
        if kind == "entry_nonce":
            self.nonces.append(message.entry_nonce.nonce)
        if kind == "availability" and (message.availability.max_matches or resumed):
            request = session_pb2.NonceRequest(entry="leagues/l/entries/b", within_ms=1000, seed_commitment=b"c" * 32)
            assigned = [self._assigned(seat, resumed) for seat in SEATS]
            return [Message(nonce_request=request), *assigned, *(self._updates() if resumed else [])]
        if kind == "seat_ready" and message.seat_ready.channel == 4:
            return self._updates()
        if kind == "answer":
            answer = message.answer
            if answer.decision_id != self.decision:
                return []
            self.answers += 1
            self.notes.append(answer.debug_note)
            self.deal.act(SEATS[answer.channel - 1], wire.action_from_wire(answer.action))
            return self._updates()
        return []

    def _assigned(self, seat: Seat, resumed: bool) -> Message:
        match = match_pb2.Match(name="matches/m", ruleset="ming_chao", ruleset_digest=self.deal.ruleset.digest)
        return Message(
            seat_assigned=session_pb2.SeatAssigned(
                channel=seat + 1,
                match=match,
                seat=wire.seat_to_wire(seat),
                seat_token=f"token {seat}",
                ready_within_ms=0 if resumed else 1000,
                resumed=resumed,
            )
        )

    def _updates(self) -> list[Message]:
        """What is new to each seat, and the decision."""
        self.decision += 1
        out = []
        if self.snapshot and len(self.hellos) == 2:
            self.snapshot = False
            for seat in SEATS:
                self.told[seat] = len(self.deal.events)
                self.seqs[seat] += 100
                view = wire.snapshot_from_view(self.deal.observation(seat), self.seqs[seat])
                out.append(Message(seat_update=session_pb2.SeatUpdate(channel=seat + 1, snapshot=view)))
        for seat in SEATS:
            update = session_pb2.SeatUpdate(channel=seat + 1)
            for event in self.deal.events[self.told[seat] :]:
                seen = visible(event, seat)
                message = None if seen is None else wire.event_to_wire(seen, self.seqs[seat] + 1)
                if message is not None:
                    self.seqs[seat] += 1
                    update.events.append(message)
            self.told[seat] = len(self.deal.events)
            if seat == self.deal.to_act:
                update.decision.CopyFrom(
                    seat_pb2.DecisionRequest(decision_id=self.decision, as_of_seq=self.seqs[seat], time_left_ms=5000)
                )
            out.append(Message(seat_update=update))
        if self.deal.over:
            self.over.set()
            out += [Message(seat_ended=session_pb2.SeatEnded(channel=seat + 1)) for seat in SEATS]
        return out


class Servicer(session_pb2_grpc.BotSessionServiceServicer):
    def __init__(self, host: "SmallHost | DeafHost") -> None:
        self.host = host

    async def OpenSession(self, requests: Any, context: Any) -> AsyncIterator[Any]:
        async for frame in self.host.open_session(requests, context):
            yield frame


@contextlib.asynccontextmanager
async def serving(host: "SmallHost | DeafHost") -> AsyncIterator[int]:
    """The port at which *host* is served."""
    server = grpc.aio.server()
    session_pb2_grpc.add_BotSessionServiceServicer_to_server(Servicer(host), server)  # type: ignore[no-untyped-call, unused-ignore]
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield port
    finally:
        await server.stop(0)


async def play(host: "SmallHost | DeafHost", bot: type[Bot], token: str = "right") -> Session:
    """Serve *host*, play *bot* on it until the deal is over, and stop in order."""
    async with serving(host) as port:
        session = Session(bot, f"127.0.0.1:{port}", token)
        running = asyncio.ensure_future(session.run())
        over = asyncio.ensure_future(host.over.wait())
        try:
            async with asyncio.timeout(60):
                await asyncio.wait([running, over], return_when=asyncio.FIRST_COMPLETED)
                if not running.done():
                    session.drain()
                await running
        finally:
            over.cancel()
            running.cancel()
    return session


async def test_a_table_is_played_over_one_stream() -> None:
    host = SmallHost()
    session = await play(host, GreedyBot)
    assert host.deal.over
    assert session.defaults == 0
    assert session.decisions == host.answers
    assert host.pongs == 1
    assert len(host.nonces[0]) == 32
    assert host.hellos[0].sdk.startswith("chaodipi-sdk/")
    assert host.hellos[0].ruleset_digests["ming_chao"] == host.deal.ruleset.digest


@pytest.mark.parametrize("snapshot", [False, True])
async def test_a_lost_stream_is_resumed(snapshot: bool) -> None:
    """The host that asks for the nonce again is told the same."""
    host = SmallHost(drop_after=30, snapshot=snapshot)
    session = await play(host, GreedyBot)
    assert host.deal.over
    assert session.defaults == 0
    assert len(host.nonces) == 2
    assert len(set(host.nonces)) == 1
    assert host.hellos[1].resume_token == "again"
    assert {cursor.seat_token for cursor in host.hellos[1].cursors} == {f"token {seat}" for seat in SEATS}


class FrailHost(SmallHost):
    """Ends the stream once more while its matches are being given back."""

    async def open_session(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        async for frame in super().open_session(requests, context):
            yield frame
            if len(self.hellos) == 2:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "a broken line")


async def test_a_stream_lost_before_its_seats_are_back_forgets_none_of_them() -> None:
    host = FrailHost(drop_after=30)
    session = await play(host, GreedyBot)
    assert host.deal.over
    assert session.defaults == 0
    tokens = [{cursor.seat_token for cursor in hello.cursors} for hello in host.hellos]
    assert tokens == [set(), {f"token {seat}" for seat in SEATS}, {f"token {seat}" for seat in SEATS}]


class DrainingBot(GreedyBot):
    """Has its session drained after some decisions."""

    session: Session | None = None
    decided = 0

    def decide(self, decision: Decision) -> Action:
        DrainingBot.decided += 1
        if DrainingBot.decided == 20 and DrainingBot.session is not None:
            DrainingBot.session.drain()
        return super().decide(decision)


async def test_a_bot_that_drains_comes_back_to_its_matches_and_leaves_when_they_are_over() -> None:
    """A stream that is lost meanwhile is no reason to give up a match."""
    host = SmallHost(drop_after=30)
    async with serving(host) as port:
        DrainingBot.decided = 0
        DrainingBot.session = session = Session(DrainingBot, f"127.0.0.1:{port}", "right")
        await asyncio.wait_for(session.run(), 60)
    assert host.deal.over
    assert len(host.hellos) == 2


class ForgetfulHost(SmallHost):
    """Knows nothing any more of the matches of the stream before."""

    def _take(self, message: session_pb2.ClientMessage, resumed: bool) -> list[Message]:
        if resumed and message.WhichOneof("body") == "availability":
            return []
        return super()._take(message, resumed)


async def test_a_bot_that_drains_leaves_when_its_matches_have_ended_without_it() -> None:
    host = ForgetfulHost(drop_after=30)
    async with serving(host) as port:
        DrainingBot.decided = 0
        DrainingBot.session = session = Session(DrainingBot, f"127.0.0.1:{port}", "right")
        await asyncio.wait_for(session.run(), 60)
    assert len(host.hellos) == 2
    assert not host.deal.over


class ReplacingHost(SmallHost):
    """Says why it ends the stream, but the status is lost on the way."""

    async def open_session(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        async for frame in super().open_session(requests, context):
            yield frame
            problem = cards_pb2.Problem(code=10, reason="SESSION_REPLACED", message="a newer session took over")
            yield session_pb2.OpenSessionResponse(messages=[Message(warning=problem)])
            await context.abort(grpc.StatusCode.INTERNAL, "lost")


async def test_a_bot_whose_session_was_replaced_does_not_come_back_even_if_the_status_is_lost() -> None:
    """Two clients that replace each other for ever would play for neither."""
    host = ReplacingHost()
    with pytest.raises(SessionError, match="SESSION_REPLACED"):
        await play(host, GreedyBot)
    assert len(host.hellos) == 1


def test_frames_take_what_the_host_takes_in_order() -> None:
    """At either bound one frame; one more message, two."""
    ping = session_pb2.ClientMessage(ping=session_pb2.Ping())
    assert [len(frame.messages) for frame in frames([ping] * FRAME_MESSAGES)] == [FRAME_MESSAGES]
    assert [len(frame.messages) for frame in frames([ping] * (FRAME_MESSAGES + 1))] == [FRAME_MESSAGES, 1]
    answers = [
        session_pb2.ClientMessage(answer=session_pb2.Answer(decision_id=n, debug_note="x" * 4000)) for n in range(200)
    ]
    made = list(frames(answers))
    assert all(frame.ByteSize() <= FRAME_BYTES for frame in made)
    assert len(made) == -(-sum(answer.ByteSize() + 8 for answer in answers) // FRAME_BYTES)
    assert [message.answer.decision_id for frame in made for message in frame.messages] == list(range(200))
    assert list(frames([])) == []


class Wordy(GreedyBot):
    """Explains itself at length, then more briefly."""

    def decide(self, decision: Decision) -> Action:
        decision.note = "ü" * (512 if decision.deal else 0) + "x" * (len(decision.view.tricks) % 2)
        return super().decide(decision)


async def test_a_note_longer_than_the_host_takes_is_left_out_and_said(caplog: pytest.LogCaptureFixture) -> None:
    host = SmallHost()
    await play(host, Wordy)
    assert {len(note.encode()) for note in host.notes} == {0, 1024}
    assert "a note of 1025 bytes is left out" in caplog.text


class DeafHost:
    """Pings, but hears nothing: a path that is dead in one direction."""

    def __init__(self) -> None:
        self.hellos = 0
        self.over = asyncio.Event()

    async def open_session(self, requests: AsyncIterator[Any], _context: Any) -> AsyncIterator[Any]:
        await anext(requests)
        self.hellos += 1
        if self.hellos == 2:
            self.over.set()
        welcome = session_pb2.Welcome(session="s", bot="bots/b", ping_interval_ms=100)
        yield session_pb2.OpenSessionResponse(messages=[Message(welcome=welcome)])
        while True:
            await asyncio.sleep(0.05)
            yield session_pb2.OpenSessionResponse(messages=[Message(ping=session_pb2.Ping(nonce=1))])


async def test_a_host_that_pings_but_does_not_answer_is_left_for_a_new_stream() -> None:
    host = DeafHost()
    await play(host, GreedyBot)
    assert host.hellos == 2


class MuteHost(DeafHost):
    """Takes Hello, and what it says does not arrive, the first time."""

    async def open_session(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        async for frame in super().open_session(requests, context):
            if self.hellos > 1:
                yield frame


async def test_a_host_whose_welcome_does_not_come_is_left_for_a_new_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_WELCOME_S", 0.5)
    host = MuteHost()
    await play(host, GreedyBot)
    assert host.hellos == 2


class Thinker(GreedyBot):
    """Blocks its loop for ten times the silence that a session bears."""

    blocked = False

    def bury(self, decision: Decision) -> Action:
        time.sleep(3.0)
        Thinker.blocked = True
        return super().bury(decision)


async def test_a_bot_that_blocks_its_loop_keeps_its_stream() -> None:
    host = SmallHost(ping_interval_ms=100)
    await play(host, Thinker)
    assert Thinker.blocked
    assert host.deal.over
    assert len(host.hellos) == 1


class Broken(Bot):
    """Raises, and leads what it does not hold."""

    def bury(self, decision: Decision) -> Action:
        raise KeyError("a mistake in the bot")

    def play(self, decision: Decision) -> Action:
        return decision.play("rj rj rj")


async def test_a_broken_bot_plays_by_default(caplog: pytest.LogCaptureFixture) -> None:
    host = SmallHost()
    session = await play(host, Broken)
    assert host.deal.over
    assert session.defaults >= 100
    assert "a mistake in the bot" in caplog.text
    assert "NOT_YOUR_CARDS" in caplog.text


async def test_a_refused_token_ends_it_at_once() -> None:
    with pytest.raises(SessionError, match="does not accept the token") as caught:
        await play(SmallHost(), GreedyBot, token="wrong")
    assert caught.value.exit_code == session_module.EXIT_USAGE


def test_one_line_for_a_host_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    logging.getLogger("chaodipi.sdk").setLevel(logging.ERROR)
    argv = ["--server", "127.0.0.1:9", "--token", "t", "--wait", "0.1"]
    with pytest.raises(SystemExit) as caught:
        run(GreedyBot, argv)
    assert caught.value.code == session_module.EXIT_UNREACHABLE
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("chaodipi-bot: cannot reach 127.0.0.1:9")]
    assert "Traceback" not in "".join(lines)


def test_a_missing_token_is_said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHAODIPI_TOKEN", raising=False)
    with pytest.raises(SystemExit) as caught:
        run(GreedyBot, ["--server", "127.0.0.1:9"])
    assert caught.value.code == session_module.EXIT_USAGE
    assert "CHAODIPI_TOKEN" in capsys.readouterr().err


def test_pauses_grow_to_ten_seconds() -> None:
    assert backoff(0, 1.0) == pytest.approx(0.2)
    assert backoff(3, 0.0) == pytest.approx(0.8)
    assert backoff(50, 1.0) == pytest.approx(10.0)
