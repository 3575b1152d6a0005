"""SystemService, BotService and RulesService: short questions, each answered at once."""

import asyncio
import json
from collections import Counter
from typing import Any

from chaodipi.engine.actions import ActionKind
from chaodipi.engine.cards import Card, Rank, Suit
from chaodipi.engine.errors import EngineError, RuleError
from chaodipi.engine.follow import check_follow, legal_follows
from chaodipi.engine.judge import answer
from chaodipi.engine.lead import check_lead
from chaodipi.engine.order import Order, order_for
from chaodipi.engine.ruleset import preset_names, resolve
from chaodipi.engine.shapes import Shape, shape_of
from chaodipi.sdk.wire import cards_from_wire, choice_set_to_wire
from chaodipi.service import convert
from chaodipi.service.host.errors import SessionRefused
from chaodipi.service.host.host import Host
from chaodipi.service.host.runner import leads
from chaodipi.service.rpc.errors import refuse, token_of
from chaodipi.service.version import API_MINOR, CAPABILITIES, server_version
from chaodipi.v1 import bot_pb2, bot_pb2_grpc, cards_pb2, rules_pb2, rules_pb2_grpc
from google.protobuf.timestamp_pb2 import Timestamp

__all__ = ["BotService", "RulesService", "SystemService"]

MAX_QUESTION_BYTES = 64_000

_COMPONENTS: dict[str, int] = {
    "single": 1,
    "pair": 2,
    "triple": 3,
    "tractor": 4,
    "triple_tractor": 4,
    "510k": 5,
    "double_510k": 6,
}


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
        )

    async def WhoAmI(self, request: bot_pb2.WhoAmIRequest, context: Any) -> bot_pb2.WhoAmIResponse:
        """Whose token this is."""
        name = await _caller(self._host, context)
        return bot_pb2.WhoAmIResponse(principal=f"bots/{name}", scopes=["play"])


class BotService(bot_pb2_grpc.BotServiceServicer):
    """The bots of this host."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def ListBots(self, request: bot_pb2.ListBotsRequest, context: Any) -> bot_pb2.ListBotsResponse:
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

    async def ListRulesets(
        self, request: rules_pb2.ListRulesetsRequest, context: Any
    ) -> rules_pb2.ListRulesetsResponse:
        """All rulesets that the engine knows."""
        await _caller(self._host, context)
        rulesets = [convert.ruleset_to_wire(resolve(name)) for name in preset_names()]
        return rules_pb2.ListRulesetsResponse(rulesets=rulesets)

    async def Judge(self, request: rules_pb2.JudgeRequest, context: Any) -> rules_pb2.JudgeResponse:
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

    async def CheckPlay(self, request: rules_pb2.CheckPlayRequest, context: Any) -> rules_pb2.CheckPlayResponse:
        """Whether a lead or follow is legal, and if not, which rule it breaks."""
        await _caller(self._host, context)
        try:
            order, hand, lead = _situation(request.situation)
            cards = cards_from_wire(request.cards)
        except (EngineError, ValueError) as error:
            await refuse(context, SessionRefused(3, "FIELD_INVALID", str(error)))
        try:
            _check(order, hand, lead, cards)
        except EngineError as error:
            problem = cards_pb2.Problem(code=3, reason=error.reason, message=error.message)
            if isinstance(error, RuleError):
                problem.metadata["clauses"] = " ".join(error.clauses)
                problem.metadata["satisfying"] = " ".join(card.text for card in error.satisfying)
            return rules_pb2.CheckPlayResponse(legal=False, problem=problem)
        shape = shape_of(order, cards)
        return rules_pb2.CheckPlayResponse(legal=True, components=[] if shape is None else _components(shape))

    async def ListLegalPlays(
        self, request: rules_pb2.ListLegalPlaysRequest, context: Any
    ) -> rules_pb2.ListLegalPlaysResponse:
        """All legal leads or follows, as sets."""
        await _caller(self._host, context)
        try:
            order, hand, lead = _situation(request.situation)
            if lead:
                sets = tuple(legal_follows(order, hand, lead).choice_sets())
                complete = True
            else:
                sets, complete = leads(order, hand)
        except (EngineError, ValueError) as error:
            await refuse(context, SessionRefused(3, "FIELD_INVALID", str(error)))
        out = rules_pb2.ListLegalPlaysResponse()
        out.legal.complete = complete
        out.legal.choice_sets.extend(choice_set_to_wire(choice, ActionKind.PLAY) for choice in sets)
        return out


def _situation(situation: rules_pb2.Situation) -> tuple[Order, tuple[Card, ...], tuple[Card, ...]]:
    """The order, the hand and the lead (empty: none) of *situation*."""
    overrides = {key: json.loads(value) for key, value in situation.overrides.items()}
    ruleset = resolve(situation.ruleset.removeprefix("rulesets/"), overrides or None)
    level = Rank(situation.trump.level) if situation.trump.level else None
    trump = Suit(int(situation.trump.suit)) if situation.trump.suit else None
    hand = tuple(sorted(cards_from_wire(situation.hand)))
    lead = cards_from_wire(situation.trick[0].cards) if situation.trick else ()
    return order_for(ruleset, level, trump), hand, lead


def _check(order: Order, hand: tuple[Card, ...], lead: tuple[Card, ...], cards: tuple[Card, ...]) -> None:
    missing = Counter(cards) - Counter(hand)
    if missing or not cards:
        texts = " ".join(card.text for card in sorted(missing))
        raise RuleError("NOT_YOUR_CARDS", f"not in the hand: {texts}", ("S1-25",))
    if lead:
        check_follow(order, hand, lead, cards)
    else:
        check_lead(order, cards, ())


def _components(shape: Shape) -> list[rules_pb2.Component]:
    out = []
    for part in sorted(shape.components, key=lambda part: (part.top, len(part.cards)), reverse=True):
        kind: Any = _COMPONENTS.get(part.kind, 0)
        cards: Any = [int(card) for card in part.cards]
        out.append(rules_pb2.Component(kind=kind, cards=cards))
    return out
