"""Answers that no rule allows, over sockets (T4): who gave one is told why, and nobody else hears of it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from chaodipi.service.match.table import TimeControl
from chaodipi.v1 import cards_pb2, session_pb2

from tests.support.raw_client import NAMES, hosting, seated, table

STATUS = session_pb2.AnswerResult
UNKNOWN: Any = [999]


def play(cards: Any) -> cards_pb2.Action:
    return cards_pb2.Action(play=cards_pb2.Play(cards=cards))


WRONG: dict[str, tuple[Callable[[Any], cards_pb2.Action], str]] = {
    "a card that is not in the hand": (lambda _: play([cards_pb2.CARD_BIG_JOKER] * 2), "NOT_YOUR_CARDS"),
    "an unknown enum value": (lambda _: play(UNKNOWN), "CARD_UNKNOWN"),
    "another kind of action": (lambda _: cards_pb2.Action(passing=cards_pb2.Pass()), "WRONG_ACTION_KIND"),
    "no action": (lambda _: cards_pb2.Action(), "ACTION_MISSING"),
}


@pytest.mark.situation("T4")
@pytest.mark.parametrize("what", WRONG)
async def test_t4_a_wrong_answer_is_told_why_and_nobody_else_hears_of_it(what: str) -> None:
    """It is asked again within the same clock; a right answer then is no fault, and the others see that one alone."""
    wrong, reason = WRONG[what]
    async with hosting(ping_interval_ms=0) as (host, port), seated(port) as clients:
        await host.wait_for_bots(NAMES, 60)
        bee = clients["bee"]
        tried: list[Any] = []
        again: list[Any] = []

        def answer(decision: Any) -> cards_pb2.Action | None:
            if tried and not again:
                again.append((decision.decision_id, decision.attempt, decision.time_left_ms))
            if tried or decision.phase != cards_pb2.PHASE_FOLLOW:
                return None
            tried.append((decision.decision_id, decision.time_left_ms))
            return wrong(decision)

        bee.answer = answer
        control = TimeControl(play_ms=600_000, bury_ms=600_000, attempts=2, max_faults=1)
        result = await asyncio.wait_for(host.play_table(table(time=control)), 120)
    [(number, left_ms)] = tried
    assert again[0][:2] == (number, 2)
    assert again[0][2] <= left_ms
    verdicts = [verdict for verdict in bee.results if verdict.decision_id == number]
    assert [verdict.status for verdict in verdicts] == [STATUS.STATUS_RETRY, STATUS.STATUS_ACCEPTED]
    assert (verdicts[0].problem.reason, verdicts[0].attempts_left) == (reason, 1)
    if reason == "NOT_YOUR_CARDS":
        assert verdicts[0].problem.metadata["clauses"]
    assert (result.how, result.faults) == ("played", {})
    for name in ("ant", "cat", "dog"):
        assert {verdict.status for verdict in clients[name].results} == {STATUS.STATUS_ACCEPTED}
        assert not [event for event in clients[name].told if event.WhichOneof("event") == "fault_recorded"]
