"""The gallery of bad bots as real processes: each gets what it earned, and nobody else notices."""

import asyncio
import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass

import pytest
from chaodipi.sdk.badbots import GALLERY
from chaodipi.service.host.quota import Quotas
from chaodipi.service.launch import Launcher, Limits
from chaodipi.service.match.table import TableSpec, TimeControl

from tests.support.raw_client import Client, hosting, table

HONEST = ("ant", "bee", "cat")
CLOCK = TimeControl(play_ms=400, bury_ms=400, ready_ms=4_000, max_faults=6)
RESUME_S = 0.5


@dataclass
class Played:
    """Two tables at once: one that the bad bot sits at, one that it does not."""

    spoiled: object
    healthy: object
    honest: dict
    host: object
    log: str
    nonces: dict

    @property
    def faults(self):
        """Kinds of fault of the bad bot's seats."""
        return {kind for seat in (1, 3) for kind in self.spoiled.faults.get(seat, {})}


async def played(name, tmp_path, clock=CLOCK, **options):
    async with contextlib.AsyncExitStack() as stack:
        host, port = await stack.enter_async_context(hosting(resume_window_s=RESUME_S, **options))
        clients = {honest: Client(port, honest) for honest in HONEST}
        running = [asyncio.create_task(client.run()) for client in clients.values()]
        launcher = stack.enter_context(Launcher(tmp_path, grace_s=0.2, limits=Limits(log_kb=64)))
        command = [sys.executable, "-m", "chaodipi.sdk.badbots.cli", name]
        launcher.start("dog", command, f"127.0.0.1:{port}", "token-dog")
        await host.wait_for_bots(HONEST, 30)
        if not name.startswith("crash-at-start"):
            with contextlib.suppress(Exception):
                await host.wait_for_bots(["dog"], 20)
        nonces = {}
        if name == "bad-nonces":
            for honest, client in clients.items():
                client.nonce = honest.encode()
            entries = {f"leagues/l/entries/{each}": each for each in (*HONEST, "dog")}
            nonces = await host.collect_nonces(entries, b"c" * 32, 60_000)
        spoiled: TableSpec = table("t/spoiled", ("ant", "dog", "bee", "dog"), clock)
        healthy: TableSpec = table("t/healthy", ("ant", "bee", "cat", "bee"), seed=8)
        async with asyncio.timeout(120):
            results = await asyncio.gather(host.play_table(spoiled), host.play_table(healthy))
            # The last word to each seat is on its way when the results are there.
            while [len(clients[name].ended) for name in HONEST] != [2, 3, 1]:
                await asyncio.sleep(0.01)
        for client in clients.values():
            await client.close()
        await asyncio.gather(*running, return_exceptions=True)
    # The end of a long log is written when the bot has ended.
    return Played(*results, clients, host, (tmp_path / "dog.log").read_text(errors="replace"), nonces)


# What each may be booked for, and whether its table must be forfeited (None: it depends on when the bot is noticed).
EXPECTED = {
    "illegal": ({"illegal"}, True),
    "malformed": ({"malformed", "illegal"}, True),
    "slow": ({"timeout"}, True),
    "silent": ({"timeout"}, True),
    "not-ready": ({"not_ready", "timeout"}, None),
    "crash-at-start": ({"not_ready", "timeout", "disconnected"}, None),
    "crash-in-deal": ({"disconnected", "timeout"}, None),
    "crash-at-end": (set(), False),
    "babbler": (set(), False),
    "long-lines": (set(), False),
    "never-reads": ({"not_ready", "timeout", "disconnected"}, None),
    "storm": (set(), False),
    "answers-twice": (set(), False),
    "answers-early": (set(), False),
    "others-seat": (set(), False),
    "thief": (set(), False),
    "strange": (set(), False),
    "forker": (set(), False),
    "bad-nonces": (set(), False),
    "flood": ({"not_ready", "timeout", "disconnected"}, None),
}


# Answers to decisions that are not open: counted for the bot that gave them, and no fault.
STRAYS = {"slow": "late", "answers-twice": "stale", "answers-early": "stale", "others-seat": "stale"}


# The situation that a bot is there for. Silence (T2) is told apart from a crash (T1); every decision of `slow` (T3) was
# closed by the clock, and none by the late answer.
SITUATIONS = {
    "crash-in-deal": "T1", "silent": "T2", "slow": "T3", "answers-twice": "T3", "answers-early": "T3", "illegal": "T4",
    "malformed": "T4", "others-seat": "T4", "strange": "T4", "babbler": "T11", "long-lines": "T11",
    "never-reads": "T12", "thief": "f",
}  # fmt: skip


def case(name):
    return pytest.param(name, marks=pytest.mark.situation(SITUATIONS[name]) if name in SITUATIONS else ())


@pytest.mark.parametrize("name", [case(name) for name in EXPECTED])
async def test_a_bad_bot_gets_its_own_faults_and_nobody_elses_notice(name, tmp_path):
    allowed, forfeits = EXPECTED[name]
    if not allowed:
        # A short clock would make a busy machine guilty of what the bot did not do.
        done = await played(name, tmp_path, TimeControl(play_ms=15_000, ready_ms=30_000))
    else:
        done = await played(name, tmp_path, quotas=Quotas(frames_s=2_000))
    assert done.healthy.how == "played"
    assert done.healthy.faults == {}
    assert not any(seat in done.spoiled.faults for seat in (0, 2)), done.spoiled.faults
    assert done.faults <= allowed, done.log[-2000:]
    if forfeits is not None:
        assert done.spoiled.how == ("forfeit" if forfeits else "played"), done.log[-2000:]
    if allowed:
        assert done.faults
    # What a bot is counted for is counted for it alone, each kind by itself.
    registry = done.host.metrics.registry
    for kind in ("illegal", "malformed", "timeout", "disconnected", "not_ready"):
        booked = sum(done.spoiled.faults.get(seat, {}).get(kind, 0) for seat in (1, 3))
        assert (registry.get_sample_value("chaodipi_faults_total", {"bot": "dog", "kind": kind}) or 0) == booked
        for honest in HONEST:
            assert not registry.get_sample_value("chaodipi_faults_total", {"bot": honest, "kind": kind})
    assert "Traceback" not in done.log
    strays = {kind for kinds in done.spoiled.strays.values() for kind in kinds}
    assert strays == ({STRAYS[name]} if name in STRAYS else set())
    assert not any(seat in done.spoiled.strays for seat in (0, 2)), done.spoiled.strays


@pytest.mark.situation("T3")
async def test_t3_a_slow_bot_at_many_tables_at_once_is_late_at_all_of_them(tmp_path):
    """It keeps its one session: what many seats say at the same moment is said one after the other."""
    async with contextlib.AsyncExitStack() as stack:
        host, port = await stack.enter_async_context(hosting())
        clients = [Client(port, honest) for honest in HONEST]
        running = [asyncio.create_task(client.run()) for client in clients]
        launcher = stack.enter_context(Launcher(tmp_path, grace_s=0.2))
        launcher.start(
            "dog", [sys.executable, "-m", "chaodipi.sdk.badbots.cli", "slow"], f"127.0.0.1:{port}", "token-dog"
        )
        await host.wait_for_bots([*HONEST, "dog"], 60)
        clock = TimeControl(play_ms=400, bury_ms=400, ready_ms=60_000, max_faults=6)
        specs = [table(f"t/{n}", ("ant", "dog", "bee", "dog"), clock, seed=n) for n in range(16)]
        async with asyncio.timeout(120):
            results = await asyncio.gather(*(host.play_table(spec) for spec in specs))
        assert host.online()["dog"] == 1
        for client in clients:
            await client.close()
        await asyncio.gather(*running, return_exceptions=True)
        assert {kind for result in results for kinds in result.faults.values() for kind in kinds} == {"timeout"}
        assert sum(kinds.get("late", 0) for result in results for kinds in result.strays.values()) >= 16
    assert "Traceback" not in (tmp_path / "dog.log").read_text()


def test_the_gallery_is_listed_on_80_columns():
    listed = subprocess.run(
        [sys.executable, "-m", "chaodipi.sdk.badbots.cli", "list"],
        env=os.environ | {"COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert [line.split()[0] for line in listed if line[0] != " "] == list(GALLERY)
    assert max(map(len, listed)) <= 80


async def test_bad_nonces_are_refused_and_those_of_the_others_stand(tmp_path):
    """The first that can be used is the bot's own; nothing that it says of others' entries changes them."""
    done = await played("bad-nonces", tmp_path, TimeControl())
    given = {name: name.encode() for name in HONEST} | {"dog": b"first"}
    assert done.nonces == {f"leagues/l/entries/{name}": nonce for name, nonce in given.items()}
    assert done.log.count("warned: FIELD_INVALID entry_nonce.nonce has ") == 2
    # Five of others, two after the first of its own, and one with every decision.
    assert done.log.count("warned: NONCE_NOT_ASKED ") > 7
    assert done.spoiled.how == "played"


def test_every_bad_bot_is_tried():
    assert set(EXPECTED) == set(GALLERY)


@pytest.mark.situation("T1")
async def test_t1_a_bot_killed_in_mid_deal_costs_its_table_and_no_other(tmp_path):
    done = await played("crash-in-deal", tmp_path, TimeControl(play_ms=15_000, ready_ms=30_000, max_faults=1))
    assert (done.spoiled.how, done.spoiled.forfeiting_seat in (1, 3)) == ("forfeit", True)
    assert done.faults == {"disconnected"}
    # Partner and opponents are told of the end.
    assert [len(done.honest[name].ended) for name in ("ant", "bee")] == [2, 3]


@pytest.mark.situation("T11")
async def test_t11_babble_and_long_notes_cost_nobody_anything(tmp_path):
    done = await played("long-lines", tmp_path, TimeControl())
    assert "warned: NOTE_TOO_LARGE" in done.log
    assert "bytes left out" in done.log
    assert len(done.log) < 80_000
