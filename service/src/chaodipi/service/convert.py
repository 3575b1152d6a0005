"""The host's values to protocol messages: what :mod:`chaodipi.sdk.wire` does not know of.

Cards, seats, actions and events are converted there, once for both ends.
"""

import json
from typing import Any

from chaodipi.engine.actions import Pass
from chaodipi.engine.cards import SEATS, Side
from chaodipi.engine.ruleset import Ruleset, is_preset
from chaodipi.sdk.wire import (
    action_to_wire,
    choice_set_to_wire,
    event_to_wire,
    payouts_of_seats,
    position_to_wire,
    seat_to_wire,
    side_to_wire,
    snapshot_from_view,
)
from chaodipi.service.host.session import (
    Assigned,
    Draining,
    Legal,
    NonceAsked,
    Outgoing,
    PingSent,
    PongSent,
    SeatMessage,
    Unplaced,
    Warned,
)
from chaodipi.service.match.messages import (
    Decision,
    Ended,
    FaultRecorded,
    Numbered,
    PresenceChanged,
    Update,
    Verdict,
    VerdictStatus,
)
from chaodipi.service.match.summary import TableSummary
from chaodipi.service.match.table import TableSpec, TimeControl
from chaodipi.v1 import cards_pb2, match_pb2, rules_pb2, seat_pb2, session_pb2
from google.protobuf.duration_pb2 import Duration

__all__ = ["match_result_to_wire", "match_to_wire", "outgoing_to_wire", "ruleset_to_wire"]

_FAULTS: dict[str, int] = {"timeout": 1, "illegal": 2, "malformed": 3, "disconnected": 4, "not_ready": 5}

_RECONNECT_AFTER_MS = 1_000
"""How long bots leave a host alone that has stopped; those that come too early try again."""
_INVALID_ARGUMENT = 3
_FAILED_PRECONDITION = 9


def outgoing_to_wire(message: Outgoing) -> session_pb2.ServerMessage:
    """One message for a bot."""
    match message:
        case SeatMessage(message=Update() as update):
            return session_pb2.ServerMessage(seat_update=_update(message, update))
        case SeatMessage(message=Verdict() as verdict):
            return session_pb2.ServerMessage(answer_result=_verdict(message.channel, verdict))
        case SeatMessage(message=Ended() as ended):
            result = match_result_to_wire(TableSummary.of(ended.result), laps=message.spec.ruleset.laps > 1)
            return session_pb2.ServerMessage(seat_ended=session_pb2.SeatEnded(channel=message.channel, result=result))
        case Unplaced(channel=channel, decision=decision):
            stale: Any = int(VerdictStatus.STALE)
            problem = cards_pb2.Problem(code=5, reason="CHANNEL_UNKNOWN", message="this channel is not open")
            return session_pb2.ServerMessage(
                answer_result=session_pb2.AnswerResult(
                    channel=channel, decision_id=decision, status=stale, problem=problem
                )
            )
        case Assigned():
            return session_pb2.ServerMessage(seat_assigned=_assigned(message))
        case PingSent(nonce=nonce):
            return session_pb2.ServerMessage(ping=session_pb2.Ping(nonce=nonce))
        case PongSent(nonce=nonce):
            return session_pb2.ServerMessage(pong=session_pb2.Pong(nonce=nonce))
        case NonceAsked():
            request = session_pb2.NonceRequest(
                entry=message.entry, seed_commitment=message.seed_commitment, within_ms=message.within_ms
            )
            return session_pb2.ServerMessage(nonce_request=request)
        case Draining(stop_within_ms=within):
            draining = session_pb2.Draining(stop_within_ms=within, reconnect_after_ms=_RECONNECT_AFTER_MS)
            return session_pb2.ServerMessage(draining=draining)
        case Warned():
            problem = cards_pb2.Problem(
                code=message.code, reason=message.reason, message=message.message, metadata=message.metadata
            )
            return session_pb2.ServerMessage(warning=problem)
    raise TypeError(f"no message for {type(message).__name__}")


def _update(carrier: SeatMessage, update: Update) -> session_pb2.SeatUpdate:
    out = session_pb2.SeatUpdate(channel=carrier.channel, closed_decision_id=update.closed)
    if (view := update.snapshot) is not None:
        commitment = carrier.spec.board_commitment
        out.snapshot.CopyFrom(snapshot_from_view(view, update.seq, deal=1, board_commitment=commitment))
    for numbered in update.events:
        event = _event(numbered, carrier.spec)
        if event is not None:
            out.events.append(event)
    if update.decision is not None:
        out.decision.CopyFrom(_decision(update.decision, carrier.legal))
    return out


def _event(numbered: Numbered, spec: TableSpec) -> seat_pb2.SeatEvent | None:
    event = numbered.event
    if isinstance(event, FaultRecorded):
        fault: Any = _FAULTS.get(event.fault, 0)
        recorded = seat_pb2.FaultRecorded(seat=seat_to_wire(event.seat), fault=fault, faults=event.faults)
        return seat_pb2.SeatEvent(seq=numbered.seq, fault_recorded=recorded)
    if isinstance(event, PresenceChanged):
        changed = seat_pb2.PresenceChanged(seat=seat_to_wire(event.seat), connected=event.connected)
        return seat_pb2.SeatEvent(seq=numbered.seq, presence_changed=changed)
    outcome = numbered.outcome
    return event_to_wire(
        event,
        numbered.seq,
        board_commitment=spec.board_commitment,
        settlement=None if outcome is None else outcome.settlement,
        dealer=None if outcome is None else outcome.dealer,
        bookings=() if outcome is None else outcome.bookings,
        by_host=numbered.by_host,
        laps=spec.ruleset.laps > 1,
    )


def _decision(decision: Decision, legal: Legal | None) -> seat_pb2.DecisionRequest:
    phase: Any = int(decision.phase)
    allowed: Any = [int(kind) for kind in decision.allowed]
    out = seat_pb2.DecisionRequest(
        decision_id=decision.decision,
        phase=phase,
        allowed=allowed,
        as_of_seq=decision.as_of_seq,
        time_left_ms=decision.time_left_ms,
        bank_left_ms=decision.bank_left_ms,
        card_count=decision.card_count,
        attempt=decision.attempt,
    )
    if legal is not None:
        out.legal.complete = legal.complete
        out.legal.actions.extend(action_to_wire(show) for show in legal.shows)
        if legal.passing:
            out.legal.actions.append(action_to_wire(Pass()))
        out.legal.choice_sets.extend(choice_set_to_wire(choice, legal.kind) for choice in legal.sets)
    return out


def _verdict(channel: int, verdict: Verdict) -> session_pb2.AnswerResult:
    status: Any = int(verdict.status)
    out = session_pb2.AnswerResult(
        channel=channel,
        decision_id=verdict.decision,
        status=status,
        charged_ms=verdict.charged_ms,
        bank_left_ms=verdict.bank_left_ms,
        attempts_left=verdict.attempts_left,
    )
    if verdict.reason:
        code = _FAILED_PRECONDITION if verdict.reason == "STALE_DECISION" else _INVALID_ARGUMENT
        out.problem.CopyFrom(
            cards_pb2.Problem(
                code=code, reason=verdict.reason, message=verdict.message, metadata=dict(verdict.metadata)
            )
        )
    if verdict.applied is not None:
        out.applied.CopyFrom(action_to_wire(verdict.applied))
    return out


def _assigned(message: Assigned) -> session_pb2.SeatAssigned:
    return session_pb2.SeatAssigned(
        channel=message.channel,
        match=match_to_wire(message.spec, resumed=message.resumed),
        seat=seat_to_wire(message.seat),
        seat_token=message.seat_token,
        ready_within_ms=message.ready_within_ms,
        resumed=message.resumed,
    )


# ---- matches


def _duration(ms: int) -> Duration:
    return Duration(seconds=ms // 1000, nanos=ms % 1000 * 1_000_000)


def _time_control(time: TimeControl) -> match_pb2.TimeControl:
    out = match_pb2.TimeControl(ready_timeout=_duration(time.ready_ms), untimed=time.untimed)
    if time.untimed:
        return out
    out.per_decision.CopyFrom(_duration(time.play_ms))
    out.per_burial.CopyFrom(_duration(time.bury_ms))
    out.decision_cap.CopyFrom(_duration(time.hard_cap_ms or 0))
    out.byoyomi_periods = time.byoyomi_periods
    for name, ms in (
        ("bank", time.bank_ms),
        ("increment", time.increment_ms),
        ("byoyomi_period", time.byoyomi_ms),
        ("start_budget", time.start_ms),
        ("network_allowance", time.allowance_ms),
        ("disconnect_grace", time.grace_ms),
    ):
        if ms:
            getattr(out, name).CopyFrom(_duration(ms))
    return out


def match_to_wire(spec: TableSpec, *, resumed: bool = False) -> match_pb2.Match:
    """A table that is about to be played, or is (*resumed*), as its seats may know it."""
    state: Any = match_pb2.Match.STATE_RUNNING if resumed else match_pb2.Match.STATE_WAITING_READY
    return match_pb2.Match(
        name=f"matches/{spec.table_id}",
        state=state,
        ruleset=f"rulesets/{spec.ruleset.name}",
        ruleset_digest=spec.ruleset.digest,
        ruleset_values={} if is_preset(spec.ruleset) else ruleset_to_wire(spec.ruleset).values,
        seats=[
            match_pb2.Seating(seat=seat_to_wire(seat), bot=f"bots/{bot}")
            for seat, bot in zip(SEATS, spec.bots, strict=True)
        ],
        time_control=_time_control(spec.time),
        fault_policy=match_pb2.FaultPolicy(attempts_per_decision=spec.time.attempts, max_faults=spec.time.max_faults),
        max_deals=1,
    )


def match_result_to_wire(result: TableSummary, *, laps: bool = False) -> match_pb2.MatchResult:
    """What became of a table: one deal, or none. *laps*: its ruleset has laps."""
    reasons = {"forfeit": 2, "host_fault": 4}
    reason: Any = reasons.get(result.how, 1)
    out = match_pb2.MatchResult(games=[0, 0], end_reason=reason)
    settlement = result.settlement
    if settlement is not None and result.dealer is not None:
        side = settlement.stage
        ours = 0 if side == result.dealer.side else 1
        points = [0, 0]
        points[side] = settlement.award
        out.winner = side_to_wire(side)
        out.deals.add(
            deal=1,
            dealer=seat_to_wire(result.dealer),
            score=result.score,
            winner=side_to_wire(side),
            steps=settlement.steps[ours],
            gained=max(0, settlement.gained[ours]),
            match_points=points,
            payouts=payouts_of_seats(settlement, result.dealer),
        )
        for each in Side:
            out.levels.append(position_to_wire(each, settlement.positions[each], laps=laps))
        if settlement.winner is not None:
            out.games[settlement.winner] = 1
    if result.forfeiting_side is not None:
        out.winner = side_to_wire(result.forfeiting_side.other)
        out.forfeiting_seat = seat_to_wire(result.forfeiting_seat)
    for seat, own in zip(SEATS, result.seats, strict=True):
        out.seats.add(
            seat=seat_to_wire(seat),
            decisions=own.decisions,
            faults={kind.upper(): count for kind, count in own.faults.items()},
            think_p50_ms=own.think_p50_ms,
            think_max_ms=own.think_max_ms,
        )
    return out


def ruleset_to_wire(ruleset: Ruleset) -> rules_pb2.Ruleset:
    """A ruleset with every value as JSON text."""
    return rules_pb2.Ruleset(
        name=f"rulesets/{ruleset.name}",
        display_name=ruleset.name,
        digest=ruleset.digest,
        values={key: json.dumps(value, ensure_ascii=False) for key, value in ruleset.values().items()},
    )
