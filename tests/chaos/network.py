"""A league over a bad network ends as one over a good one: ``make chaos``, or a short run as a test.

Bots play through a proxy that delays everything, jitters, cuts connections and leaves them half-open. Nothing of it
may be scored: the records are those of the same league without the proxy, to the byte.
"""

import argparse
import asyncio
import contextlib
import logging
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from chaodipi.engine.ruleset import resolve
from chaodipi.sdk.baselines.greedy import GreedyBot
from chaodipi.sdk.baselines.random import RandomBot
from chaodipi.sdk.bot import Bot
from chaodipi.sdk.session import Session
from chaodipi.service.boards.board import Secrets
from chaodipi.service.host.host import Host
from chaodipi.service.host.identity import hash_token
from chaodipi.service.logs import configure_logs
from chaodipi.service.match.table import TimeControl
from chaodipi.service.rpc.server import start_server
from chaodipi.service.scheduler.league import play_league
from chaodipi.service.scheduler.schedule import Entry, Plan
from chaodipi.service.scheduler.standings import PairOutcome

from tests.support.proxy import TO_BOT, TO_HOST, Proxy, between

BOTS: dict[str, type[Bot]] = {"random": RandomBot, "greedy": GreedyBot}
CLOCK = TimeControl(play_ms=120_000, bury_ms=120_000, grace_ms=60_000, ready_ms=120_000)
"""So long that only what is lost for good could cost anything."""
WAYS = [(TO_HOST,), (TO_BOT,), (TO_HOST, TO_BOT)]


@dataclass
class Report:
    """What was done to the network, and what became of the league."""

    seed: int
    tables: int
    injected: Counter[str] = field(default_factory=Counter)
    resumed: int = 0
    ended: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    other_records: list[str] = field(default_factory=list)
    took_s: float = 0.0

    @property
    def lost(self) -> int:
        """Tables that did not end, records that differ, and faults that were scored."""
        return self.tables - self.ended + len(self.other_records) + self.faults.total()

    def __str__(self) -> str:
        done = ", ".join(f"{count} × {kind}" for kind, count in sorted(self.injected.items()))
        return (
            f"network, seed {self.seed}: {self.tables} tables in {self.took_s:.1f} s\n"
            f"  injected: a delay with jitter throughout, and\n    {done or 'nothing'}\n"
            f"  seats that their bots came back to and played on: {self.resumed}\n"
            f"  compared with the same league without the proxy: records to the byte\n"
            f"  lost: {self.lost} (tables that did not end {self.tables - self.ended},\n"
            f"    records that differ {len(self.other_records)}, faults scored {self.faults.total()})"
        )


@contextlib.asynccontextmanager
async def hosted() -> AsyncIterator[tuple[Host, int]]:
    """A host that pings often, so that a dead path is noticed soon."""
    host = Host({name: hash_token(name) for name in BOTS}, resume_window_s=60.0, ping_interval_ms=500)
    server, port = await start_server(host)
    try:
        yield host, port
    finally:
        await host.stop(0)
        await server.stop(0.2)


@contextlib.asynccontextmanager
async def playing(port: int, host: Host) -> AsyncIterator[None]:
    """Every bot, playing at *port*."""
    sessions = [Session(bot, f"127.0.0.1:{port}", name, instance=name) for name, bot in BOTS.items()]
    tasks = [asyncio.create_task(session.run()) for session in sessions]
    try:
        await host.wait_for_bots(BOTS, 60)
        yield
    finally:
        for session in sessions:
            session.stop()
        await asyncio.gather(*tasks)


async def disturb(proxy: Proxy, rng: random.Random, every_s: float) -> None:
    """Cut or half-open some healthy connection now and then."""
    while True:
        await asyncio.sleep(rng.uniform(0.5, 1.5) * every_s)
        healthy = [link for link in proxy.links if link.healthy and link.tasks]
        if not healthy:
            continue
        link = rng.choice(healthy)
        if rng.random() < 0.5:
            proxy.cut(link)
        else:
            proxy.half_open(link, *rng.choice(WAYS))


async def league(plan: Plan, host: Host, records: Path) -> list[PairOutcome]:
    return await play_league(plan, host, records, tables_in_flight=16)


async def run(
    folder: Path, seed: int, *, boards: int, delay_s: float, jitter_s: float, every_s: float, ruleset: str = "ming_chao"
) -> Report:
    """Play *boards* boards over a bad network and over a good one, and compare."""
    rng = random.Random(seed)
    secrets = Secrets(rng.randbytes(32), (b"", b""))
    plan = Plan("net", resolve(ruleset), tuple(map(Entry.of_bot, BOTS)), boards, secrets, CLOCK)
    report = Report(seed, 2 * boards)
    async with hosted() as (host, port), playing(port, host):
        await league(plan, host, folder / "good")
    began = time.monotonic()
    async with hosted() as (host, port), between(port, rng, delay_s, jitter_s) as (proxy, proxy_port):
        async with playing(proxy_port, host):
            bad = asyncio.create_task(disturb(proxy, rng, every_s))
            try:
                outcomes = await league(plan, host, folder / "bad")
            finally:
                bad.cancel()
            report.took_s = time.monotonic() - began
            value = host.metrics.registry.get_sample_value
            report.resumed = int(sum(value("chaodipi_resumes_total", {"bot": name}) or 0 for name in BOTS))
        report.injected = proxy.injected
    report.ended = 2 * len(outcomes)
    for outcome in outcomes:
        report.faults.update(sum(outcome.faults.values(), Counter[str]()))
    names = {path.name for kind in ("good", "bad") for path in (folder / kind).glob("*.jsonl")}
    report.other_records = sorted(name for name in names if not same(folder / "good" / name, folder / "bad" / name))
    return report


def same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.read_bytes() == other.read_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(description="Play a league over a bad network.")
    parser.add_argument("--boards", type=int, default=12)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("CHAODIPI_CHAOS_SEED", random.randrange(2**32))))
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    configure_logs("error")
    logging.getLogger("chaodipi.sdk").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(
            run(Path(folder), args.seed, boards=args.boards, delay_s=0.150, jitter_s=0.050, every_s=2.0)
        )
    print(report)
    sys.exit(1 if report.lost or not report.resumed else 0)


if __name__ == "__main__":
    main()
