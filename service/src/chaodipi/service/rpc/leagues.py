"""LeagueService: the host's leagues and their standings, from the results that may be told."""

from typing import Any

from chaodipi.service.rpc.asking import ReadingDesk
from chaodipi.service.rpc.fields import bad_token, page_size, page_start, page_token, resource_id
from chaodipi.service.scheduler.standings import Estimate, Standing, standard_error, standings
from chaodipi.service.scheduler.timing import quantile, summed_times
from chaodipi.service.store.archive import LeagueSeen, StandingsSeen
from chaodipi.v1 import league_pb2, league_pb2_grpc

__all__ = ["LeagueService"]

PAGE = 100


class LeagueService(league_pb2_grpc.LeagueServiceServicer):
    """Reads leagues at *desk*."""

    def __init__(self, desk: ReadingDesk) -> None:
        self._desk = desk

    async def GetLeague(self, request: league_pb2.GetLeagueRequest, context: Any) -> league_pb2.GetLeagueResponse:
        """One league."""
        found = resource_id("leagues", "name", request.name)
        async with self._desk.asking("league", request.name) as archive:
            return league_pb2.GetLeagueResponse(league=_league(await archive.league(found)))

    async def ListStandings(
        self, request: league_pb2.ListStandingsRequest, context: Any
    ) -> league_pb2.ListStandingsResponse:
        """Standings in pages, each of them from the results of its moment."""
        found = resource_id("leagues", "parent", request.parent)
        start, size = _place(page_start(request)), page_size(request, PAGE)
        async with self._desk.asking("league", request.parent) as archive:
            seen = await archive.standings(found)
        lines = _standings(seen)
        out = league_pb2.ListStandingsResponse(standings=lines[start : start + size])
        if start + size < len(lines):
            out.next_page_token = page_token(request, str(start + size))
        if seen.newest_at is not None:
            out.as_of_time.FromSeconds(int(seen.newest_at))
        return out


def _place(start: str) -> int:
    """Standings move while a league is played, so a page begins at a place and not after an entry."""
    if start and not (start.isascii() and start.isdecimal() and len(start) < 10):
        raise bad_token("it was not given by this host")
    return int(start or 0)


def _league(seen: LeagueSeen) -> league_pb2.League:
    states = league_pb2.League
    out = league_pb2.League(
        name=f"leagues/{seen.name}",
        display_name=seen.name,
        state=states.STATE_FINISHED if seen.over else states.STATE_RUNNING,
        format=states.FORMAT_ROUND_ROBIN,
        ruleset=f"rulesets/{seen.ruleset.name}",
        ruleset_digest=seen.ruleset.digest,
        boards_per_pairing=seen.boards,
        duplicate=True,
        matches_planned=seen.tables,
        matches_done=seen.done,
        seed_commitment=seen.commitment,
        seed_reveal=seen.seed,
        rank_by=seen.rank_by,
        labels=seen.labels,
    )
    for nth, entry in enumerate(seen.entries):
        one, two = entry.bots
        out.entries.add(
            name=f"leagues/{seen.name}/entries/{entry.name}",
            display_name=entry.name,
            bot=f"bots/{one}",
            partner_bot="" if one == two else f"bots/{two}",
            nonce=seen.nonces[nth] if seen.nonces else b"",
        )
    out.create_time.FromSeconds(int(seen.created_at))
    if seen.ended_at is not None:
        out.end_time.FromSeconds(int(seen.ended_at))
    return out


def _standings(seen: StandingsSeen) -> list[league_pb2.Standing]:
    league = seen.league
    times = summed_times(seen.outcomes)
    return [
        _standing(
            line,
            f"leagues/{league.name}/entries/{line.entry}",
            seen.deals[line.entry],
            quantile(times[line.entry], 0.95) if times.get(line.entry) else 0,
        )
        for line in standings([entry.name for entry in league.entries], seen.outcomes, league.rank_by)
    ]


def _standing(line: Standing, entry: str, deals: int, think_p95_ms: int) -> league_pb2.Standing:
    return league_pb2.Standing(
        rank=line.rank,
        entry=entry,
        matches=2 * line.pairs,
        pairs=line.pairs,
        deals=deals,
        score_per_deal=line.steps.mean,
        score_stderr=standard_error(line.steps, line.pairs) or 0.0,
        faults={kind.upper(): count for kind, count in line.faults.items()},
        think_p95_ms=think_p95_ms,
        points=_estimate(line.points),
        steps=_estimate(line.steps),
        win=_estimate(line.win),
        forfeits=line.forfeits,
    )


def _estimate(value: Estimate) -> league_pb2.Estimate:
    return league_pb2.Estimate(mean=value.mean, half_width=value.half)
