"""MatchService: the matches of the host's leagues and their records, as far as they are no secret any more."""

from collections.abc import AsyncIterator
from typing import Any

from chaodipi.service.convert import match_result_to_wire, match_to_wire
from chaodipi.service.rpc.asking import ReadingDesk
from chaodipi.service.rpc.fields import bad_field, bad_token, page_size, page_start, page_token, resource_id
from chaodipi.service.store.archive import MatchQuery, MatchSeen, PlaceError
from chaodipi.v1 import match_pb2, match_pb2_grpc

__all__ = ["MatchService"]

PAGE = 50
MOST = 250
"""Matches in one answer: with custom rulesets and every field set they stay below the longest message."""
CHUNK = 65_536

_STAGES: dict[int, str] = {
    match_pb2.Match.STATE_PENDING: "pending",
    match_pb2.Match.STATE_WAITING_READY: "waiting",
    match_pb2.Match.STATE_RUNNING: "running",
    match_pb2.Match.STATE_FINISHED: "over",
    match_pb2.Match.STATE_CANCELLED: "cancelled",
    match_pb2.Match.STATE_ABORTED: "aborted",
}
_STATES = {stage: state for state, stage in _STAGES.items()}


class MatchService(match_pb2_grpc.MatchServiceServicer):
    """Reads matches at *desk*."""

    def __init__(self, desk: ReadingDesk) -> None:
        self._desk = desk

    async def GetMatch(self, request: match_pb2.GetMatchRequest, context: Any) -> match_pb2.GetMatchResponse:
        """One match."""
        found = resource_id("matches", "name", request.name)
        async with self._desk.asking("match", request.name) as archive:
            return match_pb2.GetMatchResponse(match=_match(await archive.match(found)))

    async def ListMatches(self, request: match_pb2.ListMatchesRequest, context: Any) -> match_pb2.ListMatchesResponse:
        """Matches in pages."""
        query = MatchQuery(
            league=resource_id("leagues", "league", request.league) if request.league else "",
            bot=resource_id("bots", "bot", request.bot) if request.bot else "",
            stages=frozenset(_stage(nth, state) for nth, state in enumerate(request.states)),
            labels=frozenset(request.labels.items()),
        )
        after, size = page_start(request), page_size(request, PAGE, MOST)
        if self._desk.empty and not query.league:
            return match_pb2.ListMatchesResponse()
        async with self._desk.asking("league", request.league) as archive:
            try:
                found, more = await archive.matches(query, after, size)
            except PlaceError as error:
                raise bad_token("it was not given by this host") from error
        out = match_pb2.ListMatchesResponse(matches=[_match(each) for each in found])
        if more:
            out.next_page_token = page_token(request, found[-1].spec.table_id)
        return out

    async def GetReplay(
        self, request: match_pb2.GetReplayRequest, context: Any
    ) -> AsyncIterator[match_pb2.GetReplayResponse]:
        """A record in pieces."""
        found = resource_id("matches", "name", request.name)
        if request.format not in match_pb2.ReplayFormat.values():
            raise bad_field("format", f"this host has no format {request.format}")
        async with self._desk.asking("match", request.name) as archive:
            if request.format == match_pb2.REPLAY_FORMAT_TEXT:
                data = (await archive.record_text(found)).encode()
            else:
                data = await archive.record(found)
        for start in range(0, len(data), CHUNK):
            yield match_pb2.GetReplayResponse(chunk=data[start : start + CHUNK])


def _stage(nth: int, state: int) -> str:
    stage = _STAGES.get(state)
    if stage is None:
        raise bad_field(f"states[{nth}]", f"no state {state}")
    return stage


def _match(seen: MatchSeen) -> match_pb2.Match:
    league = seen.league
    out = match_to_wire(seen.spec)
    state: Any = _STATES[seen.stage]
    out.state = state
    out.league = f"leagues/{league.name}"
    for seating, entry in zip(out.seats, seen.entries, strict=True):
        seating.entry = f"leagues/{league.name}/entries/{entry}"
    out.labels.update(league.labels)
    out.seed_commitment = league.commitment
    out.seed_reveal = league.seed
    out.create_time.FromSeconds(int(league.created_at))
    if seen.summary is not None:
        out.result.CopyFrom(match_result_to_wire(seen.summary, laps=seen.spec.ruleset.laps > 1))
    if seen.ended_at is not None:
        out.end_time.FromSeconds(int(seen.ended_at))
    return out
