"""Who is waited for, and who is not held meanwhile: bots that do not come (g), bots in a debugger (d)."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from chaodipi.engine.cards import Seat
from chaodipi.service.host.host import Host
from chaodipi.service.match.table import TimeControl
from chaodipi.service.rpc import server as rpc_server
from chaodipi.v1 import cards_pb2

from tests.support.clocks import stepping
from tests.support.raw_client import NAMES, hosting, seated, table

PATIENCE_S = 120
DAY_MS = 86_400_000
FREE = TimeControl(untimed=True)
PLAYING = (cards_pb2.PHASE_LEAD, cards_pb2.PHASE_FOLLOW)


async def until(condition: Callable[[], object]) -> None:
    """What others do over sockets is waited for."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


def held(host: Host) -> int:
    """Seats that sessions hold."""
    return sum(len(session.channels) for session in host._all_sessions())


# ---- bots that do not come


@pytest.mark.situation("g")
async def test_three_of_four_are_free_for_other_tables_until_the_fourth_is_not_waited_for_any_more() -> None:
    """The table is not half assigned; when its time is up it begins at once, and when it is over all are free."""
    async with hosting() as (host, port), seated(port, NAMES[:3], max_tables=2) as clients:
        with stepping() as step:
            await host.wait_for_bots(NAMES[:3], PATIENCE_S)
            waiting = asyncio.create_task(host.play_table(table("t/waits", time=TimeControl(ready_ms=DAY_MS))))
            for number, bots in enumerate([("ant", "bee", "ant", "bee"), ("cat", "ant", "cat", "ant")]):
                other = await asyncio.wait_for(host.play_table(table(f"t/{number}", bots)), PATIENCE_S)
                assert (other.how, other.faults) == ("played", {})
            assert not waiting.done()
            assert held(host) == 0
            assert not [a for c in clients.values() for a in c.assigned if a.match.name.endswith("waits")]
            step(DAY_MS / 1000)
            result = await asyncio.wait_for(waiting, PATIENCE_S)
        assert (result.how, result.faults) == ("played", {Seat.S3: {"not_ready": 1}})
        assert held(host) == 0


@pytest.mark.situation("g")
async def test_three_of_four_are_free_when_the_table_is_given_up() -> None:
    async with hosting() as (host, port), seated(port, NAMES[:3], max_tables=2):
        await host.wait_for_bots(NAMES[:3], PATIENCE_S)
        waiting = asyncio.create_task(host.play_table(table("t/waits", time=TimeControl(ready_ms=DAY_MS))))
        other = await asyncio.wait_for(host.play_table(table("t/1", ("ant", "bee", "ant", "bee"))), PATIENCE_S)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        after = await asyncio.wait_for(host.play_table(table("t/2", ("ant", "cat", "ant", "cat"))), PATIENCE_S)
        assert (other.faults, after.faults, held(host), host.tables_in_flight) == ({}, {}, 0, 0)


@pytest.mark.situation("g")
async def test_a_table_that_is_forfeited_because_a_bot_does_not_come_tells_the_others_and_frees_them() -> None:
    """Whichever seat it has, the others were given theirs before."""
    async with hosting() as (host, port), seated(port, NAMES[1:]) as clients:
        await host.wait_for_bots(NAMES[1:], PATIENCE_S)
        host.give_up("ant")
        result = await asyncio.wait_for(host.play_table(table(time=TimeControl(max_faults=1))), PATIENCE_S)
        assert (result.how, result.forfeiting_seat) == ("forfeit", Seat.S0)
        await until(lambda: all(client.ended for client in clients.values()))
        assert {client.ended[0].result.forfeiting_seat for client in clients.values()} == {cards_pb2.SEAT_0}
        assert held(host) == 0


# ---- bots in a debugger


@contextlib.asynccontextmanager
async def served(host: Host) -> AsyncIterator[int]:
    """One more port of *host*."""
    server, port = await rpc_server.start_server(host)
    try:
        yield port
    finally:
        await server.stop(0)


@contextlib.asynccontextmanager
async def bot_process(port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """The greedy baseline as ``dog``, in a process of its own."""
    env = os.environ | {"CHAODIPI_SERVER": f"127.0.0.1:{port}", "CHAODIPI_TOKEN": "token-dog"}
    command = [sys.executable, "-m", "chaodipi.sdk.cli", "run", "greedy"]
    quiet = asyncio.subprocess.DEVNULL
    bot = await asyncio.create_subprocess_exec(*command, env=env, stdout=quiet, stderr=quiet)
    try:
        yield bot
    finally:
        with contextlib.suppress(ProcessLookupError):
            bot.kill()
        await bot.wait()


@pytest.mark.situation("d")
@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL], ids=lambda n: n.name)
async def test_an_untimed_table_waits_for_a_bot_that_is_stopped_or_started_anew(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A stopped process answers no ping, so it loses its session; its seat waits, for hours, until it is back.

    At a timed table beside it the same bot is played by default actions meanwhile.
    """
    async with hosting(resume_window_s=0.05) as (host, port), seated(port, NAMES[:3]) as clients:
        # At a door of its own the bot that will be stopped is soon missed, and nobody else is taken for dead.
        faster = [(name, value // 10 if name.endswith("_ms") else value) for name, value in rpc_server._OPTIONS]
        monkeypatch.setattr(rpc_server, "_OPTIONS", faster)
        async with served(host) as door, bot_process(door) as bot:
            await host.wait_for_bots(NAMES, PATIENCE_S)
            stopped = asyncio.Event()

            def stop(decision: Any) -> None:
                if decision.phase in PLAYING and not stopped.is_set():
                    stopped.set()
                    bot.send_signal(number)

            clients["ant"].answer = stop
            timed = asyncio.create_task(host.play_table(table("t/timed", time=TimeControl(play_ms=DAY_MS))))
            free = asyncio.create_task(host.play_table(table("t/free", time=FREE)))
            await asyncio.wait_for(stopped.wait(), PATIENCE_S)
            await until(lambda: not host.online()["dog"])
            beside = await asyncio.wait_for(timed, PATIENCE_S)
            assert (beside.how, set(beside.faults), set(beside.faults[Seat.S3])) == (
                "played",
                {Seat.S3},
                {"disconnected"},
            )
            with stepping() as step:
                step(5 * 3600)
                # A whole table is time enough for whatever is due.
                await asyncio.wait_for(host.play_table(table("t/other", ("ant", "bee", "cat", "ant"))), PATIENCE_S)
                assert not free.done()
                async with contextlib.AsyncExitStack() as stack:
                    if number == signal.SIGSTOP:
                        bot.send_signal(signal.SIGCONT)
                    else:
                        await stack.enter_async_context(bot_process(door))
                    result = await asyncio.wait_for(free, PATIENCE_S)
        assert (result.how, result.faults) == ("played", {})
        assert not any(record.by_host for record in result.decisions)
        assert host.metrics.registry.get_sample_value("chaodipi_resumes_total", {"bot": "dog"})


@pytest.mark.situation("d")
@pytest.mark.parametrize("how", ["leaves", "given up before", "given up after"])
async def test_an_untimed_table_does_not_wait_for_who_leaves_or_is_given_up(how: str) -> None:
    async with hosting() as (host, port), seated(port) as clients:
        dog = clients["dog"]
        dog.silent = True
        await host.wait_for_bots(NAMES, PATIENCE_S)
        playing = asyncio.create_task(host.play_table(table(time=FREE)))
        await asyncio.wait_for(dog.asked.wait(), PATIENCE_S)
        if how == "leaves":
            await dog.leave(1)
        elif how == "given up before":
            host.give_up("dog")
            await dog.close()
        else:
            await dog.close()
            await until(lambda: not host.online()["dog"])
            assert not playing.done()
            host.give_up("dog")
        result = await asyncio.wait_for(playing, PATIENCE_S)
        assert (result.how, result.faults) == ("played", {Seat.S3: {"disconnected": 1}})
