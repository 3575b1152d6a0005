"""A host on a free port, and raw clients that know nothing but the protocol."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
from chaodipi.engine.cards import Seat, deck
from chaodipi.engine.ruleset import Ruleset, resolve
from chaodipi.engine.setup import Setup
from chaodipi.engine.view import View
from chaodipi.sdk.wire import event_from_wire, seat_from_wire, view_from_snapshot
from chaodipi.service.host.host import Host
from chaodipi.service.host.identity import hash_token
from chaodipi.service.match.table import TableSpec, TimeControl
from chaodipi.service.rpc.server import start_server
from chaodipi.v1 import (
    cards_pb2,
    seat_pb2,
    session_pb2,
    session_pb2_grpc,
)

RULES = resolve("huanle_2")
NAMES = ("ant", "bee", "cat", "dog")
CLOCK = TimeControl()


def table(
    table_id: str = "t/1", bots: tuple[str, str, str, str] = NAMES, time: TimeControl = CLOCK, seed: int = 7
) -> TableSpec:
    def setup(redeals: int) -> Setup:
        cards = list(deck(2))
        random.Random(seed + redeals).shuffle(cards)
        return Setup(RULES, tuple(cards), redeals=redeals)

    return TableSpec(table_id, RULES, setup, bots, time, b"\1" * 32)


@asynccontextmanager
async def hosting(**options: Any) -> AsyncIterator[tuple[Host, int]]:
    host = Host({name: hash_token(f"token-{name}") for name in NAMES}, **options)
    server, port = await start_server(host)
    try:
        yield host, port
    finally:
        await host.stop(0)
        await server.stop(1)


class Client:
    """A bot that takes the first legal action; *answer* may replace what it says. It gives *nonce*, None: none."""

    def __init__(
        self,
        port: int,
        name: str,
        *,
        max_tables: int = 64,
        instance: str = "",
        before: "Client | None" = None,
        rules: Ruleset = RULES,
    ) -> None:
        self.name = name
        self.rules = rules
        self.told: list[seat_pb2.SeatEvent] = []
        self.seats: dict[int, tuple[Seat, View]] = {}
        self.results: list[session_pb2.AnswerResult] = []
        self.assigned: list[session_pb2.SeatAssigned] = []
        self.ended: list[session_pb2.SeatEnded] = []
        self.seqs: dict[int, int] = {}
        self.welcome: session_pb2.Welcome | None = None
        self.answer: Callable[[Any], cards_pb2.Action | None] | None = None
        self.silent = False
        self.asked = asyncio.Event()
        self.draining: session_pb2.Draining | None = None
        self._unanswered: list[session_pb2.SeatUpdate] = []
        self.nonce: bytes | None = None
        self.nonce_requests: asyncio.Queue[session_pb2.NonceRequest] = asyncio.Queue()
        self.warnings: asyncio.Queue[cards_pb2.Problem] = asyncio.Queue()
        self._hello = session_pb2.Hello(sdk="raw", instance=instance, legal_mode=session_pb2.LEGAL_MODE_FACTORED)
        self.firsts: list[int] = []
        self.snapshots: list[seat_pb2.SeatView] = []
        self._before = before
        if before is not None:
            self._hello.resume_token = before.welcome.resume_token if before.welcome else ""
            for assigned in before.assigned:
                self._hello.cursors.add(
                    match=assigned.match.name,
                    seat=assigned.seat,
                    seat_token=assigned.seat_token,
                    last_seq=before.seqs[assigned.channel],
                )
        self._max = max_tables
        self._writing = asyncio.Lock()
        self._channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        self._call: Any = session_pb2_grpc.BotSessionServiceStub(self._channel).OpenSession(
            metadata=(("authorization", f"Bearer token-{name}"),)
        )

    async def run(self) -> None:
        await self._send(hello=self._hello)
        await self._send(availability=session_pb2.Availability(max_matches=self._max))
        async for frame in self._call:
            out = [reply for message in frame.messages if (reply := self._receive(message)) is not None]
            if out:
                await self._write(out)

    async def _send(self, **body: Any) -> None:
        await self._write([session_pb2.ClientMessage(**body)])

    async def _write(self, messages: list[session_pb2.ClientMessage]) -> None:
        # Two that write to a stream at once end it.
        async with self._writing:
            await self._call.write(session_pb2.OpenSessionRequest(messages=messages))

    async def close(self) -> None:
        self._call.cancel()
        await self._channel.close()

    async def go_on(self) -> None:
        """Answer what a silent client was asked, and everything from now on."""
        self.silent = False
        asked, self._unanswered = self._unanswered, []
        for update in asked:
            await self._write([self._answer_to(update)])

    async def send_answer(self, answer: session_pb2.Answer) -> None:
        await self._send(answer=answer)

    async def send_nonce(self, entry: str, nonce: bytes) -> None:
        await self._send(entry_nonce=session_pb2.EntryNonce(entry=entry, nonce=nonce))

    async def resync(self, channel: int, last_seq: int) -> None:
        await self._send(resync=session_pb2.Resync(channel=channel, last_seq=last_seq))

    async def leave(self, channel: int) -> None:
        await self._send(leave_match=session_pb2.LeaveMatch(channel=channel))

    def _receive(self, message: session_pb2.ServerMessage) -> session_pb2.ClientMessage | None:
        kind = message.WhichOneof("body")
        if kind == "welcome":
            self.welcome = message.welcome
        elif kind == "seat_assigned":
            assigned = message.seat_assigned
            self.assigned.append(assigned)
            seat = seat_from_wire(assigned.seat)
            assert seat is not None
            self.seats[assigned.channel] = (seat, View(self.rules, seat))
            self.seqs[assigned.channel] = 0
            if self._before is not None:
                self.seats[assigned.channel] = self._before.seats[1]
                self.seqs[assigned.channel] = self._before.seqs[1]
            return session_pb2.ClientMessage(seat_ready=session_pb2.SeatReady(channel=assigned.channel))
        elif kind == "seat_update":
            return self._update(message.seat_update)
        elif kind == "answer_result":
            self.results.append(message.answer_result)
        elif kind == "seat_ended":
            self.ended.append(message.seat_ended)
        elif kind == "nonce_request":
            self.nonce_requests.put_nowait(message.nonce_request)
            if self.nonce is not None:
                entry_nonce = session_pb2.EntryNonce(entry=message.nonce_request.entry, nonce=self.nonce)
                return session_pb2.ClientMessage(entry_nonce=entry_nonce)
        elif kind == "warning":
            self.warnings.put_nowait(message.warning)
        elif kind == "draining":
            self.draining = message.draining
        elif kind == "ping":
            return session_pb2.ClientMessage(pong=session_pb2.Pong(nonce=message.ping.nonce))
        return None

    def _update(self, update: session_pb2.SeatUpdate) -> session_pb2.ClientMessage | None:
        channel = update.channel
        if update.events and not self.firsts:
            self.firsts.append(update.events[0].seq)
        if update.HasField("snapshot"):
            self.snapshots.append(update.snapshot)
            self.seats[channel] = (self.seats[channel][0], view_from_snapshot(update.snapshot, self.rules))
            self.seqs[channel] = update.snapshot.seq
        for event in update.events:
            assert event.seq == self.seqs[channel] + 1
            self.seqs[channel] = event.seq
            self.told.append(event)
            seat, view = self.seats[channel]
            if event.WhichOneof("event") == "deal_started":
                self.seats[channel] = (seat, view := View(self.rules, seat))
            engine_event = event_from_wire(event, view)
            if engine_event is not None:
                view.apply(engine_event)
        if not update.HasField("decision"):
            return None
        self.asked.set()
        if self.silent:
            self._unanswered.append(update)
            return None
        assert update.decision.as_of_seq == self.seqs[channel]
        return self._answer_to(update)

    def _answer_to(self, update: session_pb2.SeatUpdate) -> session_pb2.ClientMessage:
        channel = update.channel
        action = self.answer(update.decision) if self.answer is not None else None
        answer = session_pb2.Answer(
            channel=channel,
            decision_id=update.decision.decision_id,
            action=action or self._first_legal(channel, update.decision),
        )
        return session_pb2.ClientMessage(answer=answer)

    def _first_legal(self, channel: int, decision: Any) -> cards_pb2.Action:
        if decision.legal.actions:
            return decision.legal.actions[0]  # type: ignore[no-any-return]
        choice = decision.legal.choice_sets[0]
        cards = list(choice.forced)
        pairs = list(choice.pair_pool)[: 2 * choice.choose_pairs]
        pool = list(choice.pool)
        for card in pairs:
            pool.remove(card)
        cards += pairs
        cards += pool[: choice.choose_min]
        if decision.phase == cards_pb2.PHASE_BURY:
            return cards_pb2.Action(bury=cards_pb2.Bury(cards=cards))
        return cards_pb2.Action(play=cards_pb2.Play(cards=cards))


@asynccontextmanager
async def seated(port: int, names: tuple[str, ...] = NAMES, **options: Any) -> AsyncIterator[dict[str, Client]]:
    clients = {name: Client(port, name, **options) for name in names}
    tasks = [asyncio.create_task(client.run()) for client in clients.values()]
    try:
        yield clients
    finally:
        for client in clients.values():
            await client.close()
        await asyncio.gather(*tasks, return_exceptions=True)
