"""SystemService, BotService and RulesService: short questions, each answered at once."""

import asyncio
import json
from typing import Any

from chaodipi.engine.judge import answer
from chaodipi.engine.ruleset import preset_names, resolve
from chaodipi.service import convert
from chaodipi.service.host.errors import SessionRefused
from chaodipi.service.host.host import Host
from chaodipi.service.rpc.errors import refuse, token_of
from chaodipi.service.version import API_MINOR, CAPABILITIES, server_version
from chaodipi.v1 import bot_pb2, bot_pb2_grpc, rules_pb2, rules_pb2_grpc
from google.protobuf.timestamp_pb2 import Timestamp

__all__ = ["BotService", "RulesService", "SystemService"]

MAX_QUESTION_BYTES = 64_000


async def _caller(host: Host, context: Any) -> str:
    """The bot that asks; ends the call if there is none."""
    try:
        return host.authenticate(token_of(context.invocation_metadata()))
    except SessionRefused as error:
        await refuse(context, error)


class SystemService(bot_pb2_grpc.SystemServiceServicer):
    """About the host and the caller."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def GetServerInfo(  # type: ignore[override]
        self, request: bot_pb2.GetServerInfoRequest, context: Any
    ) -> bot_pb2.GetServerInfoResponse:
        """What this host is and speaks; needs no token."""
        now = Timestamp()
        now.GetCurrentTime()
        return bot_pb2.GetServerInfoResponse(
            server_version=server_version(),
            api_minor=API_MINOR,
            capabilities=CAPABILITIES,
            ruleset_digests={name: resolve(name).digest for name in preset_names()},
            server_time=now,
        )

    async def WhoAmI(  # type: ignore[override]
        self, request: bot_pb2.WhoAmIRequest, context: Any
    ) -> bot_pb2.WhoAmIResponse:
        """Whose token this is."""
        name = await _caller(self._host, context)
        return bot_pb2.WhoAmIResponse(principal=f"bots/{name}", scopes=["play"])


class BotService(bot_pb2_grpc.BotServiceServicer):
    """The bots of this host."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def ListBots(  # type: ignore[override]
        self, request: bot_pb2.ListBotsRequest, context: Any
    ) -> bot_pb2.ListBotsResponse:
        """All bots, sorted by name."""
        await _caller(self._host, context)
        bots = [
            bot_pb2.Bot(name=f"bots/{name}", display_name=name, online_instances=count)
            for name, count in self._host.online().items()
        ]
        return bot_pb2.ListBotsResponse(bots=bots)


class RulesService(rules_pb2_grpc.RulesServiceServicer):
    """The rules as a service."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def ListRulesets(  # type: ignore[override]
        self, request: rules_pb2.ListRulesetsRequest, context: Any
    ) -> rules_pb2.ListRulesetsResponse:
        """All rulesets that the engine knows."""
        await _caller(self._host, context)
        rulesets = [convert.ruleset_to_wire(resolve(name)) for name in preset_names()]
        return rules_pb2.ListRulesetsResponse(rulesets=rulesets)

    async def Judge(  # type: ignore[override]
        self, request: rules_pb2.JudgeRequest, context: Any
    ) -> rules_pb2.JudgeResponse:
        """One question of the rules judge; a bad question is answered, not refused."""
        await _caller(self._host, context)
        text = request.question_json
        if len(text.encode()) > MAX_QUESTION_BYTES:
            error = SessionRefused(3, "FIELD_INVALID", f"question_json has more than {MAX_QUESTION_BYTES} bytes")
            await refuse(context, error)
        try:
            question = json.loads(text)
        except ValueError as problem:
            await refuse(context, SessionRefused(3, "FIELD_INVALID", f"question_json is no JSON: {problem}"))
        if not isinstance(question, dict):
            await refuse(context, SessionRefused(3, "FIELD_INVALID", "question_json is no JSON object"))
        # A question may list many plays: not on the loop that the tables are played on.
        result = await asyncio.to_thread(answer, question)
        return rules_pb2.JudgeResponse(answer_json=json.dumps(result, ensure_ascii=False))
