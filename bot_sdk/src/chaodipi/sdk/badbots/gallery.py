"""The gallery: each bot misbehaves in one way, otherwise it plays legally.

``chaodipi-badbots list`` names them; ``chaodipi-badbots NAME`` plays one, found like any bot by ``CHAODIPI_SERVER`` and
``CHAODIPI_TOKEN``. In a league file: ``command = ["chaodipi-badbots", "slow"]``.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from typing import Any

import grpc
from chaodipi.sdk.badbots.raw import Message, RawBot, first_legal
from chaodipi.sdk.tls import open_channel
from chaodipi.v1 import cards_pb2, seat_pb2, session_pb2, session_pb2_grpc

__all__ = ["GALLERY"]

Messages = list[session_pb2.ClientMessage]
Decision = seat_pb2.DecisionRequest


class Illegal(RawBot):
    """Plays cards that it does not hold, at every decision of play, and never what it may."""

    async def decide(self, channel: int, decision: Decision) -> Messages:
        if decision.phase in (cards_pb2.PHASE_LEAD, cards_pb2.PHASE_FOLLOW):
            wrong = cards_pb2.Action(play=cards_pb2.Play(cards=[cards_pb2.CARD_BIG_JOKER] * 39))
            return [self.answer(channel, decision.decision_id, wrong)]
        return await super().decide(channel, decision)


class Malformed(RawBot):
    """Answers with no action, with cards that do not exist, and with actions of the wrong kind, in turn."""

    async def decide(self, channel: int, decision: Decision) -> Messages:
        unknown: Any = [999]
        wrong = (
            None,
            cards_pb2.Action(play=cards_pb2.Play(cards=unknown)),
            cards_pb2.Action(bury=cards_pb2.Bury()),
            cards_pb2.Action(show=cards_pb2.Show()),
        )
        return [self.answer(channel, decision.decision_id, wrong[self.decisions % len(wrong)])]


class Slow(RawBot):
    """Answers each decision half a second after its time is up: never for the decision that is open."""

    def __init__(self, server: str, token: str) -> None:
        super().__init__(server, token)
        self._late: set[asyncio.Task[None]] = set()

    async def decide(self, channel: int, decision: Decision) -> Messages:
        late = asyncio.create_task(self._answer_late(channel, decision))
        self._late.add(late)
        late.add_done_callback(self._late.discard)
        return []

    async def _answer_late(self, channel: int, decision: Decision) -> None:
        await asyncio.sleep(decision.time_left_ms / 1000 + 0.5)
        # The stream may be over by then.
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            await self.send(self.answer(channel, decision.decision_id, first_legal(decision)))


class Silent(RawBot):
    """Is connected and answers pings, but no decision."""

    async def decide(self, channel: int, decision: Decision) -> Messages:
        return []


class NotReady(RawBot):
    """Takes seats and never says that it is ready."""

    async def receive(self, message: session_pb2.ServerMessage) -> Messages:
        return [] if message.WhichOneof("body") == "seat_assigned" else await super().receive(message)


class CrashAtStart(RawBot):
    """Ends before it connects."""

    async def begin(self) -> None:
        sys.exit("crashed at start, as it should")


class CrashInDeal(RawBot):
    """Kills itself at its tenth decision."""

    async def decide(self, channel: int, decision: Decision) -> Messages:
        if self.decisions == 10:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().decide(channel, decision)


class CrashAtEnd(RawBot):
    """Kills itself when a table ends."""

    async def receive(self, message: session_pb2.ServerMessage) -> Messages:
        if message.WhichOneof("body") == "seat_ended":
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().receive(message)


class Babbler(RawBot):
    """Prints 100 MB in short lines before it plays."""

    async def begin(self) -> None:
        for _ in range(100):
            sys.stdout.write("babble\n" * 142_858)


class LongLines(RawBot):
    """Prints a line of 10 MB before it plays, and sends debug notes of 100 kB."""

    async def begin(self) -> None:
        print("x" * 10_000_000, flush=True)

    async def decide(self, channel: int, decision: Decision) -> Messages:
        [message] = await super().decide(channel, decision)
        message.answer.debug_note = "x" * 100_000
        return [message]


class NeverReads(RawBot):
    """Opens its stream, takes seats, and does not read what it is sent."""

    async def read(self) -> None:
        await asyncio.sleep(3600)


class Storm(RawBot):
    """Opens a stream, drops it and opens the next one, 300 times, welcome or refused, then plays."""

    def hello(self) -> session_pb2.Hello:
        hello = super().hello()
        hello.instance = "storm"
        return hello

    async def begin(self) -> None:
        metadata = (("authorization", f"Bearer {self.token}"),)
        for _ in range(300):
            async with open_channel(self.server, self.tls) as channel:
                stub: Any = session_pb2_grpc.BotSessionServiceStub(channel)
                call = stub.OpenSession(metadata=metadata)
                # Most are beyond what one token may open.
                with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                    await call.write(session_pb2.OpenSessionRequest(messages=[Message(hello=self.hello())]))
                    await call.read()
                call.cancel()
        # The quota of opened sessions must let the one in that plays.
        await asyncio.sleep(1)


class AnswersTwice(RawBot):
    """Answers every decision twice, the second time with something else."""

    async def decide(self, channel: int, decision: Decision) -> Messages:
        wrong = cards_pb2.Action(play=cards_pb2.Play(cards=[cards_pb2.CARD_BIG_JOKER]))
        return [*await super().decide(channel, decision), self.answer(channel, decision.decision_id, wrong)]


class AnswersEarly(RawBot):
    """Answers the next decision before it is asked."""

    async def decide(self, channel: int, decision: Decision) -> Messages:
        early = self.answer(channel, decision.decision_id + 1, cards_pb2.Action(passing=cards_pb2.Pass()))
        return [*await super().decide(channel, decision), early]


class OthersSeat(RawBot):
    """Answers on channels that are not its own, and asks to go on in seats with tokens that it guessed."""

    def hello(self) -> session_pb2.Hello:
        hello = super().hello()
        for seat in range(1, 5):
            number: cards_pb2.Seat = seat  # type: ignore[assignment]
            hello.cursors.add(match="matches/x", seat=number, seat_token=f"guess-{seat}", last_seq=0)
        return hello

    async def decide(self, channel: int, decision: Decision) -> Messages:
        others = [self.answer(number, decision.decision_id, first_legal(decision)) for number in (channel + 1, 999)]
        return [*others, *await super().decide(channel, decision)]


class Thief(RawBot):
    """Takes over its own bot's sessions under every name that such sessions have, again and again."""

    names = ("", "main", "storm", "worker-0")

    def hello(self) -> session_pb2.Hello:
        hello = super().hello()
        hello.instance = self.names[os.getpid() % len(self.names)]
        hello.resume_token = "stolen"
        return hello


class Strange(RawBot):
    """Sends fields, enum values and capabilities that nobody knows, and plays legally."""

    async def decide(self, channel: int, decision: Decision) -> Messages:
        [message] = await super().decide(channel, decision)
        # Field 2001, a text, at the end of a message is skipped by whoever does not know it.
        return [Message.FromString(message.SerializeToString() + b"\x8a\x7d\x05hello")]

    def hello(self) -> session_pb2.Hello:
        hello = super().hello()
        hello.event_mode = 77  # type: ignore[assignment]
        hello.capabilities.extend(["from.the.future", "x" * 100])
        return hello


class Forker(RawBot):
    """Starts a child in a session of its own with every table, and never stops one."""

    async def receive(self, message: session_pb2.ServerMessage) -> Messages:
        if message.WhichOneof("body") == "seat_assigned":
            subprocess.Popen(["sleep", "3600"], start_new_session=True)
        return await super().receive(message)


class BadNonces(RawBot):
    """Gives nonces that are too long, for entries of others and unasked, and takes its own back."""

    async def receive(self, message: session_pb2.ServerMessage) -> Messages:
        if message.WhichOneof("body") != "nonce_request":
            return await super().receive(message)
        entry = message.nonce_request.entry
        league = entry.rpartition("/")[0]
        others = [self.nonce(f"{league}/{name}", b"mine") for name in ("ant", "greedy", "rules", "random", "nobody")]
        given = [self.nonce(entry, nonce) for nonce in (b"x" * 33, b"x" * 200_000, b"first", b"second", b"")]
        return [*others, *given]

    async def decide(self, channel: int, decision: Decision) -> Messages:
        return [self.nonce("", b""), *await super().decide(channel, decision)]


class Flood(RawBot):
    """Sends frames as fast as it can, with nothing in them."""

    async def read(self) -> None:
        while True:
            await self.send(Message(ping=session_pb2.Ping(nonce=1)))


GALLERY: dict[str, type[RawBot]] = {
    "illegal": Illegal,
    "malformed": Malformed,
    "slow": Slow,
    "silent": Silent,
    "not-ready": NotReady,
    "crash-at-start": CrashAtStart,
    "crash-in-deal": CrashInDeal,
    "crash-at-end": CrashAtEnd,
    "babbler": Babbler,
    "long-lines": LongLines,
    "never-reads": NeverReads,
    "storm": Storm,
    "answers-twice": AnswersTwice,
    "answers-early": AnswersEarly,
    "others-seat": OthersSeat,
    "thief": Thief,
    "strange": Strange,
    "forker": Forker,
    "bad-nonces": BadNonces,
    "flood": Flood,
}
"""Every bad bot by its name on the command line."""
