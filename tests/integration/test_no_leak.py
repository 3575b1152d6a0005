"""Cards that a seat cannot see change no byte that its session receives, and no log line, metric or error text.

A deal is played over real sockets by a script of actions. Then the same actions are played with cards exchanged that
the watching seat does not hold (:mod:`tests.support.worlds`), up to the last action after which all that the rules let
it know is still the same. Whenever the watcher is asked it answers wrongly first, so that refusals are compared too,
and at the end of every comparison it asks for everything again. The host's clock stands still and its random names
are counted, so what is compared is compared to the byte.
"""

import asyncio
import io
import itertools
import json
import os
import random
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, TypeVar

import grpc
import pytest
import structlog
from chaodipi.engine import Action, Bury, Card, Deal, MalformedError, Pass, Phase, Play, RuleError, Seat, Setup, Show
from chaodipi.engine.cards import SEATS
from chaodipi.engine.events import Buried, Event, visible
from chaodipi.engine.ruleset import preset_names, resolve
from chaodipi.sdk.wire import action_to_wire
from chaodipi.service.host import runner, session
from chaodipi.service.host.host import Host
from chaodipi.service.logs import configure_logs
from chaodipi.service.match import feed, machine
from chaodipi.service.match.table import TableSpec, TimeControl
from chaodipi.v1 import cards_pb2, session_pb2

from tests.support.deals import random_setup
from tests.support.raw_client import NAMES, hosting
from tests.support.worlds import Script, Swap, facts, record, replayed, shown_otherwise, worlds

T = TypeVar("T")
OTHER_WORLDS = 3
"""Exchanges of two cards that are tried for each deal; where showings are dark, those of a whole showing too."""
PATIENCE_S = 60.0
CLOCK = TimeControl(attempts=3)
TIMED = ("chaodipi_frames_", "chaodipi_messages_", "_created")
"""Metrics that are left out: when a counter was made, and the frames of all sessions together."""


# ---- what is played


@dataclass(frozen=True)
class Move:
    """What a seat answers when it is asked: first what is refused, then what is done."""

    seat: Seat
    action: cards_pb2.Action
    refused: tuple[cards_pb2.Action, ...] = ()


def refused(deal: Deal, seat: Seat, turn: int) -> tuple[cards_pb2.Action, ...]:
    """Two answers that the rules or the protocol do not allow now, chosen by what the seat knows itself."""
    hand = deal.view.hand(seat)
    strange = [card for card in Card if card not in hand]
    tries: list[Action] = [
        Play((strange[turn % len(strange)],)),
        Play(hand[: 1 + turn % 6]),
        Play(hand[-(1 + turn % 4) :]),
        Bury(hand[: max(1, deal.ruleset.bottom - turn % 2)]),
        Show((strange[turn % len(strange)],)),
        Pass(),
    ]
    wrong = []
    for action in tries[turn % len(tries) :] + tries[: turn % len(tries)]:
        try:
            deal.check(seat, action)
        except (RuleError, MalformedError):
            wrong.append(action_to_wire(action))
    if turn % 9 == 0:
        unknown: Any = [99]
        wrong.insert(0, cards_pb2.Action(play=cards_pb2.Play(cards=unknown)))
    return tuple(wrong[: CLOCK.attempts - 1])


class World:
    """One deal played by a script: every move, and what the watcher may know after each action of the script."""

    def __init__(self, setup: Setup, script: Script, watcher: Seat, swap: Swap) -> None:
        self.setup = setup
        self.moves: list[Move] = []
        self.known: list[tuple[int, Phase, Any]] = []
        turns = itertools.count()

        def acted(deal: Deal, seat: Seat, action: Action) -> None:
            wrong = refused(deal, seat, next(turns)) if seat == watcher else ()
            self.moves.append(Move(seat, action_to_wire(action), wrong))

        for deal in replayed(setup, script, watcher, swap, acted):
            self.known.append((len(self.moves), deal.phase, facts(deal, watcher)))


def common(here: World, there: World) -> tuple[int, int]:
    """How many moves of each world are played while the watcher may know the same, nobody being asked to show."""
    played = (0, 0)
    for (mine, phase, known), (others, _, known_there) in zip(here.known, there.known, strict=False):
        if known != known_there:
            break
        # While cards are dealt, how far the dealing has come depends on who is being asked.
        if phase not in (Phase.DECLARE, Phase.ENDED):
            played = mine, others
    return played


# ---- what is told


@dataclass(frozen=True)
class Told:
    """All that left the host up to some move: the watcher's messages, the log, the metrics."""

    messages: tuple[session_pb2.ServerMessage, ...]
    log: tuple[str, ...]
    metrics: tuple[str, ...]


class Wire:
    """A seat's session that keeps every message as it came, and answers only when told to."""

    def __init__(self, port: int, seat: Seat, asked: "asyncio.Queue[tuple[Seat, Any]]") -> None:
        self.seat = seat
        self.messages: list[session_pb2.ServerMessage] = []
        self._asked = asked
        self._pongs: dict[int, asyncio.Event] = {}
        self._connection = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        opened: Any = self._connection.stream_stream(
            "/chaodipi.v1.BotSessionService/OpenSession",
            request_serializer=session_pb2.OpenSessionRequest.SerializeToString,
            response_deserializer=session_pb2.OpenSessionResponse.FromString,
        )
        self._call: Any = opened(metadata=(("authorization", f"Bearer token-{NAMES[seat]}"),))
        self._reading: asyncio.Task[None] | None = None

    async def open(self) -> None:
        hello = session_pb2.Hello(legal_mode=session_pb2.LEGAL_MODE_FACTORED)
        await self.send(hello=hello)
        await self.send(availability=session_pb2.Availability(max_matches=1))
        self._reading = asyncio.create_task(self._read())
        await self.caught_up()

    async def close(self) -> None:
        self._call.cancel()
        if self._reading is not None:
            await asyncio.gather(self._reading, return_exceptions=True)
        await self._connection.close()

    async def send(self, **body: Any) -> None:
        await self._call.write(session_pb2.OpenSessionRequest(messages=[session_pb2.ClientMessage(**body)]))

    async def answer(self, request: Any, action: cards_pb2.Action) -> None:
        await self.send(answer=session_pb2.Answer(channel=1, decision_id=request.decision_id, action=action))

    async def caught_up(self) -> None:
        """Wait for everything that the host had for this session: messages keep their order."""
        nonce = len(self._pongs) + 1
        self._pongs[nonce] = asyncio.Event()
        await self.send(ping=session_pb2.Ping(nonce=nonce))
        await self._pongs[nonce].wait()

    async def _read(self) -> None:
        async for frame in self._call:
            for message in frame.messages:
                if message.WhichOneof("body") == "pong":
                    self._pongs[message.pong.nonce].set()
                    continue
                self.messages.append(message)
                if message.WhichOneof("body") == "seat_assigned":
                    await self.send(seat_ready=session_pb2.SeatReady(channel=message.seat_assigned.channel))
                elif message.WhichOneof("body") == "seat_update" and message.seat_update.HasField("decision"):
                    self._asked.put_nowait((self.seat, message.seat_update.decision))


def log_lines(stream: io.StringIO) -> tuple[str, ...]:
    """The log without its times."""
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    return tuple(json.dumps({key: value for key, value in line.items() if key != "timestamp"}) for line in lines)


def metric_lines(host: Host) -> tuple[str, ...]:
    return tuple(line for line in host.metrics.text().splitlines() if not any(name in line for name in TIMED))


async def unless_over(table: asyncio.Task[Any], waited: Coroutine[Any, Any, T]) -> T:
    """What is waited for; fails if the table is over before."""
    wanted = asyncio.ensure_future(waited)
    await asyncio.wait([table, wanted], return_when=asyncio.FIRST_COMPLETED)
    if wanted.done():
        return wanted.result()
    wanted.cancel()
    raise AssertionError(f"the table ended: {table.result()}")


async def told(world: World, watcher: Seat, count: int) -> Told:
    """Play the first *count* moves of *world*, have the watcher ask for everything again: all that was told."""
    counted = itertools.count(1)
    names = SimpleNamespace(token_hex=lambda _n: f"id{next(counted)}", token_urlsafe=lambda _n: f"t{next(counted)}")
    log = io.StringIO()
    asked: asyncio.Queue[tuple[Seat, Any]] = asyncio.Queue()
    spec = TableSpec("t/1", world.setup.ruleset, lambda _redeals: world.setup, NAMES, CLOCK, b"\1" * 32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "secrets", names)
        patch.setattr(runner, "secrets", names)
        patch.setattr(runner, "now_ms", lambda: 1_000_000)
        configure_logs("debug", log)
        try:
            async with AsyncExitStack() as stack, asyncio.timeout(PATIENCE_S):
                host, port = await stack.enter_async_context(hosting(ping_interval_ms=0))
                seats = [Wire(port, seat, asked) for seat in SEATS]
                for wire in seats:
                    stack.push_async_callback(wire.close)
                    await wire.open()
                await host.wait_for_bots(NAMES)
                table = asyncio.create_task(host.play_table(spec))
                for move in world.moves[:count]:
                    for action in (*move.refused, move.action):
                        seat, request = await unless_over(table, asked.get())
                        assert seat == move.seat, f"seat {seat} was asked, not {move.seat}"
                        await seats[seat].answer(request, action)
                # Whoever moved last first: what its move led to is queued for the others by then.
                for wire in (seats[move.seat], *seats):
                    await wire.caught_up()
                for last_seq in (0, 1):  # a snapshot, and every event
                    await seats[watcher].send(resync=session_pb2.Resync(channel=1, last_seq=last_seq))
                await seats[watcher].caught_up()
                everything = Told(tuple(seats[watcher].messages), log_lines(log), metric_lines(host))
                await host.stop(0)
                await table
        finally:
            structlog.reset_defaults()
    return everything


def difference(here: Told, there: Told) -> str:
    """The first thing that was told otherwise, "" if nothing was."""
    for what, mine, others in (
        ("messages", here.messages, there.messages),
        ("log", here.log, there.log),
        ("metrics", here.metrics, there.metrics),
    ):
        one = [item if isinstance(item, str) else item.SerializeToString(deterministic=True) for item in mine]
        other = [item if isinstance(item, str) else item.SerializeToString(deterministic=True) for item in others]
        for number, pair in enumerate(itertools.zip_longest(one, other)):
            if pair[0] != pair[1]:
                shown = [str(items[number]) if number < len(items) else "nothing" for items in (mine, others)]
                return f"{what}: {shown[0]} / {shown[1]}"
    return ""


@dataclass
class Found:
    """What was compared, as shares of whole deals and as kinds of messages, and the first difference."""

    worlds: int = 0
    messages: int = 0
    deepest: float = 0.0
    refusals: int = 0
    difference: str = ""


async def compared(name: str, rng: random.Random, found: Found) -> None:
    """Compare one deal of chance with other worlds of it."""
    while True:
        setup, watcher = random_setup(resolve(name), rng), rng.choice(SEATS)
        script = record(setup, rng)
        here = World(setup, script, watcher, {})
        if len(here.known) > 20:  # not dealt again
            break
    for setup_there, swap in (
        *worlds(setup, script, watcher, rng, OTHER_WORLDS),
        *itertools.islice(shown_otherwise(setup, script, watcher), 1),
    ):
        there = World(setup_there, script, watcher, swap)
        mine, its = common(here, there)
        if not mine:
            continue
        one, other = await told(here, watcher, mine), await told(there, watcher, its)
        found.worlds += 1
        found.messages += len(one.messages)
        found.refusals += sum(message.WhichOneof("body") == "answer_result" for message in one.messages)
        found.deepest = max(found.deepest, mine / len(here.moves))
        found.difference = difference(one, other)
        if found.difference:
            return


async def searched(name: str, rng: random.Random, enough: Callable[[Found], bool], deals: int) -> Found:
    """Compare up to *deals* deals of chance, until *enough* is found."""
    found = Found()
    for _ in range(deals):
        await compared(name, rng, found)
        if enough(found):
            return found
    return found


@pytest.mark.parametrize("name", preset_names())
async def test_hidden_cards_change_no_byte_that_a_session_receives_nor_log_nor_metrics(name: str) -> None:
    """From the first card to the last trick, refusals and a repetition of everything included."""
    seed = int(os.environ.get("CHAODIPI_LEAK_SEED", random.randrange(2**32)))
    print(f"seed {seed}")

    def enough(found: Found) -> bool:
        return bool(found.difference) or (found.worlds >= OTHER_WORLDS and found.deepest > 0.9)

    found = await searched(name, random.Random(seed), enough, 12)
    print(found)
    assert not found.difference, found.difference
    assert found.deepest > 0.9, "the other worlds end too soon to show anything"
    assert found.refusals > 20


# ---- the comparison notices


def next_hand(played: machine.TableMachine, seat: Seat) -> str:
    """Cards that *seat* cannot see."""
    return " ".join(card.text for card in played.deal.view.hands[seat.next])


def leak_in_event(patch: pytest.MonkeyPatch) -> None:
    """What was buried goes to everybody."""

    def leaky(event: Event, seat: Seat) -> Event | None:
        return event if isinstance(event, Buried) else visible(event, seat)

    patch.setattr(feed, "visible", leaky)


def leak_in_legal_actions(patch: pytest.MonkeyPatch) -> None:
    """Whether the legal actions are all of them tells whether the next seat has an even number of hearts."""
    real = runner.legal_of

    def leaky(played: machine.TableMachine, seat: Seat) -> session.Legal:
        legal = real(played, seat)
        return replace(legal, complete=(next_hand(played, seat).count("H") % 2 == 0))

    patch.setattr(runner, "legal_of", leaky)


def leak_in_error(patch: pytest.MonkeyPatch) -> None:
    """A refusal tells the cards of the next seat."""
    real = machine.TableMachine._refuse

    def leaky(self: Any, asked: Any, fault: str, reason: str, message: str, *rest: Any) -> None:
        real(self, asked, fault, reason, f"{message}; {next_hand(self, asked.seat)}", *rest)

    patch.setattr(machine.TableMachine, "_refuse", leaky)


def leak_in_snapshot(patch: pytest.MonkeyPatch) -> None:
    """The score in a snapshot tells how many hearts the next seat has."""
    real = machine.TableMachine.seat_back

    def leaky(self: Any, seat: Seat, *rest: Any, **more: Any) -> None:
        real(self, seat, *rest, **more)
        for message in self._feed._out:
            if getattr(message, "snapshot", None) is not None:
                message.snapshot.score += next_hand(self, seat).count("H")

    patch.setattr(machine.TableMachine, "seat_back", leaky)


def leak_in_log(patch: pytest.MonkeyPatch) -> None:
    """A debug line tells every action, burials too."""
    real = runner.TableRunner.receive_answer

    def leaky(self: Any, link: Any, decision: int, action: Any) -> None:
        self._log.debug("answer", seat=int(link.seat), action=str(action))
        real(self, link, decision, action)

    patch.setattr(runner.TableRunner, "receive_answer", leaky)


def leak_in_metric(patch: pytest.MonkeyPatch) -> None:
    """A label tells what was buried."""
    real = runner.TableRunner.receive_answer

    def leaky(self: Any, link: Any, decision: int, action: Any) -> None:
        if isinstance(action, Bury):
            self._metrics.decided(link.bot, " ".join(card.text for card in action.cards), 0)
        real(self, link, decision, action)

    patch.setattr(runner.TableRunner, "receive_answer", leaky)


def leak_by_counting(patch: pytest.MonkeyPatch) -> None:
    """Decisions while declaring are counted as they come, so that the counts tell who was asked."""
    real = runner.TableRunner._pump

    def leaky(self: Any, phase: Phase) -> None:
        real(self, phase)
        for bot, think_ms in self._declared:
            self._metrics.decided(bot, phase.name, think_ms)
        self._declared = []

    patch.setattr(runner.TableRunner, "_pump", leaky)


@pytest.mark.parametrize(
    ("leak", "where"),
    [
        (leak_in_event, "messages"),
        (leak_in_legal_actions, "messages"),
        (leak_in_error, "messages"),
        (leak_in_snapshot, "messages"),
        (leak_in_log, "log"),
        (leak_in_metric, "metrics"),
        (leak_by_counting, "metrics"),
    ],
)
async def test_a_planted_leak_is_noticed(
    leak: Callable[[pytest.MonkeyPatch], None], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    leak(monkeypatch)
    found = await searched("ming_chao", random.Random(3), lambda found: bool(found.difference), 40)
    assert found.difference.startswith(where), found
