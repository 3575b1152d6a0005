"""A league in a store and a host that tells of it, and a reader that keeps every byte it is answered."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
from chaodipi.service.host.host import Host
from chaodipi.service.host.identity import READING, Grant, hash_token
from chaodipi.service.rpc.server import start_server
from chaodipi.service.scheduler.league import PlayedPair, play_league
from chaodipi.service.scheduler.plan_json import plan_to_json
from chaodipi.service.scheduler.run import TableHost
from chaodipi.service.scheduler.schedule import Plan
from chaodipi.service.scheduler.standings import PairOutcome
from chaodipi.service.store import LeagueRow, Store
from chaodipi.service.store.archive import Archive
from chaodipi.service.store.rows import rows_of
from chaodipi.v1 import bot_pb2_grpc, league_pb2, league_pb2_grpc, match_pb2, match_pb2_grpc

TOKEN = "reader"
BEARER = (("authorization", f"Bearer {TOKEN}"),)


class StoppedError(Exception):
    """The league was stopped, as by a kill."""


def begin(store: Store, plan: Plan, labels: dict[str, str] | None = None) -> None:
    """Have the league of *plan* in *store*."""
    store.begin_league(
        LeagueRow(
            plan.league,
            "c" * 64,
            plan.ruleset.digest,
            tuple(entry.name for entry in plan.entries),
            "points",
            plan.pair_count,
            plan.secrets.seed,
            plan.secrets.nonces,
        )
    )
    store.keep_plan(plan.league, plan_to_json(plan, labels))


async def play(
    store: Store,
    plan: Plan,
    host: TableHost,
    *,
    stop_after: int | None = None,
    in_flight: int = 4,
    saving: asyncio.Lock | None = None,
) -> list[PairOutcome]:
    """
    Play what is missing of *plan*, saving each board under *saving*; StoppedError after *stop_after* pairs.

    Pairs are saved one by one, as earlier versions did: a stop may leave half a board in the store.
    """
    lock = saving or asyncio.Lock()
    saved = 0

    async def save(board: Sequence[PlayedPair]) -> None:
        nonlocal saved
        async with lock:
            for pair in board:
                if saved == stop_after:
                    raise StoppedError
                saved += 1
                store.save(rows_of(plan.league, [pair]))

    folder = store.path.parent / plan.league / "records"
    return await play_league(
        plan, host, folder, done=store.outcomes(plan.league), save=save, tables_in_flight=in_flight
    )


class Reader:
    """Asks a host for matches and leagues; ``bytes`` is all that it was ever told."""

    def __init__(self, channel: Any, token: str = TOKEN) -> None:
        self._bearer = (("authorization", f"Bearer {token}"),)
        self.bytes = b""
        self.channel = channel
        self._matches: Any = match_pb2_grpc.MatchServiceStub(channel)
        self._leagues: Any = league_pb2_grpc.LeagueServiceStub(channel)
        self.bots: Any = bot_pb2_grpc.BotServiceStub(channel)

    async def match(self, name: str) -> match_pb2.Match:
        return (await self._ask(self._matches.GetMatch, match_pb2.GetMatchRequest(name=name))).match

    async def page(self, **filters: Any) -> match_pb2.ListMatchesResponse:
        return await self._ask(self._matches.ListMatches, match_pb2.ListMatchesRequest(**filters))

    async def pages(self, **filters: Any) -> AsyncIterator[match_pb2.Match]:
        """Every match, page after page."""
        token = ""
        while True:
            page = await self.page(page_token=token, **filters)
            for match in page.matches:
                yield match
            token = page.next_page_token
            if not token:
                return

    async def league(self, name: str) -> league_pb2.League:
        return (await self._ask(self._leagues.GetLeague, league_pb2.GetLeagueRequest(name=name))).league

    async def standings(self, **request: Any) -> league_pb2.ListStandingsResponse:
        return await self._ask(self._leagues.ListStandings, league_pb2.ListStandingsRequest(**request))

    async def replay(self, name: str, format: int = 0) -> list[bytes]:
        """The chunks of a record."""
        kind: Any = format
        chunks = []
        async for piece in self._matches.GetReplay(
            match_pb2.GetReplayRequest(name=name, format=kind), metadata=self._bearer
        ):
            self.bytes += piece.chunk
            chunks.append(piece.chunk)
        return chunks

    async def refused(self, call: Any) -> tuple[str, str]:
        """Code and reason with which *call* is refused; ("OK", "") if it is not."""
        try:
            await call
        except grpc.aio.AioRpcError as error:
            trailer = dict(error.trailing_metadata() or ())
            self.bytes += (error.details() or "").encode() + bytes(trailer.get("grpc-status-details-bin", b""))
            return error.code().name, (error.details() or "").partition(":")[0]
        return "OK", ""

    async def _ask(self, method: Any, request: Any) -> Any:
        answer = await method(request, metadata=self._bearer)
        self.bytes += answer.SerializeToString()
        return answer


@asynccontextmanager
async def telling(store: Store) -> AsyncIterator[tuple[Host, Archive, Reader]]:
    """A host that tells of *store*, its archive, and a reader with the two scopes for it."""
    host = Host()
    host.set_grants([Grant("viewer", hash_token(TOKEN), scopes=READING)])
    with Archive(store) as archive:
        server, port = await start_server(host, archive=archive)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield host, archive, Reader(channel)
        await host.stop(0)
        await server.stop(None)


def opened(folder: Path) -> Store:
    """A new store in *folder*."""
    return Store(folder / "chaodipi.db", writing=True)


def renamed(plan: Plan, league: str, seed: bytes | None = None) -> Plan:
    """*plan* as another league, with the same seed or with *seed*."""
    secrets = plan.secrets if seed is None else replace(plan.secrets, seed=seed)
    return replace(plan, league=league, secrets=secrets)


def record_paths(store: Store, league: str) -> Iterator[Path]:
    """The records of *league*."""
    yield from sorted((store.path.parent / league / "records").glob("*.jsonl"))
