"""The transport keeps its word: options that really work, dead paths and dead bots noticed, sizes refused.

Times are those of the host and the SDK; where a test would take long, all of them are divided.
"""

import asyncio
import contextlib
import json
import random
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import grpc
import pytest
from chaodipi.engine.cards import Seat
from chaodipi.sdk.baselines.greedy import GreedyBot
from chaodipi.sdk.session import Session
from chaodipi.sdk.transport import OPTIONS, SERVICE_CONFIG, SESSION_OPTIONS
from chaodipi.service.host.errors import HostError
from chaodipi.service.rpc import server as rpc_server
from chaodipi.service.rpc.gate import RIGHTS
from chaodipi.v1 import bot_pb2, bot_pb2_grpc, rules_pb2, rules_pb2_grpc, session_pb2, session_pb2_grpc
from grpc import _cython

from tests.support.proxy import TO_BOT, TO_HOST, between
from tests.support.raw_client import NAMES, TimeControl, hosting, seated, table

HOST_OPTIONS = rpc_server._OPTIONS
BOT_OPTIONS = SESSION_OPTIONS
TRAP = "grpc.http2.min_recv_ping_interval_without_data_ms"
BEARER = (("authorization", "Bearer token-ant"),)
Options = Sequence[tuple[str, Any]]


def faster(options: Options, times: int = 10) -> Options:
    """*options* with every time divided by *times*."""
    return [(name, value // times if name.endswith("_ms") else value) for name, value in options]


def without(options: Options, *names: str) -> Options:
    assert {name for name, _ in options} >= set(names)
    return [(name, value) for name, value in options if name not in names]


@contextlib.asynccontextmanager
async def bot_process(script: str, port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """*script* with the flags of a bot that plays as ``ant`` at *port*."""
    server = f"127.0.0.1:{port}"
    flags = ["--server", server, "--token", "token-ant"]
    bot = await asyncio.create_subprocess_exec(sys.executable, "-c", script, *flags)
    try:
        yield bot
    finally:
        with contextlib.suppress(ProcessLookupError):
            bot.kill()
        await bot.wait()


# ---- names


def test_grpc_knows_every_option_that_is_set_and_not_the_one_that_is_often_copied() -> None:
    """A name that gRPC does not know is ignored without a word, so a slip of the pen would go unnoticed."""
    [library] = Path(_cython.__file__).parent.glob("cygrpc*.so")
    known = library.read_bytes()
    for name, _ in (*HOST_OPTIONS, *BOT_OPTIONS):
        assert name.encode() in known, name
    assert TRAP.encode() not in known


# ---- paths that die


async def test_a_path_that_dies_without_a_word_costs_no_decision() -> None:
    """The bot is back on a new connection before the shortest default limit is up, even without any grace."""
    clock = TimeControl(grace_ms=0)

    async def die(*ways: str) -> None:
        async with hosting() as (host, port), between(port, random.Random(1)) as (proxy, proxy_port):
            cut = Session(GreedyBot, f"127.0.0.1:{proxy_port}", "token-ant")
            other = Session(GreedyBot, f"127.0.0.1:{port}", "token-bee")
            running = [asyncio.create_task(session.run()) for session in (cut, other)]
            await host.wait_for_bots(NAMES[:2], 20)
            playing = asyncio.create_task(host.play_table(table(bots=("ant", "bee", "ant", "bee"), time=clock)))
            while cut.decisions < 3:
                await asyncio.sleep(0)
            proxy.half_open(proxy.links[0], *ways)
            result = await asyncio.wait_for(playing, 60)
            assert (result.how, result.faults) == ("played", {}), ways
            assert host.metrics.registry.get_sample_value("chaodipi_resumes_total", {"bot": "ant"}) == 2, ways
            for session in (cut, other):
                session.stop()
            await asyncio.gather(*running)

    await asyncio.gather(die(TO_HOST), die(TO_BOT), die(TO_HOST, TO_BOT))


BUSY_BOT = """
import time
from chaodipi.sdk import run
from chaodipi.sdk.baselines import GreedyBot
class Busy(GreedyBot):
    def on_deal_end(self, end, view):
        until = time.monotonic() + 3
        while time.monotonic() < until: pass
run(Busy)
"""


async def test_a_slow_path_and_a_bot_that_blocks_its_loop_are_not_taken_for_dead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """gRPC answers pings in threads of its own: at a fifth of the times, a bot may compute for 3 s."""
    monkeypatch.setattr(rpc_server, "_OPTIONS", faster(HOST_OPTIONS, 5))
    script = f"from chaodipi.sdk import session\nsession.SESSION_OPTIONS = {faster(BOT_OPTIONS, 5)!r}\n{BUSY_BOT}"
    async with (
        hosting() as (host, port),
        seated(port, NAMES[1:]),
        between(port, random.Random(1), 0.03, 0.01) as (_, bad_port),
        bot_process(script, bad_port) as _,
    ):
        await host.wait_for_bots(NAMES, 30)
        [session] = host._sessions["ant"]
        results = [await asyncio.wait_for(host.play_table(table(f"t/{n}")), 60) for n in range(2)]
        assert not any(result.faults for result in results)
        assert host._sessions["ant"] == [session]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_bot_that_is_killed_or_frozen_loses_its_session(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a frozen one nothing comes but its kernel's acknowledgements: only the limit of pings shows it."""
    monkeypatch.setattr(rpc_server, "_OPTIONS", faster(HOST_OPTIONS))
    script = "from chaodipi.sdk import run\nfrom chaodipi.sdk.baselines import GreedyBot\nrun(GreedyBot)"
    async with hosting(ping_interval_ms=0) as (host, port), bot_process(script, port) as bot:
        await host.wait_for_bots(["ant"], 30)
        bot.send_signal(number)
        async with asyncio.timeout(20):
            while host.online()["ant"]:
                await asyncio.sleep(0.02)


# ---- pings that are too many


@contextlib.asynccontextmanager
async def idle(client: Options) -> AsyncIterator[Any]:
    """A session over which the host and the bot say nothing after Hello."""
    async with (
        hosting(ping_interval_ms=0) as (_, port),
        grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=client) as channel,
    ):
        call: Any = session_pb2_grpc.BotSessionServiceStub(channel).OpenSession(metadata=BEARER)
        await call.write(session_pb2.OpenSessionRequest(messages=[{"hello": {}}]))
        await call.read()
        yield call
        call.cancel()


async def test_an_idle_session_survives_the_pings_of_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the same pace a host that tolerates gRPC's default, or the option that is often copied, ends it."""
    client = faster(BOT_OPTIONS)
    monkeypatch.setattr(rpc_server, "_OPTIONS", faster(HOST_OPTIONS))
    async with idle(client) as call:
        reading = asyncio.ensure_future(call.read())
        done, _ = await asyncio.wait([reading], timeout=2.0)
        assert not done
        reading.cancel()
    right = "grpc.http2.min_ping_interval_without_data_ms"
    monkeypatch.setattr(rpc_server, "_OPTIONS", [*without(faster(HOST_OPTIONS), right), (TRAP, 100)])
    async with idle(client) as call:
        with pytest.raises(grpc.aio.AioRpcError, match=r"(?i)too.many.pings"):
            await asyncio.wait_for(call.read(), 20)


# ---- single calls


@contextlib.asynccontextmanager
async def asking(answer: Callable[[int], Awaitable[str]], options: Options = OPTIONS) -> AsyncIterator[Any]:
    """A stub of a host whose GetServerInfo does what *answer* says at the nth asking."""

    class Info(bot_pb2_grpc.SystemServiceServicer):
        asked = 0

        async def GetServerInfo(self, request: Any, context: Any) -> bot_pb2.GetServerInfoResponse:
            Info.asked += 1
            version = await answer(Info.asked)
            if not version:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE: in a moment")
            return bot_pb2.GetServerInfoResponse(server_version=version)

    server = grpc.aio.server()
    bot_pb2_grpc.add_SystemServiceServicer_to_server(Info(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        yield bot_pb2_grpc.SystemServiceStub(channel)
    await server.stop(0)


async def test_a_question_is_asked_again_while_the_host_is_unavailable_four_times_in_all() -> None:
    async def third(count: int) -> str:
        return "1.0" if count == 3 else ""

    async def never(count: int) -> str:
        counts.append(count)
        return ""

    counts: list[int] = []
    async with asking(third) as system:
        assert (await system.GetServerInfo(bot_pb2.GetServerInfoRequest())).server_version == "1.0"
    async with asking(never) as system:
        with pytest.raises(grpc.aio.AioRpcError, match="STORE_UNAVAILABLE"):
            await system.GetServerInfo(bot_pb2.GetServerInfoRequest())
    assert counts == [1, 2, 3, 4]


async def test_a_question_that_nobody_answers_has_an_end() -> None:
    """The deadline is the channel's own: whoever calls need not think of it."""
    config = SERVICE_CONFIG.replace('"10s"', '"0.2s"')
    assert config != SERVICE_CONFIG

    async def sleep(_: int) -> str:
        await asyncio.sleep(60)
        return ""

    options = [(name, config if name == "grpc.service_config" else value) for name, value in OPTIONS]
    async with asking(sleep, options) as system:
        with pytest.raises(grpc.aio.AioRpcError) as late:
            await system.GetServerInfo(bot_pb2.GetServerInfoRequest())
    assert late.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED


def test_every_question_has_its_deadline_and_nothing_else_is_asked_again() -> None:
    """Services with questions only are named whole; sessions never are."""
    named = {name["service"] for method in json.loads(SERVICE_CONFIG)["methodConfig"] for name in method["name"]}
    ours = {method.split("/")[1] for method in RIGHTS if method.startswith("/chaodipi.")}
    assert named == ours - {"chaodipi.v1.BotSessionService"}
    verbs = ("Get", "List", "Check", "Judge", "WhoAmI")
    asked = [method.split("/")[2] for method in RIGHTS if method.split("/")[1] in named]
    assert all(name.startswith(verbs) for name in asked)


# ---- draining


async def test_a_bot_that_drains_ends_its_tables_and_gets_no_new_one() -> None:
    """Its seats at later tables are as those of a bot that is away; then it goes with OK."""
    async with hosting() as (host, port), seated(port, NAMES[1:]) as others:
        others["bee"].silent = True
        bot = Session(GreedyBot, f"127.0.0.1:{port}", "token-ant")
        running = asyncio.create_task(bot.run())
        await host.wait_for_bots(NAMES, 20)
        playing = asyncio.create_task(host.play_table(table()))
        await asyncio.wait_for(others["bee"].asked.wait(), 20)
        bot.drain()
        later = asyncio.create_task(host.play_table(table("t/2", time=TimeControl(ready_ms=1))))
        assert (await asyncio.wait_for(later, 60)).faults[Seat.S0] == {"not_ready": 1}
        assert not running.done()
        await others["bee"].go_on()
        result = await asyncio.wait_for(playing, 60)
        assert Seat.S0 not in result.faults
        async with asyncio.timeout(20):
            await running
            while host.online()["ant"]:
                await asyncio.sleep(0)


async def test_a_host_that_drains_ends_its_tables_and_lets_nobody_new_in() -> None:
    async with hosting() as (host, port), seated(port, NAMES[1:]) as others:
        others["bee"].silent = True
        bot = Session(GreedyBot, f"127.0.0.1:{port}", "token-ant")
        running = asyncio.create_task(bot.run())
        await host.wait_for_bots(NAMES, 20)
        playing = asyncio.create_task(host.play_table(table()))
        await asyncio.wait_for(others["bee"].asked.wait(), 20)
        draining = asyncio.create_task(host.drain(60))
        while not host.draining:
            await asyncio.sleep(0)
        with pytest.raises(HostError, match="stopping"):
            await host.play_table(table("t/2"))
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            call: Any = session_pb2_grpc.BotSessionServiceStub(channel).OpenSession(metadata=BEARER)
            await call.write(session_pb2.OpenSessionRequest(messages=[{"hello": {"instance": "new"}}]))
            assert await call.code() == grpc.StatusCode.UNAVAILABLE
            assert "SERVER_DRAINING" in await call.details()
        await others["bee"].go_on()
        result = await asyncio.wait_for(playing, 60)
        assert (result.how, result.faults) == ("played", {})
        await asyncio.wait_for(draining, 20)
        assert [client.draining.stop_within_ms for client in others.values() if client.draining] == [60_000] * 3
        assert not running.done()  # a bot of the SDK comes back to the host that is started next
        bot.stop()
        await running


# ---- sizes


async def test_messages_above_the_limit_end_their_own_call_only() -> None:
    """Both ends: what a host takes, unary and in a stream, and what a bot of the SDK takes."""
    limit = rpc_server.MAX_MESSAGE_BYTES
    async with hosting() as (_, port), grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        rules: Any = rules_pb2_grpc.RulesServiceStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await rules.Judge(rules_pb2.JudgeRequest(question_json="x" * limit), metadata=BEARER)
        assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        stub: Any = session_pb2_grpc.BotSessionServiceStub(channel)
        calls = [stub.OpenSession(metadata=BEARER) for _ in range(2)]
        for call in calls:
            await call.write(session_pb2.OpenSessionRequest(messages=[{"hello": {}}]))
            await call.read()
        big = session_pb2.OpenSessionRequest(messages=[{"answer": {"debug_note": "x" * limit}}])
        await calls[0].write(big)
        assert await calls[0].code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        await calls[1].write(session_pb2.OpenSessionRequest(messages=[{"ping": {"nonce": 7}}]))
        assert [message.pong.nonce for message in (await calls[1].read()).messages] == [7]
        calls[1].cancel()


async def test_a_bot_of_the_sdk_takes_no_message_above_the_limit() -> None:
    limit = dict(BOT_OPTIONS)["grpc.max_receive_message_length"]

    class Babbler(bot_pb2_grpc.SystemServiceServicer):
        async def GetServerInfo(self, request: Any, context: Any) -> bot_pb2.GetServerInfoResponse:
            return bot_pb2.GetServerInfoResponse(server_version="x" * limit)

    server = grpc.aio.server()
    bot_pb2_grpc.add_SystemServiceServicer_to_server(Babbler(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=BOT_OPTIONS) as channel:
        system: Any = bot_pb2_grpc.SystemServiceStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await system.GetServerInfo(bot_pb2.GetServerInfoRequest())
        assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    await server.stop(0)
