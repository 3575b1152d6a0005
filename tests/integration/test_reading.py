"""MatchService and LeagueService over a socket: they tell what is in the store, and name what is wrong."""

import asyncio
import base64
import json
import threading
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from chaodipi.engine.ruleset import preset_names, resolve
from chaodipi.service.boards.board import Secrets
from chaodipi.service.boards.shuffle import seed_commitment
from chaodipi.service.cli.replay import verify_files
from chaodipi.service.convert import match_result_to_wire
from chaodipi.service.host.errors import SessionRefused
from chaodipi.service.host.identity import READING, Grant, hash_token
from chaodipi.service.host.progress import Progress
from chaodipi.service.match.summary import TableSummary
from chaodipi.service.match.table import TableSpec
from chaodipi.service.records.record import record_name
from chaodipi.service.records.show import show
from chaodipi.service.records.summary import summary_from_json, summary_to_json
from chaodipi.service.records.verify import Record
from chaodipi.service.rpc import matches
from chaodipi.service.rpc.fields import MAX_PAGE
from chaodipi.service.rpc.turns import MOST_WAITING, Turns
from chaodipi.service.scheduler.plan_json import plan_from_json, plan_to_json
from chaodipi.service.scheduler.schedule import Entry, Plan, round_robin
from chaodipi.service.store import StoreError, TokenRow
from chaodipi.v1 import bot_pb2, match_pb2

from tests.league.stand_in import StandInHost, default_brain, high, late, shower
from tests.support.reading import BEARER, Reader, begin, opened, play, record_paths, renamed, telling

BRAINS = {"low": default_brain, "shower": shower, "high": high}
SECRETS = Secrets(b"\x5e\xed" * 16, (b"nonce of low", b"nonce of shower", b"nonce of high"))
PLAN = Plan("spring", resolve("huanle_2"), tuple(map(Entry.of_bot, BRAINS)), 3, SECRETS)
RUNNING, FINISHED, PENDING = (
    match_pb2.Match.STATE_RUNNING,
    match_pb2.Match.STATE_FINISHED,
    match_pb2.Match.STATE_PENDING,
)


class Keeping(StandInHost):
    """Keeps what became of each table, and has decisions take time."""

    def __init__(self, brains: Any) -> None:
        super().__init__(brains, stagger=True)
        self.results: dict[str, Any] = {}

    async def play_table(self, spec: TableSpec) -> Any:
        result = await super().play_table(spec)
        decisions = tuple(replace(each, think_ms=nth % 7) for nth, each in enumerate(result.decisions))
        self.results[spec.table_id] = result = replace(result, decisions=decisions)
        return result


@pytest.fixture
async def spring(tmp_path):
    """A league that is over."""
    with opened(tmp_path) as store:
        begin(store, PLAN, {"season": "2026"})
        host = Keeping(BRAINS)
        await play(store, PLAN, host)
        async with telling(store) as (_, archive, reader):
            yield store, archive, reader, host


async def names_of(reader, **filters):
    return [match.name async for match in reader.pages(**filters)]


async def test_each_match_is_told_as_its_seats_were_told_at_its_end(spring):
    """The last pair planned first, the second table of a pair before its first; results as in SeatEnded."""
    _, _, reader, host = spring
    planned = [spec for pair in round_robin(PLAN) for spec in pair.tables]

    told = [match async for match in reader.pages()]

    assert [match.name for match in told] == [f"matches/{spec.table_id}" for spec in reversed(planned)]
    for match, spec in zip(told, reversed(planned), strict=True):
        assert match.result == match_result_to_wire(TableSummary.of(host.results[spec.table_id]))
        assert match.result.seats[0].think_max_ms == 6
        assert [seat.bot for seat in match.seats] == [f"bots/{bot}" for bot in spec.bots]
        assert [seat.entry for seat in match.seats] == [f"leagues/spring/entries/{bot}" for bot in spec.bots]
        assert (match.state, match.league, dict(match.labels)) == (FINISHED, "leagues/spring", {"season": "2026"})
        assert (match.seed_commitment, match.seed_reveal) == (seed_commitment(SECRETS.seed), SECRETS.seed)
        assert match.end_time.seconds >= match.create_time.seconds > 0
        assert not match.HasField("start_time")
        assert await reader.match(match.name) == match


async def test_a_league_that_is_over_is_told_with_its_secrets(spring):
    _, _, reader, _ = spring
    league = await reader.league("leagues/spring")
    assert (league.state, league.format, league.rank_by) == (league.STATE_FINISHED, league.FORMAT_ROUND_ROBIN, "points")
    assert (league.ruleset, league.ruleset_digest) == ("rulesets/huanle_2", PLAN.ruleset.digest)
    assert (league.boards_per_pairing, league.duplicate) == (3, True)
    assert (league.matches_planned, league.matches_done) == (18, 18)
    assert (league.seed_commitment, league.seed_reveal) == (seed_commitment(SECRETS.seed), SECRETS.seed)
    assert [(entry.name, entry.bot, entry.partner_bot, entry.nonce) for entry in league.entries] == [
        (f"leagues/spring/entries/{name}", f"bots/{name}", "", nonce)
        for name, nonce in zip(BRAINS, SECRETS.nonces, strict=True)
    ]
    assert league.end_time.seconds >= league.create_time.seconds > 0


async def test_teams_have_two_bots(tmp_path):
    teams = (Entry("mixed", ("low", "high")), Entry.of_bot("shower"))
    plan = replace(PLAN, entries=teams, boards=1, secrets=Secrets(b"s" * 32, (b"", b"")))
    with opened(tmp_path) as store:
        begin(store, plan)
        async with telling(store) as (_, _, reader):
            league = await reader.league("leagues/spring")
            assert [(entry.bot, entry.partner_bot) for entry in league.entries] == [
                ("bots/low", "bots/high"),
                ("bots/shower", ""),
            ]
            second, first = [match async for match in reader.pages()]
            assert [seat.bot[5:] for seat in first.seats] == ["low", "shower", "high", "shower"]
            assert [seat.entry.rpartition("/")[2] for seat in second.seats] == ["shower", "mixed", "shower", "mixed"]
            assert await names_of(reader, bot="bots/high") == [second.name, first.name]


@pytest.mark.parametrize("preset", preset_names())
async def test_plans_and_summaries_come_back_from_the_store_as_they_were(tmp_path, preset):
    """Every preset, with ends of every kind that a stand-in reaches, laps, flags, payouts and awards among them."""
    brains = {"low": default_brain, "late": late}
    plan = Plan("t", resolve(preset), tuple(map(Entry.of_bot, brains)), 16, Secrets(b"s" * 32, (b"", b"")), shared=True)
    again = plan_from_json("t", plan_to_json(plan))
    for pair, same in zip(round_robin(plan), round_robin(again), strict=True):
        for one, two in zip(pair.tables, same.tables, strict=True):
            assert (one.table_id, one.bots, one.time, one.ruleset) == (two.table_id, two.bots, two.time, two.ruleset)
    assert again.secrets.seed == b""
    host = Keeping(brains)
    with opened(tmp_path) as store:
        begin(store, plan)
        await play(store, plan, host)
        for table_id, result in host.results.items():
            summary = TableSummary.of(result)
            laps = plan.ruleset.laps > 1
            [kept] = store.summaries([table_id]).values()
            assert kept == summary_from_json(summary_to_json(summary))
            assert match_result_to_wire(kept, laps=laps) == match_result_to_wire(summary, laps=laps)


# ---- pages and filters


@pytest.mark.parametrize("size", [1, 5, 17, 18, 1000])
async def test_pages_of_any_size_are_the_same_list(spring, size):
    _, _, reader, _ = spring
    everything = [f"matches/{spec.table_id}" for pair in round_robin(PLAN) for spec in pair.tables][::-1]
    assert await names_of(reader, page_size=size) == everything
    low = [name for name in everything if "low" in name]
    assert await names_of(reader, page_size=size, bot="bots/low", league="leagues/spring") == low


async def test_filters_must_all_hold(spring):
    store, _, reader, _ = spring
    begin(store, autumn := renamed(PLAN, "autumn", b"a" * 32), {"season": "2027", "place": "hall"})
    spring_names, autumn_names = (
        [f"matches/{spec.table_id}" for pair in round_robin(plan) for spec in pair.tables][::-1]
        for plan in (PLAN, autumn)
    )
    # Begun in the same second, leagues go by their names.
    assert sorted(await names_of(reader, page_size=7)) == sorted(spring_names + autumn_names)
    assert await names_of(reader, league="leagues/autumn") == autumn_names
    assert await names_of(reader, states=[FINISHED]) == spring_names
    assert await names_of(reader, states=[PENDING]) == autumn_names
    assert await names_of(reader, states=[FINISHED], league="leagues/autumn") == []
    assert await names_of(reader, states=[match_pb2.Match.STATE_ABORTED]) == []
    assert await names_of(reader, labels={"season": "2026"}) == spring_names
    assert await names_of(reader, labels={"season": "2027", "place": "hall"}) == autumn_names
    assert await names_of(reader, labels={"season": "2026", "place": "hall"}) == []
    assert await names_of(reader, bot="bots/nobody") == []


async def test_a_page_token_is_good_for_its_filters_only(spring):
    _, _, reader, _ = spring
    page = await reader.page(page_size=4, bot="bots/low")
    token = page.next_page_token
    wanted = ("INVALID_ARGUMENT", "PAGE_TOKEN_INVALID")
    assert len((await reader.page(page_size=2, bot="bots/low", page_token=token)).matches) == 2
    standing = (await reader.standings(parent="leagues/spring", page_size=1)).next_page_token
    mark, place = (base64.urlsafe_b64decode(each + "===")[:9] for each in (token, standing))
    for filters in ({}, {"bot": "bots/high"}, {"bot": "bots/low", "league": "leagues/spring"}):
        assert await reader.refused(reader.page(page_token=token, **filters)) == wanted
    for other in (
        "x", "%", "ä", "A" * 5, token[:-1], token + "A", standing, "spring/00000/low-high/1",
        base64.urlsafe_b64encode(mark).decode(),
        base64.urlsafe_b64encode(mark + b"spring/00000/low-nobody/1").decode(),
        base64.urlsafe_b64encode(mark + b"winter/00000/low-high/1").decode(),
        base64.urlsafe_b64encode(mark + b"\xff").decode(),
    ):  # fmt: skip
        assert await reader.refused(reader.page(page_token=other, bot="bots/low")) == wanted, other
    for other in ("x", token, base64.urlsafe_b64encode(place + b"-1").decode()):
        assert await reader.refused(reader.standings(parent="leagues/spring", page_token=other)) == wanted, other


async def test_a_list_goes_on_where_it_was_when_a_league_begins_meanwhile(spring):
    store, _, reader, _ = spring
    first = await reader.page(page_size=10)
    begin(store, renamed(PLAN, "autumn", b"a" * 32))
    rest = await reader.page(page_token=first.next_page_token)
    seen = [match.name for match in (*first.matches, *rest.matches)]
    assert len(set(seen)) == len(seen)
    assert {match.name for match in (*first.matches, *rest.matches) if "spring" in match.name} == set(
        await names_of(reader, league="leagues/spring")
    )


async def test_an_answer_is_never_longer_than_a_message_may_be(tmp_path):
    """The longest matches that there can be: every value of the ruleset, the longest names."""
    names = [chr(ord("a") + nth) * 32 for nth in range(2)]
    ruleset = resolve("an_chao").override({"stage": 100}, "r" * 60)
    plan = Plan("l" * 32, ruleset, tuple(map(Entry.of_bot, names)), 500, Secrets(b"s" * 32, (b"", b"")))
    with opened(tmp_path) as store:
        begin(store, plan, {f"label{nth}": "v" * 64 for nth in range(16)})
        async with telling(store) as (_, _, reader):
            page = await reader.page(page_size=MAX_PAGE)
            assert len(page.matches) <= matches.MOST
            assert page.ByteSize() < 1 << 20
            assert len(await names_of(reader, page_size=MAX_PAGE)) == 1000


# ---- what is wrong with a request


@pytest.mark.parametrize(
    ("call", "filters", "reason", "names"),
    [
        ("match", {"name": ""}, "FIELD_INVALID", "name:"),
        ("match", {"name": "spring/00000/low-high/1"}, "FIELD_INVALID", "name:"),
        ("match", {"name": "matches/"}, "FIELD_INVALID", "name:"),
        ("match", {"name": "matches/../../etc/passwd"}, "FIELD_INVALID", "name:"),
        ("match", {"name": "matches/" + "x" * 300}, "FIELD_INVALID", "name:"),
        ("match", {"name": "matches/spring"}, "MATCH_NOT_FOUND", "matches/spring"),
        ("match", {"name": "matches/spring/00000/low-high/3"}, "MATCH_NOT_FOUND", "low-high/3"),
        ("match", {"name": "matches/winter/00000/low-high/1"}, "MATCH_NOT_FOUND", "winter"),
        ("replay", {"name": "matches/spring/../x"}, "MATCH_NOT_FOUND", "spring/../x"),
        ("replay", {"name": "bots/low"}, "FIELD_INVALID", "name:"),
        ("replay", {"name": "matches/spring/00000/low-high/1", "format": 99}, "FIELD_INVALID", "format:"),
        ("page", {"league": "spring"}, "FIELD_INVALID", "league:"),
        ("page", {"league": "leagues/winter"}, "LEAGUE_NOT_FOUND", "leagues/winter"),
        ("page", {"bot": "leagues/low"}, "FIELD_INVALID", "bot:"),
        ("page", {"states": [0]}, "FIELD_INVALID", "states[0]:"),
        ("page", {"states": [4, 77]}, "FIELD_INVALID", "states[1]:"),
        ("page", {"page_size": -1}, "FIELD_INVALID", "page_size:"),
        ("page", {"page_size": 1001}, "FIELD_INVALID", "page_size:"),
        ("league", {"name": "matches/spring"}, "FIELD_INVALID", "name:"),
        ("league", {"name": "leagues/winter"}, "LEAGUE_NOT_FOUND", "leagues/winter"),
        ("standings", {"parent": ""}, "FIELD_INVALID", "parent:"),
        ("standings", {"parent": "leagues/winter"}, "LEAGUE_NOT_FOUND", "leagues/winter"),
        ("standings", {"parent": "leagues/spring", "page_size": 1001}, "FIELD_INVALID", "page_size:"),
    ],
)
async def test_a_bad_request_is_told_which_field_is_wrong(tmp_path, call, filters, reason, names):
    with opened(tmp_path) as store:
        begin(store, PLAN)
        async with telling(store) as (_, _, reader):
            code, said = await reader.refused(getattr(reader, call)(**filters))
            assert (code, said) == ("INVALID_ARGUMENT" if reason == "FIELD_INVALID" else "NOT_FOUND", reason)
            assert names.encode() in reader.bytes


async def test_a_host_without_leagues_has_no_matches(tmp_path):
    with opened(tmp_path) as store:
        async with telling(store) as (_, _, reader):
            assert await names_of(reader) == []
            assert (await reader.refused(reader.match("matches/spring/00000/low-high/1")))[1] == "MATCH_NOT_FOUND"
            assert (await reader.refused(reader.league("leagues/spring")))[1] == "LEAGUE_NOT_FOUND"


# ---- records


async def test_a_record_is_streamed_as_it_was_written_and_verifies(spring, tmp_path, monkeypatch, capsys):
    store, _, reader, _ = spring
    paths = list(record_paths(store, "spring"))
    fetched = tmp_path / "fetched"
    fetched.mkdir()
    assert len(paths) == 18
    for match in (await reader.page()).matches:
        name = record_name(match.name.removeprefix("matches/"))
        path = store.path.parent / "spring" / "records" / name
        chunks = await reader.replay(match.name, match_pb2.REPLAY_FORMAT_JSONL)
        assert b"".join(chunks) == path.read_bytes() == b"".join(await reader.replay(match.name))
        text = b"".join(await reader.replay(match.name, match_pb2.REPLAY_FORMAT_TEXT)).decode()
        assert text.splitlines() == list(show(Record.read(path)))
        (fetched / name).write_bytes(b"".join(chunks))
    assert verify_files([fetched])
    assert capsys.readouterr().out.startswith("18 records, 18 match")
    assert matches.CHUNK == 65_536
    monkeypatch.setattr(matches, "CHUNK", 1000)
    chunks = await reader.replay(match.name)
    assert {len(chunk) for chunk in chunks[:-1]} == {1000}
    assert 0 < len(chunks[-1]) <= 1000
    assert b"".join(chunks) == path.read_bytes()


async def test_a_record_that_is_not_the_saved_one_is_not_passed_on(spring):
    store, _, reader, _ = spring
    one, two = list(record_paths(store, "spring"))[:2]
    one.write_bytes(one.read_bytes().replace(b"play", b"pray"))
    two.unlink()
    for path in (one, two):
        name = "matches/" + path.stem.replace("_", "/")
        assert await reader.refused(reader.replay(name)) == ("DATA_LOSS", "RECORD_DAMAGED")
    assert str(store.path.parent).encode() not in reader.bytes


# ---- standings


async def test_standings_are_those_of_the_command_and_of_the_results(spring, capsys):
    from chaodipi.service.cli.league import show_standings
    from rich.console import Console

    store, _, reader, _ = spring
    answer = await reader.standings(parent="leagues/spring")
    show_standings(Console(), store.path.parent, None, as_json=True)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == len(answer.standings) == 3
    for line, told in zip(lines, answer.standings, strict=True):
        assert told.entry == f"leagues/spring/entries/{line['entry']}"
        assert (told.rank, told.pairs, told.matches, told.deals) == (line["rank"], line["pairs"], 12, 12)
        for scale in ("points", "steps", "win"):
            estimate = getattr(told, scale)
            assert (estimate.mean, estimate.half_width) == (line[scale]["mean"], line[scale]["half"])
        assert told.score_per_deal == line["steps"]["mean"]
        # t(0.975, 5) from a table.
        assert told.score_stderr == pytest.approx(line["steps"]["half"] / 2.570582)
        assert (dict(told.faults), told.forfeits) == (line["faults"], line["forfeits"])
        assert told.think_p95_ms == 6
        assert (told.rating, told.rating_low, told.rating_high) == (0, 0, 0)
    assert answer.as_of_time.seconds > 0
    pages = []
    token = ""
    while True:
        page = await reader.standings(parent="leagues/spring", page_size=2, page_token=token)
        pages.append(list(page.standings))
        if not (token := page.next_page_token):
            break
    assert [len(page) for page in pages] == [2, 1]
    assert pages[0] + pages[1] == list(answer.standings)


async def test_a_league_without_results_has_standings_without_numbers(tmp_path):
    with opened(tmp_path) as store:
        begin(store, PLAN)
        async with telling(store) as (_, _, reader):
            answer = await reader.standings(parent="leagues/spring")
            assert not answer.HasField("as_of_time")
            for line in answer.standings:
                assert (line.rank, line.pairs, line.deals, line.think_p95_ms) == (1, 0, 0, 0)
                assert not line.points.HasField("half_width")


# ---- how far a match is


async def test_a_match_waits_runs_and_is_over(tmp_path):
    """Its states in the order in which they come; over only when its result may be told."""

    class Slow(Keeping):
        """Tables wait until they may start, and then until they may end."""

        def __init__(self) -> None:
            super().__init__(BRAINS)
            self.gates = [asyncio.Event(), asyncio.Event()]
            self.started: set[str] = set()

        def has_started(self, table_id: str) -> bool:
            return table_id in self.started

        async def play_table(self, spec):
            if "low-high" in spec.table_id:
                await self.gates[0].wait()
                self.started.add(spec.table_id)
                await self.gates[1].wait()
            return await super().play_table(spec)

    with opened(tmp_path) as store:
        begin(store, plan := replace(PLAN, boards=1))
        async with telling(store) as (_, archive, reader):
            host = Slow()
            archive.playing["spring"] = progress = Progress(host)
            name = "matches/spring/00001/low-high/1"
            states = [(await reader.match(name)).state]
            playing = asyncio.create_task(play(store, plan, progress, in_flight=6))
            while progress.stage(name.removeprefix("matches/")) == "pending":
                await asyncio.sleep(0)
            for gate in host.gates:
                states.append((await reader.match(name)).state)
                assert [match.name async for match in reader.pages(states=[states[-1]])].count(name) == 1
                gate.set()
                while gate is host.gates[0] and not host.started:
                    await asyncio.sleep(0)
            await playing
            states.append((await reader.match(name)).state)
            assert states == [PENDING, match_pb2.Match.STATE_WAITING_READY, RUNNING, FINISHED]


# ---- the store and the other calls


async def test_while_the_store_is_slow_the_host_goes_on_and_a_bounded_number_of_questions_waits(spring, monkeypatch):
    store, _, reader, _ = spring
    real, go_on = store.planned, threading.Event()

    def slow() -> Any:
        assert go_on.wait(30)
        return real()

    monkeypatch.setattr(store, "planned", slow)
    try:
        calls = [reader.refused(reader.league("leagues/spring")) for _ in range(MOST_WAITING + 1)]
        asked = {asyncio.create_task(call) for call in calls}
        [refused], asked = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        assert refused.result() == ("RESOURCE_EXHAUSTED", "RATE_LIMITED")
        assert b"google.rpc.RetryInfo" in reader.bytes
        # Whatever is no question for the store is answered.
        wrong = reader.bots.ListBots(bot_pb2.ListBotsRequest(page_token="x"), metadata=BEARER)
        assert await reader.refused(wrong) == ("INVALID_ARGUMENT", "PAGE_TOKEN_INVALID")
    finally:
        go_on.set()
    assert set(await asyncio.gather(*asked)) == {("OK", "")}


async def test_who_asks_much_waits_for_himself(spring, monkeypatch):
    """One question of each caller is with the store, so that another one waits for no more than one of his."""
    store = spring[0]
    real, may = store.planned, threading.Semaphore(0)

    def slow() -> Any:
        assert may.acquire(timeout=60)
        return real()

    async with telling(store) as (host, archive, busy):
        host.set_grants([Grant("other", hash_token("other"), scopes=READING)])
        monkeypatch.setattr(store, "planned", slow)
        try:
            asked = [asyncio.create_task(busy.league("leagues/spring")) for _ in range(30)]
            while archive._waiting < 1:
                await asyncio.sleep(0.01)
            once = asyncio.create_task(Reader(busy.channel, "other").league("leagues/spring"))
            while archive._waiting < 2:
                await asyncio.sleep(0.01)
            may.release(2)
            async with asyncio.timeout(60):
                assert (await once).name == "leagues/spring"
            assert sum(task.done() for task in asked) <= 1
        finally:
            may.release(30)
        await asyncio.gather(*asked)


async def test_a_caller_that_has_gone_leaves_nothing_behind():
    turns = Turns(2)
    async with turns.of("a"):
        waiting = asyncio.create_task(turns.of("a").__aenter__())
        await asyncio.sleep(0)
        with pytest.raises(SessionRefused, match="2 questions of this token wait, at most 2"):
            async with turns.of("a"):
                pass
        async with turns.of("b"):
            pass
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert not turns._waiting
    assert not turns._held


@pytest.mark.parametrize(
    "failure", [StoreError("store /secret/path: locked"), sa.exc.OperationalError("SELECT", {}, Exception("locked"))]
)
async def test_a_store_that_cannot_be_read_is_said_so(spring, monkeypatch, failure):
    store, _, reader, _ = spring

    class Broken:
        def begin(self) -> Any:
            raise failure

    monkeypatch.setattr(store.database, "_reads", Broken())
    for call in (
        reader.league("leagues/spring"),
        reader.page(),
        reader.replay("matches/spring/00000/low-high/1"),
        reader.standings(parent="leagues/spring"),
    ):
        assert await reader.refused(call) == ("UNAVAILABLE", "STORE_UNAVAILABLE")
    assert b"secret" not in reader.bytes
    monkeypatch.undo()
    assert (await reader.league("leagues/spring")).matches_done == 18


async def test_bots_are_listed_with_their_owners_in_pages(spring):
    store = spring[0]
    store.bots.add(TokenRow("aaaaaaaa", "ant", hash_token("t1"), ("play",), 1_000_000.0, used_at=2_000_000.0), "Ada")
    store.bots.add(TokenRow("bbbbbbbb", "bee", hash_token("t2"), ("play",), 1_000_000.0, revoked_at=2_000_000.0))
    async with telling(store) as (host, _, reader):
        host.set_grants([Grant("ant", hash_token("t1")), Grant("bee", hash_token("t2"), revoked=True)])
        first = await reader.bots.ListBots(bot_pb2.ListBotsRequest(page_size=2), metadata=BEARER)
        rest = await reader.bots.ListBots(
            bot_pb2.ListBotsRequest(page_size=2, page_token=first.next_page_token), metadata=BEARER
        )
    ant, bee = first.bots
    [viewer] = rest.bots
    assert (ant.name, ant.owner, ant.disabled, ant.create_time.seconds, ant.last_seen_time.seconds) == (
        "bots/ant", "Ada", False, 1_000_000, 2_000_000,
    )  # fmt: skip
    assert (bee.name, bee.owner, bee.disabled, bee.HasField("last_seen_time")) == ("bots/bee", "", True, False)
    assert (viewer.name, viewer.HasField("create_time"), rest.next_page_token) == ("bots/viewer", False, "")
