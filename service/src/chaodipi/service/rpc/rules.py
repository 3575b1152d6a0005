"""RulesService: the judge over the network, and its two commonest questions typed."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from chaodipi.engine.actions import ActionKind
from chaodipi.engine.cards import Card, Rank, Suit
from chaodipi.engine.errors import EngineError, MalformedError, RuleError
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
from chaodipi.service.rpc.fields import page_of
from chaodipi.service.rpc.gate import principal
from chaodipi.service.rpc.turns import Turns
from chaodipi.v1 import cards_pb2, rules_pb2, rules_pb2_grpc

__all__ = ["RulesService"]

T = TypeVar("T")

MAX_QUESTION_BYTES = 64_000
MAX_HAND = 39

_COMPONENTS: dict[str, int] = {
    "single": 1,
    "pair": 2,
    "triple": 3,
    "tractor": 4,
    "triple_tractor": 5,
    "510k": 6,
    "double_510k": 7,
}


class RulesService(rules_pb2_grpc.RulesServiceServicer):
    """
    The rules as a service.

    Questions are answered one after the other beside the loop that tables are played on, one of each caller at a time,
    and their processor time counts against the caller's quota: whoever asks much waits for himself.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._desk = ThreadPoolExecutor(1, "rules")
        self._turns = Turns()

    async def _work(self, question: Callable[[], T]) -> T:
        """
        The answer to *question*.

        Raises:
            SessionRefused: RATE_LIMITED, or what the question raises; the caller's mistake.
        """
        caller = principal()
        usage = self._host.usage(caller)
        loop = asyncio.get_running_loop()

        def timed() -> T:
            began = time.thread_time()
            try:
                return question()
            finally:
                # Also when the caller has gone meanwhile.
                loop.call_soon_threadsafe(usage.worked, time.thread_time() - began)

        async with self._turns.of(caller.token_id):
            usage.work(time.monotonic())
            return await loop.run_in_executor(self._desk, timed)

    async def ListRulesets(
        self, request: rules_pb2.ListRulesetsRequest, context: Any
    ) -> rules_pb2.ListRulesetsResponse:
        """All rulesets that the engine knows, sorted by name, in pages if asked."""
        page, token = page_of(request, sorted(preset_names()))
        return rules_pb2.ListRulesetsResponse(
            rulesets=[convert.ruleset_to_wire(resolve(name)) for name in page], next_page_token=token
        )

    async def Judge(self, request: rules_pb2.JudgeRequest, context: Any) -> rules_pb2.JudgeResponse:
        """One question of the rules judge; a bad question is answered, not refused."""
        text = request.question_json
        if len(text.encode()) > MAX_QUESTION_BYTES:
            raise _bad_field(f"question_json has more than {MAX_QUESTION_BYTES} bytes")
        try:
            question = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise _bad_field(f"question_json is no JSON: {problem}") from problem
        if not isinstance(question, dict):
            raise _bad_field("question_json is no JSON object")
        return rules_pb2.JudgeResponse(answer_json=await self._work(lambda: _judge_text(question)))

    async def CheckPlay(self, request: rules_pb2.CheckPlayRequest, context: Any) -> rules_pb2.CheckPlayResponse:
        """Whether a lead or follow is legal, and if not, which rule it breaks."""
        return await self._work(lambda: _checked(request))

    async def ListLegalPlays(
        self, request: rules_pb2.ListLegalPlaysRequest, context: Any
    ) -> rules_pb2.ListLegalPlaysResponse:
        """All legal leads or follows, as sets."""
        return await self._work(lambda: _legal_plays(request))


def _judge_text(question: Any) -> str:
    """
    The judge's answer to *question* as JSON.

    Raises:
        SessionRefused: the question has a number that JSON has not; the caller's mistake.
    """
    try:
        text = json.dumps(answer(question), ensure_ascii=False, allow_nan=False)
    except ValueError as problem:
        raise _bad_field("question_json has a number that is not finite") from problem
    # Half of a surrogate pair, which JSON can say and UTF-8 cannot, stays the escape that it came as.
    return text.encode(errors="backslashreplace").decode()


def _checked(request: rules_pb2.CheckPlayRequest) -> rules_pb2.CheckPlayResponse:
    try:
        order, hand, lead = _situation(request.situation)
        cards = _cards(request.cards, "cards")
    except EngineError as error:
        raise _bad_field(str(error)) from error
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


def _legal_plays(request: rules_pb2.ListLegalPlaysRequest) -> rules_pb2.ListLegalPlaysResponse:
    try:
        order, hand, lead = _situation(request.situation)
        if lead:
            sets = tuple(legal_follows(order, hand, lead).choice_sets())
            complete = True
        else:
            sets, complete = leads(order, hand)
    except EngineError as error:
        raise _bad_field(str(error)) from error
    out = rules_pb2.ListLegalPlaysResponse()
    out.legal.complete = complete
    out.legal.choice_sets.extend(choice_set_to_wire(choice, ActionKind.PLAY) for choice in sets)
    return out


def _bad_field(message: str) -> SessionRefused:
    return SessionRefused(3, "FIELD_INVALID", message)


def _cards(numbers: Any, field: str) -> tuple[Card, ...]:
    if not 1 <= len(numbers) <= MAX_HAND:
        raise MalformedError("FIELD_INVALID", f"{field}: 1 to {MAX_HAND} cards, here {len(numbers)}", field)
    return cards_from_wire(numbers)


def _situation(situation: rules_pb2.Situation) -> tuple[Order, tuple[Card, ...], tuple[Card, ...]]:
    """
    The order, the hand and the lead (empty: none) of *situation*.

    Raises:
        EngineError: a field that is missing or no value of its kind; the caller's mistake.
    """
    try:
        overrides = {key: json.loads(value) for key, value in situation.overrides.items()}
    except (ValueError, RecursionError) as error:
        raise MalformedError("FIELD_INVALID", f"overrides: a value is no JSON: {error}", "overrides") from error
    ruleset = resolve(situation.ruleset.removeprefix("rulesets/"), overrides or None)
    try:
        level = Rank(situation.trump.level) if situation.trump.level else None
        trump = Suit(int(situation.trump.suit)) if situation.trump.suit else None
    except ValueError as error:
        raise MalformedError("FIELD_INVALID", f"trump: {error}", "trump") from error
    if trump is None:
        raise MalformedError("FIELD_INVALID", "trump.suit is missing: C, D, H, S or NT", "trump")
    if level is None and ruleset.past_ace != "flag":
        raise MalformedError("FIELD_INVALID", "trump.level is missing: only a flag deal has none", "trump")
    if len(situation.trick) > 3:
        raise MalformedError("FIELD_INVALID", f"trick: 0 to 3 plays, here {len(situation.trick)}", "trick")
    hand = tuple(sorted(_cards(situation.hand, "hand")))
    plays = [_cards(play.cards, f"trick[{number}].cards") for number, play in enumerate(situation.trick)]
    lead = plays[0] if plays else ()
    for field, held in (("hand", hand), ("trick[0].cards", lead)):
        if any(count > ruleset.decks for count in Counter(held).values()):
            raise MalformedError(
                "FIELD_INVALID", f"{field}: more copies of a card than {ruleset.decks} packs hold", field
            )
    return order_for(ruleset, level, trump), hand, lead


def _check(order: Order, hand: tuple[Card, ...], lead: tuple[Card, ...], cards: tuple[Card, ...]) -> None:
    missing = Counter(cards) - Counter(hand)
    if missing:
        texts = " ".join(card.text for card in sorted(missing))
        raise RuleError("NOT_YOUR_CARDS", f"not in the hand: {texts}", ("S1-25",))
    if lead:
        check_follow(order, hand, lead, cards)
    else:
        check_lead(order, cards, ())


def _components(shape: Shape) -> list[rules_pb2.Component]:
    out = []
    for part in sorted(shape.components, key=lambda part: (part.top, len(part.cards)), reverse=True):
        kind: Any = _COMPONENTS[part.kind]
        cards: Any = [int(card) for card in part.cards]
        out.append(rules_pb2.Component(kind=kind, cards=cards, length=part.length))
    return out
