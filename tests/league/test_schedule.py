"""Boards, pairs, margins and standings, without a network."""

import json
import subprocess
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest
from chaodipi.engine.cards import Rank, Seat, Side, deck
from chaodipi.engine.ruleset import resolve
from chaodipi.engine.scoring import Position, settle
from chaodipi.service.boards import shuffle
from chaodipi.service.boards.board import Secrets, plan_board, setup
from chaodipi.service.match.table import TableResult
from chaodipi.service.scheduler.margins import Margin, margin
from chaodipi.service.scheduler.run import outcome_of, play_schedule
from chaodipi.service.scheduler.schedule import Entry, Plan, round_robin
from chaodipi.service.scheduler.standings import PairOutcome, estimate, standings

from tests.league.stand_in import StandInHost, default_brain, high, shower
from tests.support.tools import needs_tool

RULESET = resolve("ming_chao")
SECRETS = Secrets(bytes(32), (b"", b"", b""))
BRAINS = {"low": default_brain, "shower": shower, "high": high}
VECTOR = files("chaodipi.service.boards") / "vector.json"


def plan(names=("low", "shower", "high"), boards=4, **more):
    return Plan("t", RULESET, tuple(Entry.of_bot(name) for name in names), boards, SECRETS, **more)


async def play_all(the_plan, host, in_flight=8):
    outcomes = []

    async def on_pair(pair, results):
        outcomes.append(outcome_of(pair, results))

    async def on_flagged(pair, why):
        raise AssertionError(f"pair {pair.number}: {why}")

    await play_schedule(round_robin(the_plan), host, on_pair, on_flagged, tables_in_flight=in_flight)
    return outcomes


def test_vector_in_python():
    vector = json.loads(VECTOR.read_text())
    nonces = [bytes.fromhex(nonce) for nonce in vector["nonces"]]
    seed = bytes.fromhex(vector["seed"])
    assert shuffle.seed_commitment(seed).hex() == vector["seed_commitment"]
    for line in vector["shuffles"]:
        got = shuffle.board_seed(seed, line["board"], line["redeal"], vector["ruleset_digest"], nonces)
        assert got.hex() == line["board_seed"]
        assert shuffle.board_commitment(got).hex() == line["board_commitment"]
        assert " ".join(card.text for card in shuffle.shuffled_deck(got, line["packs"])) == line["cards"]
        assert shuffle.first_drawer(got) == line["first_drawer"]


@needs_tool("node")
def test_vector_in_javascript():
    script = Path(__file__).parent / "shuffle_check.mjs"
    done = subprocess.run(["node", script, str(VECTOR)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.clauses("S3-66", "S4-09")
def test_every_shuffle_is_the_whole_deck_and_differs():
    seen = {setup(plan_board(RULESET, SECRETS, i), SECRETS, r).cards for i in range(20) for r in range(3)}
    assert len(seen) == 60
    assert all(Counter(cards) == Counter(deck(2)) for cards in seen)


@pytest.mark.situation("T9")
@pytest.mark.clauses("S3-64", "Q92")
def test_boards_give_every_seat_its_turn_to_deal():
    boards = [plan_board(RULESET, SECRETS, i) for i in range(8 * 4 * 13)]
    dealers = Counter(board.dealer for board in boards)
    assert dealers == {None: 52, Seat.S0: 91, Seat.S1: 91, Seat.S2: 91, Seat.S3: 91}
    assert [board.index for board in boards[:20] if board.first_deal] == [7, 15]
    assert all(board.on_stage == (None if board.dealer is None else board.dealer.side) for board in boards)
    assert all(board.levels[0] == board.levels[1] for board in boards)


@pytest.mark.clauses("S0-48", "Q88")
def test_boards_of_a_ruleset_with_a_flag_go_round_all_levels_and_the_flag():
    ruleset = resolve("kang_qi")
    boards = [plan_board(ruleset, SECRETS, i) for i in range(64)]
    later = Counter((board.dealer, board.levels) for board in boards if not board.first_deal)
    assert set(later.values()) == {1}
    assert {levels for _, levels in later} == {(None, None), *((rank, rank) for rank in Rank)}


@pytest.mark.situation("T15")
def test_schedule_swaps_the_sides_and_names_every_table_once():
    pairs = list(round_robin(plan(boards=5)))
    assert len(pairs) == plan(boards=5).pair_count == 15
    ids = [spec.table_id for pair in pairs for spec in pair.tables]
    assert len(set(ids)) == 30
    assert ids[:2] == ["t/00000/low-shower/1", "t/00000/low-shower/2"]
    for pair in pairs:
        one, two = pair.tables
        assert one.bots == (pair.first, pair.second, pair.first, pair.second)
        assert two.bots == (pair.second, pair.first, pair.second, pair.first)
        assert one.setup(0) == two.setup(0)
    assert len({pair.board.index for pair in pairs}) == 15
    assert {pair.board.index for pair in round_robin(plan(boards=5, shared=True))} == set(range(5))


@pytest.mark.parametrize(
    ("score", "dealers"),
    [(0, (80, 3, 1)), (35, (45, 2, 1)), (75, (5, 1, 1)), (80, (0, 0, -1)), (130, (-50, -1, -1)), (200, (-120, -3, -1))],
)
def test_margins_of_a_played_table(score, dealers):
    levels = {side: Position(Rank.FIVE) for side in Side}
    settlement = settle(RULESET, Seat.S1, score, levels)
    result = TableResult("t", "played", score, Seat.S1, settlement, ())
    assert margin(RULESET, result, Side.SIDE_13) == Margin(*dealers)
    assert margin(RULESET, result, Side.SIDE_02) == -Margin(*dealers)


def test_margins_of_tables_without_play():
    assert margin(RULESET, TableResult("t", "no_declaration", 0, None, None, ()), Side.SIDE_02) == Margin(0, 0, 0)
    lost = TableResult("t", "forfeit", 0, None, None, (), forfeiting_seat=Seat.S3)
    assert margin(RULESET, lost, Side.SIDE_13) == Margin(-80, -3, -1)
    assert margin(RULESET, lost, Side.SIDE_02) == Margin(80, 3, 1)
    with pytest.raises(ValueError, match="host_fault has no margin"):
        margin(RULESET, TableResult("t", "host_fault", 0, None, None, ()), Side.SIDE_02)


@pytest.mark.situation("T8")
async def test_standings_are_the_same_at_any_number_in_flight_and_in_any_order():
    one = await play_all(plan(), StandInHost(BRAINS), in_flight=1)
    many = await play_all(plan(), StandInHost(BRAINS, stagger=True), in_flight=16)
    assert [outcome.number for outcome in many] != sorted(outcome.number for outcome in many)
    names = ["low", "shower", "high"]
    assert standings(names, one) == standings(names, many) == standings(names, reversed(many))
    assert sum(line.points.mean * line.pairs for line in standings(names, one)) == pytest.approx(0)
    assert {line.pairs for line in standings(names, one)} == {8}


@pytest.mark.situation("T9")
async def test_identical_deterministic_bots_differ_by_exactly_nothing():
    brains = {"a": shower, "b": shower}
    outcomes = await play_all(plan(("a", "b"), boards=16), StandInHost(brains))
    assert all(outcome.margins[0] == -outcome.margins[1] for outcome in outcomes)
    for line in standings(["a", "b"], outcomes):
        assert (line.rank, line.points.mean, line.points.half) == (1, 0, 0)
        assert line.rho == pytest.approx(-1)


def test_estimate_is_the_t_interval():
    got = estimate([1.0, 2.0, 3.0, 4.0])
    assert got.mean == 2.5
    assert got.half == pytest.approx(3.182446 * (5 / 3) ** 0.5 / 2, rel=1e-6)
    assert estimate([1.0]).half is None


def test_the_scale_that_ranks_decides():
    outcome = PairOutcome(
        0, "a", "b", (Margin(10, -1, 1), Margin(0, -1, -1)), {"a": Counter(illegal=2), "b": Counter()}, Counter(a=1)
    )
    assert [line.entry for line in standings(["a", "b"], [outcome], "points")] == ["a", "b"]
    assert [line.entry for line in standings(["a", "b"], [outcome], "steps")] == ["b", "a"]
    first, second = standings(["a", "b"], [outcome])
    assert (first.faults, first.forfeits, second.faults, second.forfeits) == ({"illegal": 2}, 1, {}, 0)
