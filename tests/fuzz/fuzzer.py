"""Random and mutated frames against a running host, while honest bots play on it.

``python -m tests.fuzz.fuzzer 1000000`` (``make fuzz``) prints what was sent, how it was answered, and what the host's
memory did. The seed is printed; ``CHAODIPI_FUZZ_SEED`` repeats a run's inputs.
"""

import asyncio
import contextlib
import gc
import io
import json
import os
import random
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import grpc
from chaodipi.service.host.quota import Quotas
from chaodipi.service.logs import configure_logs
from chaodipi.service.match.table import TableSpec, TimeControl
from chaodipi.service.rpc.gate import RIGHTS
from chaodipi.v1 import bot_pb2, cards_pb2, rules_pb2, session_pb2

from tests.support.raw_client import Client, hosting, table

BAD = "dog"
HONEST = ("ant", "bee", "cat")
# Quick enough that the tables which the fuzzer spoils come to their end.
CLOCK = TimeControl(play_ms=200, bury_ms=200, ready_ms=200, max_faults=0)
PATIENT = TimeControl()
TYPED = re.compile(r"[A-Z][A-Z0-9_]+: ")
OPEN_SESSION = "/chaodipi.v1.BotSessionService/OpenSession"
FRAME_KINDS = ("valid", "valid", "valid", "flipped", "cut", "spliced", "random", "hello again", "unknown field")
FRAMES_A_STREAM = 40
# What is not the host's word: an end in order, and what a client says itself if it was writing while the stream ended.
NOT_REFUSED = (grpc.StatusCode.OK, grpc.StatusCode.CANCELLED)
LOST = "Internal error from Core"
# Nothing that is counted by the second stops an input; how many sessions and seats there may be, still does.
UNLIMITED = Quotas(**{each.name: 10**9 for each in fields(Quotas) if each.name not in ("sessions", "matches")})


@dataclass
class Report:
    """What was sent and what came of it."""

    seed: int
    inputs: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    untyped: list[str] = field(default_factory=list)
    hung: int = 0
    log_errors: list[str] = field(default_factory=list)
    tables: Counter[str] = field(default_factory=Counter)
    honest_faults: int = 0
    seconds: float = 0.0
    memory: list[int] = field(default_factory=list)
    left_over: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The report for people."""
        return [
            f"seed {self.seed}: {sum(self.inputs.values()):,} inputs in {self.seconds:.1f} s",
            "inputs   " + ", ".join(f"{name} {count:,}" for name, count in self.inputs.most_common()),
            "answers  " + ", ".join(f"{name} {count:,}" for name, count in self.answers.most_common()),
            "tables   " + ", ".join(f"{name} {count}" for name, count in self.tables.items()),
            f"untyped {len(self.untyped)}, hung {self.hung}, errors logged {len(self.log_errors)}, "
            f"faults of honest bots {self.honest_faults}, left over {len(self.left_over)}",
            f"memory of the process in MiB, by quarters: {', '.join(str(n >> 20) for n in self.memory)}",
        ]


class Inputs:
    """Where the inputs come from; the same seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.corpus: list[bytes] = []

    def number(self) -> int:
        """A number as programs get them wrong: small, at a border, or any."""
        rng = self.rng
        return rng.choice((0, 1, 2, 3, rng.randrange(16), rng.randrange(256), 2**31 - 1, 2**31, 2**32 - 1))

    def text(self) -> str:
        rng = self.rng
        return rng.choice(("", "x", "rulesets/huanle_2", "\0", "🂡", "a" * rng.randrange(300), str(rng.random())))

    def cards(self) -> list[int]:
        rng = self.rng
        return [
            rng.choice((rng.randrange(1, 55), self.number() & 0x7FFFFFFF)) for _ in range(rng.choice((0, 1, 2, 8, 40)))
        ]

    def action(self) -> cards_pb2.Action:
        rng = self.rng
        kind = rng.randrange(5)
        if kind == 0:
            return cards_pb2.Action()
        if kind == 1:
            return cards_pb2.Action(play=cards_pb2.Play(cards=self.cards()))
        if kind == 2:
            return cards_pb2.Action(bury=cards_pb2.Bury(cards=self.cards()))
        if kind == 3:
            named: Any = self.number() & 0x7FFFFFFF
            return cards_pb2.Action(show=cards_pb2.Show(cards=self.cards(), named=named))
        return cards_pb2.Action(passing=cards_pb2.Pass())

    def hello(self) -> session_pb2.ClientMessage:
        rng = self.rng
        hello = session_pb2.Hello(instance=rng.choice(("", "one", self.text())), sdk=self.text())
        hello.legal_mode = rng.choice((0, 1, 2, self.number() & 0x7FFFFFFF))  # type: ignore[assignment]
        hello.event_mode = rng.choice((0, 1, 2, self.number() & 0x7FFFFFFF))  # type: ignore[assignment]
        for _ in range(rng.randrange(3)):
            seat: Any = self.number() & 0x7FFFFFFF
            hello.cursors.add(match=self.text(), seat=seat, seat_token=self.text(), last_seq=self.number())
        return session_pb2.ClientMessage(hello=hello)

    def message(self) -> session_pb2.ClientMessage:
        """A message that can be read, its values as they come."""
        kind = self.rng.randrange(11)
        if kind <= 3:
            answer = session_pb2.Answer(
                channel=self.number(), decision_id=self.number(), action=self.action(), debug_note=self.text()
            )
            return session_pb2.ClientMessage(answer=answer)
        if kind == 4:
            available = session_pb2.Availability(max_matches=self.number(), draining=self.rng.random() < 0.1)
            return session_pb2.ClientMessage(availability=available)
        if kind == 5:
            return session_pb2.ClientMessage(ping=session_pb2.Ping(nonce=self.number()))
        if kind == 6:
            return session_pb2.ClientMessage(pong=session_pb2.Pong(nonce=self.number(), loop_lag_ms=self.number()))
        if kind == 7:
            return session_pb2.ClientMessage(seat_ready=session_pb2.SeatReady(channel=self.number()))
        if kind == 8:
            resync = session_pb2.Resync(channel=self.number(), last_seq=self.number())
            return session_pb2.ClientMessage(resync=resync)
        if kind == 9:
            nonce = session_pb2.EntryNonce(entry=self.text(), nonce=self.rng.randbytes(self.rng.randrange(70)))
            return session_pb2.ClientMessage(entry_nonce=nonce)
        leave = session_pb2.LeaveMatch(channel=self.number(), reason=self.text())
        return session_pb2.ClientMessage(leave_match=leave)

    def frame(self) -> tuple[str, bytes]:
        """A frame for an open session, and how it was made."""
        rng = self.rng
        made = session_pb2.OpenSessionRequest(messages=[self.message() for _ in range(rng.choice((0, 1, 1, 2, 9)))])
        data = made.SerializeToString()
        kind = rng.choice(
            ("valid", "valid", "valid", "flipped", "cut", "spliced", "random", "hello again", "unknown field")
        )
        if kind == "hello again":
            data = session_pb2.OpenSessionRequest(messages=[self.hello()]).SerializeToString()
        elif kind != "valid":
            data = self.mutated(kind, data)
        if len(self.corpus) < 500:
            self.corpus.append(data)
        return kind, data

    def request(self, method: str) -> tuple[str, bytes]:
        """A request for a unary method."""
        rng = self.rng
        situation = rules_pb2.Situation(ruleset=self.text(), hand=self.cards())
        situation.trump.level = self.number() & 0x7FFFFFFF
        situation.trump.suit = self.number() & 0x7FFFFFFF  # type: ignore[assignment]
        for _ in range(rng.randrange(5)):
            situation.trick.add(cards=self.cards())
        situation.overrides[self.text()] = self.text()
        questions = ("", "{}", "[", '{"op": "follow"}', '{"op": "sort", "cards": "S9"}', self.text())
        messages = {
            "Judge": rules_pb2.JudgeRequest(question_json=rng.choice(questions)),
            "CheckPlay": rules_pb2.CheckPlayRequest(situation=situation, cards=self.cards()),
            "ListLegalPlays": rules_pb2.ListLegalPlaysRequest(situation=situation),
            "ListRulesets": rules_pb2.ListRulesetsRequest(page_size=rng.randrange(-5, 2000), page_token=self.text()),
        }
        made = messages.get(method.rpartition("/")[2], bot_pb2.WhoAmIRequest())
        data = made.SerializeToString()
        kind = rng.choice(("valid", "flipped", "cut", "spliced", "random", "unknown field"))
        return kind, data if kind == "valid" else self.mutated(kind, data)

    def mutated(self, kind: str, data: bytes) -> bytes:
        """*data* spoiled."""
        rng = self.rng
        if kind == "random" or not data:
            return rng.randbytes(rng.choice((0, 1, 5, 50, 2_000)))
        if kind == "cut":
            return data[: rng.randrange(len(data))]
        if kind == "spliced":
            other = rng.choice(self.corpus) if self.corpus else data
            return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]
        if kind == "unknown field":
            return data + b"\xfa\x7f\x05hello" + b"\x98\x06\x01"
        spoiled = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            spoiled[rng.randrange(len(spoiled))] ^= 1 << rng.randrange(8)
        return bytes(spoiled)


class Honest(Client):
    """A bot that plays, and forgets each table when it is over."""

    def _receive(self, message: session_pb2.ServerMessage) -> session_pb2.ClientMessage | None:
        reply = super()._receive(message)
        if message.WhichOneof("body") == "seat_ended":
            for memory in (self.told, self.results, self.assigned, self.ended):
                memory.clear()
            self.seats.pop(message.seat_ended.channel, None)
            self.seqs.pop(message.seat_ended.channel, None)
        return reply


class Fuzzer:
    """Sends inputs as the bot :data:`BAD`, on streams and by unary calls."""

    def __init__(self, channel: grpc.aio.Channel, inputs: Inputs, report: Report) -> None:
        self.inputs = inputs
        self.report = report
        self._metadata = (("authorization", f"Bearer token-{BAD}"),)
        raw = {"request_serializer": None, "response_deserializer": None}
        self._open = channel.stream_stream(OPEN_SESSION, **raw)
        names = [name for name, right in RIGHTS.items() if name.startswith("/chaodipi.v1.") and name != OPEN_SESSION]
        self._unary = {name: channel.unary_unary(name, **raw) for name in names}

    async def stream(self) -> None:
        """One session: usually a good Hello, then frames until it ends."""
        inputs, rng = self.inputs, self.inputs.rng
        call = self._open(metadata=self._metadata)
        reading = asyncio.create_task(self._read(call))
        first = session_pb2.OpenSessionRequest(messages=[inputs.hello()])
        if rng.random() < 0.5:
            first.messages.add(availability=session_pb2.Availability(max_matches=rng.randrange(1, 5)))
        opening = ("hello", first.SerializeToString()) if rng.random() < 0.95 else inputs.frame()
        try:
            async with asyncio.timeout(30):
                with contextlib.suppress(asyncio.InvalidStateError, grpc.aio.AioRpcError):
                    await self._send(call, *opening)
                    for _ in range(rng.randrange(FRAMES_A_STREAM)):
                        if call.done():
                            break
                        await self._send(call, *inputs.frame())
                        if rng.random() < 0.2:
                            await asyncio.sleep(0)
                    await call.done_writing()
                said = await reading
                code, details = await call.code(), await call.details() or ""
        except TimeoutError:
            self.report.hung += 1
            call.cancel()
            reading.cancel()
            return
        self._count(code, details, said)

    async def _send(self, call: Any, kind: str, data: bytes) -> None:
        self.report.inputs[kind] += 1
        await call.write(data)

    async def _read(self, call: Any) -> str:
        """Read to the end; the last reason said in band."""
        said = ""
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            while (data := await call.read()) is not grpc.aio.EOF:
                for message in session_pb2.OpenSessionResponse.FromString(data).messages:
                    said = message.warning.reason or said
        return said

    async def call(self) -> None:
        """One unary call."""
        method = self.inputs.rng.choice(list(self._unary))
        kind, data = self.inputs.request(method)
        self.report.inputs[f"unary {kind}"] += 1
        try:
            await self._unary[method](data, metadata=self._metadata, timeout=30)
        except grpc.aio.AioRpcError as error:
            if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
                self.report.hung += 1
            self._count(error.code(), error.details() or "", "")
        else:
            self.report.answers["OK"] += 1

    def _count(self, code: grpc.StatusCode, details: str, said: str) -> None:
        typed = TYPED.match(details)
        if typed:
            self.report.answers[typed[0][:-2]] += 1
        elif code in NOT_REFUSED or said or details == LOST:
            self.report.answers[said or ("lost" if details == LOST else code.name)] += 1
        else:
            self.report.answers[f"untyped {code.name}"] += 1
            self.report.untyped.append(f"{code.name}: {details}")


async def fuzz(count: int, seed: int) -> Report:
    """Send *count* inputs while honest bots play; what came of it."""
    report = Report(seed)
    inputs = Inputs(seed)
    log = io.StringIO()
    configure_logs("warning", log)
    started = time.monotonic()
    before = len(tasks_of_ours())
    async with (
        hosting(quotas=UNLIMITED, resume_window_s=0.2) as (host, port),
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        clients = [Honest(port, name) for name in HONEST]
        running = [asyncio.create_task(client.run()) for client in clients]
        await host.wait_for_bots(HONEST, 30)
        playing = [
            asyncio.create_task(
                _tables(host.play_table, report, "honest", ("ant", "bee", "ant", "cat"), TimeControl())
            ),
            asyncio.create_task(_tables(host.play_table, report, "spoiled", ("ant", BAD, "cat", BAD), CLOCK)),
        ]
        fuzzer = Fuzzer(channel, inputs, report)
        honest_calls = calls_of_grpc()
        quarter = max(1, count // 4)
        while (sent := sum(report.inputs.values())) < count:
            if sent >= quarter * (len(report.memory) + 1):
                report.memory.append(memory_of_process())
            await asyncio.gather(*(fuzzer.stream() for _ in range(4)), *(fuzzer.call() for _ in range(40)))
            await forget_lost_calls(honest_calls)
        for task in playing:
            task.cancel()
        for client in clients:
            await client.close()
        await asyncio.gather(*playing, *running, return_exceptions=True)
        await host.stop(0)
        report.memory.append(memory_of_process())
        if host.tables_in_flight or any(host.online().values()):
            report.left_over.append(f"{host.tables_in_flight} tables, sessions {host.online()}")
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(5):
            while len(tasks_of_ours()) > before:
                await asyncio.sleep(0.01)
    if len(tasks_of_ours()) > before:
        report.left_over += map(str, tasks_of_ours())
    report.seconds = time.monotonic() - started
    report.log_errors = [line for line in log.getvalue().splitlines() if json.loads(line)["level"] == "error"]
    return report


async def _tables(play: Any, report: Report, kind: str, bots: tuple[str, str, str, str], clock: TimeControl) -> None:
    """Play one table after the other."""
    number = 0
    while True:
        number += 1
        spec: TableSpec = table(f"{kind}/{number}", bots, clock, seed=number)
        result = await play(spec)
        report.tables[f"{kind} {result.how}"] += 1
        for seat, kinds in result.faults.items():
            if spec.bots[seat] != BAD:
                # A clock that is right for spoiled tables is too short for a busy machine.
                report.honest_faults += sum(n for name, n in kinds.items() if kind == "honest" or name != "timeout")


def tasks_of_ours() -> list[asyncio.Task[Any]]:
    """Tasks, but for those of gRPC's client side."""
    return [task for task in asyncio.all_tasks() if "_AioCall" not in str(task)]


def calls_of_grpc() -> set[asyncio.Task[Any]]:
    """Tasks of gRPC's client side, one an open call."""
    return {task for task in asyncio.all_tasks() if "_AioCall" in str(task)}


async def forget_lost_calls(kept: set[asyncio.Task[Any]]) -> None:
    """End what gRPC's client side keeps of calls that were lost, all but *kept*: it would be taken for the host's."""
    lost = calls_of_grpc() - kept
    for task in lost:
        task.cancel()
    await asyncio.gather(*lost, return_exceptions=True)


def memory_of_process() -> int:
    """Bytes that the process holds."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Fuzz as the command line says; exit code 1 if anything was wrong."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    seed = int(os.environ.get("CHAODIPI_FUZZ_SEED", random.SystemRandom().randrange(2**32)))
    report = asyncio.run(fuzz(count, seed))
    print("\n".join(report.lines()))
    for line in report.untyped[:10] + report.log_errors[:10] + report.left_over:
        print(line)
    bad = report.untyped or report.hung or report.log_errors or report.honest_faults or report.left_over
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
