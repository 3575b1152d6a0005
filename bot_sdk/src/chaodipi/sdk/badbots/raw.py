"""A bot on the bare protocol: it plays the first legal action that the host lists, and hides nothing from subclasses.

Unlike :class:`chaodipi.sdk.Session` it does not reconnect, check or repair anything, so that a subclass can do wrong.
"""

import asyncio
import contextlib
import secrets
from typing import Any

import grpc
from chaodipi.sdk.tls import Tls, open_channel
from chaodipi.v1 import cards_pb2, seat_pb2, session_pb2, session_pb2_grpc

__all__ = ["RawBot", "first_legal"]

Message = session_pb2.ClientMessage


def first_legal(decision: seat_pb2.DecisionRequest) -> cards_pb2.Action:
    """The first action that the host lists for *decision*; it must have been asked to list them."""
    legal = decision.legal
    if legal.actions:
        # The last one listed is a pass where passing is allowed.
        return legal.actions[-1]
    choice = legal.choice_sets[0]
    pairs = choice.pair_pool[: 2 * choice.choose_pairs]
    cards = [*choice.forced, *pairs]
    pool = list(choice.pool)
    for card in pairs:
        if card in pool:
            pool.remove(card)
    cards += pool[: choice.choose_min]
    if choice.kind == cards_pb2.ACTION_KIND_BURY:
        return cards_pb2.Action(bury=cards_pb2.Bury(cards=cards))
    return cards_pb2.Action(play=cards_pb2.Play(cards=cards))


class RawBot:
    """
    One stream and all its seats.

    A subclass overrides :meth:`decide` (what to send for a decision) or :meth:`receive` (for any message), and
    :meth:`begin` to do something before the stream is opened.

    Args:
        server: ``host:port``.
        token: The bot's token.

    Attributes:
        tls: For a host that serves by TLS; set it before :meth:`run`.
    """

    max_matches = 64
    tls: Tls | None = None

    def __init__(self, server: str, token: str) -> None:
        self.server = server
        self.token = token
        self.seats: dict[int, session_pb2.SeatAssigned] = {}
        self.decisions = 0
        self._call: Any = None
        self._writing = asyncio.Lock()

    async def run(self) -> None:
        """Play until the stream ends; its status is printed, for the bot's log."""
        await self.begin()
        async with open_channel(self.server, self.tls) as channel:
            stub: Any = session_pb2_grpc.BotSessionServiceStub(channel)
            self._call = stub.OpenSession(metadata=(("authorization", f"Bearer {self.token}"),))
            try:
                await self.send(Message(hello=self.hello()))
                await self.send(Message(availability=session_pb2.Availability(max_matches=self.max_matches)))
                await self.read()
            except (grpc.aio.AioRpcError, asyncio.InvalidStateError) as error:
                print(f"stream lost: {error!r}"[:300], flush=True)
            with contextlib.suppress(grpc.aio.AioRpcError):
                print(f"stream ended: {await self._call.code()} {await self._call.details()}", flush=True)

    async def begin(self) -> None:
        """Before the stream is opened."""

    def hello(self) -> session_pb2.Hello:
        """The first message."""
        return session_pb2.Hello(sdk="badbots", legal_mode=session_pb2.LEGAL_MODE_FACTORED)

    async def send(self, *messages: session_pb2.ClientMessage) -> None:
        """Send *messages* in one frame."""
        # Two that write to a stream at once end it.
        async with self._writing:
            if messages:
                await self._call.write(session_pb2.OpenSessionRequest(messages=messages))

    async def read(self) -> None:
        """Answer every message until the stream ends."""
        async for frame in self._call:
            replies = [reply for message in frame.messages for reply in await self.receive(message)]
            await self.send(*replies)

    async def receive(self, message: session_pb2.ServerMessage) -> list[session_pb2.ClientMessage]:
        """What to send for *message*."""
        kind = message.WhichOneof("body")
        if kind == "seat_assigned":
            self.seats[message.seat_assigned.channel] = message.seat_assigned
            return [Message(seat_ready=session_pb2.SeatReady(channel=message.seat_assigned.channel))]
        if kind == "seat_ended":
            self.seats.pop(message.seat_ended.channel, None)
        elif kind == "ping":
            return [Message(pong=session_pb2.Pong(nonce=message.ping.nonce))]
        elif kind == "nonce_request":
            return [self.nonce(message.nonce_request.entry, secrets.token_bytes(32))]
        elif kind == "warning":
            print(f"warned: {message.warning.reason} {message.warning.message}", flush=True)
        elif kind == "seat_update" and message.seat_update.HasField("decision"):
            self.decisions += 1
            return await self.decide(message.seat_update.channel, message.seat_update.decision)
        return []

    async def decide(self, channel: int, decision: seat_pb2.DecisionRequest) -> list[session_pb2.ClientMessage]:
        """What to send when seat *channel* is asked: here the first legal action."""
        return [self.answer(channel, decision.decision_id, first_legal(decision))]

    def nonce(self, entry: str, nonce: bytes) -> session_pb2.ClientMessage:
        """A nonce for *entry*."""
        return Message(entry_nonce=session_pb2.EntryNonce(entry=entry, nonce=nonce))

    def answer(
        self, channel: int, decision_id: int, action: cards_pb2.Action | None = None
    ) -> session_pb2.ClientMessage:
        """An answer; without *action* an empty one."""
        return Message(answer=session_pb2.Answer(channel=channel, decision_id=decision_id, action=action))
