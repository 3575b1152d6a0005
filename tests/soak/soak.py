"""A host with many bots for a while: flat memory, nothing left behind, the healthy unaffected by the bad.

``python -m tests.soak.soak 600`` (``make soak``) plays 256 tables at once between 64 honest bots, the first half alone,
the second half with bad bots of the gallery as processes beside them, and prints the figures.
"""

import asyncio
import contextlib
import itertools
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from chaodipi.service.host.host import Host
from chaodipi.service.host.identity import hash_token
from chaodipi.service.launch import BotExitedError, Launcher
from chaodipi.service.logs import configure_logs
from chaodipi.service.match.table import TimeControl
from chaodipi.service.rpc.server import start_server

from tests.fuzz.fuzzer import Honest, memory_of_process, tasks_of_ours
from tests.support.raw_client import table

BAD = ("silent", "malformed", "never-reads", "flood", "storm", "answers-twice", "babbler", "slow")
PATIENT = TimeControl(play_ms=60_000, bury_ms=60_000, ready_ms=60_000)
SHORT = TimeControl(play_ms=500, bury_ms=500, ready_ms=10_000)


@dataclass
class Half:
    """What one half of the time gave."""

    decisions: int = 0
    p99_ms: float = 0.0
    tables: Counter[str] = field(default_factory=Counter)
    honest_faults: int = 0


@dataclass
class Report:
    """Both halves, memory in MiB at eight moments, and what was left at the end."""

    alone: Half
    beside: Half
    memory: list[int]
    left_over: list[str]
    seconds: float

    def lines(self) -> list[str]:
        """The report for people."""
        ratio = self.beside.p99_ms / self.alone.p99_ms if self.alone.p99_ms else float("nan")
        return [
            f"{name}: {half.decisions:,} decisions of honest bots, 99 % within {half.p99_ms:.0f} ms, tables "
            + (", ".join(f"{kind} {count}" for kind, count in sorted(half.tables.items())) or "none")
            + f", faults of honest bots {half.honest_faults}"
            for name, half in (("alone", self.alone), ("beside bad bots", self.beside))
        ] + [
            f"p99 beside bad bots / alone: {ratio:.2f}",
            f"memory in MiB: {', '.join(map(str, self.memory))}",
            f"left over: {', '.join(self.left_over) or 'nothing'}; {self.seconds:.0f} s",
        ]


class Players:
    """A host with honest bots, and tables that are played one after the other on so many places."""

    def __init__(self, bots: int, tables: int) -> None:
        self.names = [f"bot{number:02}" for number in range(bots)]
        self.places = tables
        self.half = Half()
        self._numbers = itertools.count(1)
        self._rng = random.Random(1)
        tokens = {name: f"token-{name}" for name in [*self.names, *BAD]}
        self.host = Host({name: hash_token(token) for name, token in tokens.items()}, resume_window_s=1.0)

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[int]:
        """The host's port, for as long as the block runs."""
        server, port = await start_server(self.host)
        clients = [Honest(port, name, max_tables=4 * self.places) for name in self.names]
        running = [asyncio.create_task(client.run()) for client in clients]
        try:
            await self.host.wait_for_bots(self.names, 60)
            yield port
        finally:
            for client in clients:
                await client.close()
            await asyncio.gather(*running, return_exceptions=True)
            await self.host.stop(0)
            await server.stop(1)

    async def honest_place(self) -> None:
        """One honest table after the other."""
        while True:
            bots = self._rng.sample(self.names, 4)
            await self._play("honest", (bots[0], bots[1], bots[2], bots[3]), PATIENT)

    async def bad_place(self, name: str) -> None:
        """One table after the other at which *name* sits with honest bots."""
        while True:
            one, two = self._rng.sample(self.names, 2)
            await self._play("spoiled", (one, name, two, name), SHORT)

    async def _play(self, kind: str, bots: tuple[str, str, str, str], clock: TimeControl) -> None:
        number = next(self._numbers)
        result = await self.host.play_table(table(f"{kind}/{number}", bots, clock, seed=number))
        self.half.tables[f"{kind} {result.how}"] += 1
        for seat, kinds in result.faults.items():
            if bots[seat] not in BAD:
                # The short clock of a spoiled table may be too short for an honest bot on a busy machine.
                counted = kinds if kind == "honest" else {k: n for k, n in kinds.items() if k != "timeout"}
                self.half.honest_faults += sum(counted.values())

    def latency(self) -> tuple[int, dict[float, float]]:
        """Decisions of honest bots so far, and how many took at most so many seconds."""
        buckets: Counter[float] = Counter()
        for family in self.host.metrics.registry.collect():
            if family.name == "chaodipi_decision_seconds":
                for sample in family.samples:
                    if sample.name.endswith("_bucket") and sample.labels["bot"] not in BAD:
                        buckets[float(sample.labels["le"])] += sample.value
        return int(buckets[float("inf")]), dict(buckets)


async def soak(seconds: float, bots: int = 64, tables: int = 256) -> Report:
    """Play for *seconds*; what came of it."""
    began = time.monotonic()
    before = len(tasks_of_ours())
    players = Players(bots, tables)
    halves: list[Half] = []
    memory: list[int] = []
    left_over: list[str] = []
    async with players.open() as port:
        places = [asyncio.create_task(players.honest_place()) for _ in range(tables)]
        with tempfile.TemporaryDirectory() as logs, Launcher(Path(logs), grace_s=0.5) as launcher:
            for spoiled in (False, True):
                if spoiled:
                    places += [asyncio.create_task(players.bad_place(name)) for name in BAD]
                    for name in BAD:
                        command = [sys.executable, "-m", "chaodipi.sdk.badbots.cli", name]
                        launcher.start(name, command, f"127.0.0.1:{port}", f"token-{name}")
                players.half = half = Half()
                count, buckets = players.latency()
                for _ in range(4):
                    await asyncio.sleep(seconds / 8)
                    memory.append(memory_of_process() >> 20)
                    with contextlib.suppress(BotExitedError):
                        launcher.check()
                half.decisions, half.p99_ms = _since(players, count, buckets)
                halves.append(half)
            for place in places:
                place.cancel()
            ended = await asyncio.gather(*places, return_exceptions=True)
            left_over += [repr(error) for error in ended if not isinstance(error, asyncio.CancelledError)]
        if players.host.tables_in_flight:
            left_over.append(f"{players.host.tables_in_flight} tables")
    if any(players.host.online().values()):
        left_over.append("sessions")
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(5):
            while len(tasks_of_ours()) > before:
                await asyncio.sleep(0.05)
    left_over += [str(task) for task in tasks_of_ours()[before:]]
    return Report(halves[0], halves[1], memory, left_over, time.monotonic() - began)


def _since(players: Players, count: int, buckets: dict[float, float]) -> tuple[int, float]:
    """Decisions since then, and the bucket's bound in ms within which 99 of 100 of them were."""
    now, later = players.latency()
    made = now - count
    for bound in sorted(later):
        if made and later[bound] - buckets.get(bound, 0.0) >= 0.99 * made:
            return made, 1000 * bound
    return made, 0.0


def main() -> int:
    """Soak as the command line says; exit code 1 if something was left over or an honest bot was booked."""
    configure_logs("error")
    report = asyncio.run(soak(float(sys.argv[1]) if len(sys.argv) > 1 else 600.0))
    print("\n".join(report.lines()))
    return 1 if report.left_over or report.alone.honest_faults or report.beside.honest_faults else 0


if __name__ == "__main__":
    sys.exit(main())
