"""What a table would tell of its board is told to nobody before every table of the board is over.

A bot may have the scopes to read. Were the result of one table of its board told while it plays the other, it would
know who dealt in a first deal, how strong the cards are, and, by the record, the cards.
"""

import asyncio
from dataclasses import replace
from typing import Any

import grpc
import pytest
from chaodipi.engine.ruleset import resolve
from chaodipi.service.boards.board import Secrets
from chaodipi.service.host.identity import Grant, hash_token
from chaodipi.service.host.progress import Progress
from chaodipi.service.records.staging import Staging
from chaodipi.service.scheduler.schedule import Entry, Plan, round_robin
from chaodipi.service.store import archive as archive_module
from chaodipi.service.store.archive import LeagueSeen
from chaodipi.v1 import match_pb2, match_pb2_grpc

from tests.league.stand_in import StandInHost, default_brain, high, shower
from tests.league.test_seeds import found_in, secrets_of
from tests.support.reading import Reader, StoppedError, begin, opened, play, record_paths, renamed, telling

BRAINS = {"low": default_brain, "shower": shower, "high": high}
SECRETS = Secrets(b"\x5e\xed" * 16, (b"nonce of low, long", b"nonce of shower, long", b"nonce of high, long"))
SHARED = Plan("spring", resolve("huanle_2"), tuple(map(Entry.of_bot, BRAINS)), 3, SECRETS, shared=True)
"""Six tables a board."""
FINISHED = match_pb2.Match.STATE_FINISHED


class LeakError(AssertionError):
    """Something was told that is secret."""


def boards_of(plan: Plan) -> dict[str, int]:
    """Name of a match → its board."""
    return {f"matches/{spec.table_id}": pair.board.index for pair in round_robin(plan) for spec in pair.tables}


async def look(reader: Reader, plan: Plan, over: set[int], *, reveal: bool = False) -> int:
    """
    Ask everything that can be asked of *plan*, of whose boards those in *over* are over.

    LeakError for whatever is told of other boards, or of the seed unless *reveal*; the number of results seen.
    """
    told = 0
    start = len(reader.bytes)
    boards = boards_of(plan)
    listed = {match.name: match async for match in reader.pages(league=f"leagues/{plan.league}", page_size=7)}
    assert listed.keys() == boards.keys()
    for name, board in boards.items():
        for match in (listed[name], await reader.match(name)):
            hidden = board not in over
            if hidden and (match.HasField("result") or match.HasField("end_time") or match.state == FINISHED):
                raise LeakError(f"{name}: {match}")
            if bool(match.seed_reveal) != reveal:
                raise LeakError(f"{name}: the seed")
            assert hidden or match.state == FINISHED
            told += match.HasField("result")
        for form in (match_pb2.REPLAY_FORMAT_JSONL, match_pb2.REPLAY_FORMAT_TEXT):
            answer = await reader.refused(reader.replay(name, form))
            if hidden and answer != ("FAILED_PRECONDITION", "DEALS_STILL_SECRET"):
                raise LeakError(f"{name}: replay {answer}")
            assert hidden or answer == ("OK", "")
    league = await reader.league(f"leagues/{plan.league}")
    if (bool(league.seed_reveal), any(entry.nonce for entry in league.entries)) != (reveal, reveal):
        raise LeakError("the seed or a nonce")
    shown = sum(board in over for board in boards.values())
    standings = await reader.standings(parent=f"leagues/{plan.league}")
    if (league.matches_done, sum(line.matches for line in standings.standings)) != (shown, 2 * shown):
        raise LeakError(f"counts: {league.matches_done}, {standings}")
    secrets = {
        name: secret
        for name, secret in secrets_of(plan).items()
        if not reveal and (not name.startswith("seed of board") or int(name.split()[3].rstrip(",")) not in over)
    }
    if found := found_in(reader.bytes[start:], secrets):
        raise LeakError(f"told: {found}")
    return told


class Asked(StandInHost):
    """A host whose league is looked at at every third begin or end of a table."""

    def __init__(self, look_now: Any) -> None:
        super().__init__(BRAINS, stagger=True)
        self.moments = 0
        self.look_now = look_now

    async def moment(self) -> None:
        self.moments += 1
        if self.moments % 3 == 0:
            await self.look_now()

    def has_started(self, table_id: str) -> bool:
        return True

    async def play_table(self, spec: Any) -> Any:
        await self.moment()
        result = await super().play_table(spec)
        await self.moment()
        return result


@pytest.mark.parametrize(("shared", "in_flight"), [(True, 2), (False, 4)])
async def test_while_a_league_is_played_only_boards_that_are_over_are_told(tmp_path, shared, in_flight):
    """Whatever is asked, at every moment; when the league is over, all of it is told, its seed and nonces too."""
    plan = replace(SHARED, shared=shared, boards=2)
    saving = asyncio.Lock()
    with opened(tmp_path) as store:
        begin(store, plan)
        async with telling(store) as (_, archive, reader):
            seen: list[int] = []
            pairs: dict[int, set[int]] = {}
            for pair in round_robin(plan):
                pairs.setdefault(pair.board.index, set()).add(pair.number)

            async def look_now() -> None:
                # What is over stays as it is while we look.
                async with saving:
                    done = set(store.outcomes("spring"))
                    over = {board for board, own in pairs.items() if own <= done}
                    seen.append(await look(reader, plan, over))

            archive.playing["spring"] = progress = Progress(Asked(look_now))
            await play(store, plan, progress, saving=saving, in_flight=in_flight)
            assert len(seen) >= 4
            assert seen[0] == 0 < seen[-1]
            assert await look(reader, plan, set(pairs), reveal=True) == 2 * 2 * plan.pair_count


async def stopped(store: Any, plan: Plan, pairs: int) -> None:
    """Play *plan* until *pairs* are saved: a board may be half in the store, as an earlier version left it."""
    begin(store, plan)
    with pytest.raises(StoppedError):
        await play(store, plan, StandInHost(BRAINS), stop_after=pairs, in_flight=2)


async def test_pairs_that_were_saved_before_their_board_was_over_are_not_told(tmp_path):
    """A stop between two pairs of a shared board leaves one result of it, and no record: the other will be played."""
    with opened(tmp_path) as store:
        await stopped(store, SHARED, 4)
        assert len(store.outcomes("spring")) == 4
        assert len(list(record_paths(store, "spring"))) == 6
        async with telling(store) as (_, _, reader):
            assert await look(reader, SHARED, {0}) == 2 * 6


@pytest.mark.parametrize("leak", ["result", "seed", "nonces", "progress"])
async def test_a_planted_leak_is_found(tmp_path, monkeypatch, leak):
    """The look above fails when a result is told too early, the seed, a nonce, or that a table is over."""
    with opened(tmp_path) as store:
        await stopped(store, SHARED, 4)
        real = LeagueSeen.__init__

        def telling_secrets(self: LeagueSeen, **values: Any) -> None:
            real(self, **values | ({"seed": SECRETS.seed} if leak == "seed" else {"nonces": SECRETS.nonces}))

        async with telling(store) as (_, archive, reader):
            if leak == "result":
                monkeypatch.setattr(
                    archive_module, "boards_over", lambda pairs, saved: {b for b, own in pairs.items() if own & saved}
                )
            elif leak == "progress":
                archive.playing["spring"] = type("Careless", (), {"stage": lambda self, table_id: "over"})()
            else:
                monkeypatch.setattr(LeagueSeen, "__init__", telling_secrets)
            with pytest.raises(LeakError):
                await look(reader, SHARED, {0})


async def test_a_league_that_is_over_waits_for_another_with_its_seed(tmp_path, monkeypatch):
    """Boards follow from the seed, not from the league's name: a record of the one shows the cards of the other."""
    again = renamed(SHARED, "again")
    boards = {0, 1, 2}
    with opened(tmp_path) as store:
        begin(store, SHARED)
        await play(store, SHARED, StandInHost(BRAINS))
        async with telling(store) as (_, _, reader):
            assert await look(reader, SHARED, boards, reveal=True) == 2 * 18
            begin(store, again)
            assert await look(reader, SHARED, set()) == 0
            assert (await reader.league("leagues/spring")).matches_done == 0
            with monkeypatch.context() as patch:
                patch.setattr(archive_module, "others_play_on", lambda league, leagues: False)
                with pytest.raises(LeakError):
                    await look(reader, SHARED, set())
            begin(store, renamed(SHARED, "other", b"another seed than that"))
            await play(store, again, StandInHost(BRAINS))
            for plan in (SHARED, again):
                assert await look(reader, plan, boards, reveal=True) == 2 * 18


async def test_rights_come_before_existence(tmp_path):
    """Without the scope a match that there is and one that there is not look the same; so do open boards' records."""
    with opened(tmp_path) as store:
        await stopped(store, SHARED, 4)
        async with telling(store) as (host, _, reader):
            host.set_grants([Grant("ant", hash_token("narrow"), scopes=frozenset({"play", "leagues.read"}))])
            there, nowhere = (f"matches/{name}" for name in ("spring/00000/low-high/1", "winter/00000/low-high/1"))
            matches: Any = match_pb2_grpc.MatchServiceStub(reader.channel)
            bearer = (("authorization", "Bearer narrow"),)
            said = set()
            for name in (there, nowhere, "rubbish"):
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await matches.GetMatch(match_pb2.GetMatchRequest(name=name), metadata=bearer)
                said.add((refused.value.code(), refused.value.details()))
            assert [code for code, _ in said] == [grpc.StatusCode.PERMISSION_DENIED]
            # The record of a table of board 1 is staged, there is none of board 2: nobody hears which.
            staged = Staging(tmp_path / "spring" / "records").folder
            assert {path.name.split("_")[1] for path in staged.iterdir()} == {"00001"}
            answers = set()
            for board in (1, 2):
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await reader.replay(f"matches/spring/0000{board}/low-shower/1")
                answers.add(refused.value.details().replace(f"0000{board}", "N"))
            assert len(answers) == 1


def test_progress_never_says_that_a_table_is_over():
    """What was begun runs until it may be told."""

    class Host:
        async def play_table(self, spec: Any) -> Any:
            return None

        def has_started(self, table_id: str) -> bool:
            return False

    progress = Progress(Host())  # type: ignore[arg-type]
    spec = next(round_robin(SHARED)).tables[0]
    assert progress.stage(spec.table_id) == "pending"
    asyncio.run(progress.play_table(spec))
    assert progress.stage(spec.table_id) == "running"
