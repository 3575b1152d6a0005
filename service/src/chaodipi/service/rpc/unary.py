"""SystemService and BotService: short questions about the host and its bots, each answered at once."""

from typing import Any

from chaodipi.engine.ruleset import preset_names, resolve
from chaodipi.service.host.host import Host
from chaodipi.service.rpc.asking import ReadingDesk
from chaodipi.service.rpc.fields import page_of
from chaodipi.service.rpc.gate import principal
from chaodipi.service.store.bots import BotRow
from chaodipi.service.version import API_MINOR, CAPABILITIES, OLDEST_SDK, server_version
from chaodipi.v1 import bot_pb2, bot_pb2_grpc
from google.protobuf.timestamp_pb2 import Timestamp

__all__ = ["BotService", "SystemService"]


class SystemService(bot_pb2_grpc.SystemServiceServicer):
    """About the host and the caller."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def GetServerInfo(self, request: bot_pb2.GetServerInfoRequest, context: Any) -> bot_pb2.GetServerInfoResponse:
        """What this host is and speaks; needs no token."""
        now = Timestamp()
        now.GetCurrentTime()
        return bot_pb2.GetServerInfoResponse(
            server_version=server_version(),
            api_minor=API_MINOR,
            capabilities=CAPABILITIES,
            ruleset_digests={name: resolve(name).digest for name in preset_names()},
            server_time=now,
            oldest_sdk=OLDEST_SDK,
        )

    async def WhoAmI(self, request: bot_pb2.WhoAmIRequest, context: Any) -> bot_pb2.WhoAmIResponse:
        """Whose token this is."""
        caller = principal()
        answer = bot_pb2.WhoAmIResponse(principal=f"bots/{caller.name}", scopes=sorted(caller.scopes))
        if caller.expires_at is not None:
            answer.expire_time.FromSeconds(int(caller.expires_at))
        return answer


class BotService(bot_pb2_grpc.BotServiceServicer):
    """The bots of this host: those that it lets in, with what *desk* has of them."""

    def __init__(self, host: Host, desk: ReadingDesk) -> None:
        self._host = host
        self._desk = desk

    async def ListBots(self, request: bot_pb2.ListBotsRequest, context: Any) -> bot_pb2.ListBotsResponse:
        """Bots in pages, sorted by name."""
        online, versions = self._host.online(), self._host.bot_versions()
        page, token = page_of(request, sorted(online))
        known: dict[str, BotRow] = {}
        if not self._desk.empty:
            async with self._desk.asking("bot", "") as archive:
                known = await archive.bots()
        now = self._host.wall_clock()
        bots = []
        for name in page:
            bot = bot_pb2.Bot(
                name=f"bots/{name}",
                display_name=name,
                online_instances=online[name],
                bot_version=versions.get(name, ""),
            )
            if name in known:
                _describe(bot, known[name], now)
            bots.append(bot)
        return bot_pb2.ListBotsResponse(bots=bots, next_page_token=token)


def _describe(bot: bot_pb2.Bot, row: BotRow, now: float) -> None:
    """What the store says of a bot."""
    bot.owner = row.owner
    bot.disabled = not any(token.holds(now) for token in row.tokens)
    bot.create_time.FromSeconds(int(row.created_at))
    used = [token.used_at for token in row.tokens if token.used_at is not None]
    if used:
        bot.last_seen_time.FromSeconds(int(max(used)))
