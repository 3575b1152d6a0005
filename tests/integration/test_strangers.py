"""Who must not play: SDKs of before, and whoever has a seat's token but not its bot's."""

import asyncio
from typing import Any

import grpc
import pytest
from chaodipi.sdk import session as sdk_session
from chaodipi.sdk.baselines.greedy import GreedyBot
from chaodipi.sdk.session import EXIT_FAILED, Session, SessionError
from chaodipi.service.host.identity import hash_token
from chaodipi.service.match.table import TimeControl
from chaodipi.service.version import OLDEST_SDK, sdk_too_old, server_version
from chaodipi.v1 import bot_pb2, bot_pb2_grpc

from tests.support.raw_client import NAMES, Client, hosting, seated, table


@pytest.mark.parametrize(
    ("sdk", "refused"),
    [
        (f"chaodipi-sdk/{OLDEST_SDK}", None),
        ("chaodipi-sdk/0.0.9", "0.0.9"),
        ("chaodipi-sdk/0.0.9rc1", "0.0.9"),
        ("chaodipi-sdk/99.0.0", None),
        ("chaodipi-sdk/0+source", None),
        ("other-sdk/0.0.1", None),
        ("", None),
    ],
)
def test_of_our_sdk_only_versions_before_the_oldest_are_too_old(sdk: str, refused: str | None) -> None:
    assert sdk_too_old(sdk) == refused


@pytest.mark.situation("b")
async def test_an_sdk_that_is_too_old_is_refused_at_hello_with_both_versions_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spare (b): the author reads which version he has, which he needs, and what the host is."""
    monkeypatch.setattr(sdk_session, "_version", lambda: "0.0.9")
    async with hosting() as (host, port):
        bot = Session(GreedyBot, f"127.0.0.1:{port}", "token-ant")
        with pytest.raises(SessionError) as ended:
            await asyncio.wait_for(bot.run(), 20)
        assert ended.value.exit_code == EXIT_FAILED
        for said in ("SDK_TOO_OLD", "0.0.9", OLDEST_SDK, server_version()):
            assert said in str(ended.value)
        assert host.online()["ant"] == 0
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            system: Any = bot_pb2_grpc.SystemServiceStub(channel)
            info = await system.GetServerInfo(bot_pb2.GetServerInfoRequest())
            assert info.oldest_sdk == OLDEST_SDK


@pytest.mark.situation("f")
@pytest.mark.parametrize("connected", [True, False])
async def test_who_has_a_seats_token_but_not_its_bots_changes_nothing(connected: bool) -> None:
    """
    Spare (f): a reconnect with no, a wrong or another bot's token, by all that the bot was told of its seat.

    The seat, its grace timer and the rightful bot stay as they were, whether the bot is there or away.
    """
    async with hosting(resume_window_s=60.0) as (host, port), seated(port, NAMES[:3]):
        host.add_bot("eve", hash_token("token-eve"))
        dog = Client(port, "dog", instance="one")
        dog.silent = True
        task = asyncio.create_task(dog.run())
        await host.wait_for_bots(NAMES, 10)
        playing = asyncio.create_task(host.play_table(table(time=TimeControl(play_ms=60_000, bury_ms=60_000))))
        await asyncio.wait_for(dog.asked.wait(), 20)
        [runner] = host._runners.values()
        [link] = [link for link in runner.links if link.bot == "dog"]
        if not connected:
            await dog.close()
            await asyncio.gather(task, return_exceptions=True)
            async with asyncio.timeout(10):
                while link.session is not None:
                    await asyncio.sleep(0)
        before = (link.session, link.channel, link.grace, link.token, link.ready, runner._machine.next_timer())
        assert (link.grace is None) is connected

        for name in ("nobody", "eve"):
            thief = Client(port, name, instance="one", before=dog)
            stolen = asyncio.create_task(thief.run())
            if name == "eve":
                await host.wait_for_bots(["eve"], 10)
                assert thief.assigned == []
                await thief.close()
                await asyncio.gather(stolen, return_exceptions=True)
            else:
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await asyncio.wait_for(stolen, 10)
                assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED
                await thief.close()
            now = (link.session, link.channel, link.grace, link.token, link.ready, runner._machine.next_timer())
            assert now == before

        if connected:
            assert not task.done()
            dog.silent = False
            await dog.close()
            await asyncio.gather(task, return_exceptions=True)
        again = Client(port, "dog", instance="one", before=dog)
        rightful = asyncio.create_task(again.run())
        result = await asyncio.wait_for(playing, 30)
        assert again.assigned[0].resumed
        assert (result.how, result.faults) == ("played", {})
        await again.close()
        await asyncio.gather(rightful, return_exceptions=True)
