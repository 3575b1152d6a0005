"""T7: what the host breaks is never scored, is played or saved again, and then flagged; the league goes on."""

from collections import Counter

import pytest
from chaodipi.engine.ruleset import resolve
from chaodipi.service.boards.board import Secrets
from chaodipi.service.match.table import TableResult
from chaodipi.service.scheduler.league import SaveFailedError, play_league, results_json
from chaodipi.service.scheduler.schedule import Entry, Plan, round_robin
from chaodipi.service.scheduler.standings import standings

from tests.league.stand_in import StandInHost, default_brain, high, shower

BRAINS = {"low": default_brain, "shower": shower, "high": high}
SECRETS = Secrets(b"s" * 32, (b"", b"", b""))
PAUSES = (0.0, 0.0)


def plan(boards=3, **more):
    return Plan("t", resolve("ming_chao"), tuple(map(Entry.of_bot, BRAINS)), boards, SECRETS, **more)


class FaultyHost(StandInHost):
    """A host that fails at one table every time, or so many times."""

    def __init__(self, table, times=99):
        super().__init__(BRAINS, stagger=True)
        self.table = table
        self.times = times

    async def play_table(self, spec):
        if spec.table_id == self.table and self.times:
            self.times -= 1
            self.played.append(spec.table_id)
            return TableResult(spec.table_id, "host_fault", 0, None, None, (), note="on purpose")
        return await super().play_table(spec)


def second_table(the_plan, number):
    return list(round_robin(the_plan))[number].tables[1].table_id


@pytest.mark.situation("T7")
async def test_t7_a_host_fault_is_played_again_whole_and_changes_nothing(tmp_path):
    again = []
    host = FaultyHost(second_table(plan(), 1), times=2)
    outcomes = await play_league(plan(), host, tmp_path / "a", on_rerun=again.append, tables_in_flight=2)
    whole = await play_league(plan(), StandInHost(BRAINS), tmp_path / "b")
    assert results_json(plan(), outcomes, "points") == results_json(plan(), whole, "points")
    assert [pair.number for pair in again] == [1, 1]
    one, two = (spec.table_id for spec in list(round_robin(plan()))[1].tables)
    assert (Counter(host.played)[one], Counter(host.played)[two]) == (3, 3)
    assert host.played.index(one) < host.played.index(second_table(plan(), 8))
    assert host.played[-1] in (one, two), "again means behind those that wait"


@pytest.mark.situation("T7")
async def test_t7_a_pair_that_stays_without_score_is_flagged_and_the_others_are_played(tmp_path):
    flagged = []
    host = FaultyHost(second_table(plan(), 4))
    outcomes = await play_league(plan(), host, tmp_path, on_flagged=flagged.append, tables_in_flight=4)
    assert [outcome.number for outcome in outcomes] == [0, 1, 2, 3, 5, 6, 7, 8]
    [missing] = flagged
    assert (missing.number, missing.why) == (4, "host fault in 3 attempts: on purpose")
    assert not list(tmp_path.glob(f"*{missing.board:05d}*"))
    lines = {line.entry: line for line in standings(list(BRAINS), outcomes)}
    assert sum(line.pairs for line in lines.values()) == 2 * 8
    assert sum(line.points.mean * line.pairs for line in lines.values()) == pytest.approx(0)
    results = results_json(plan(), outcomes, "points", flagged)
    assert (results["complete"], results["seed"]) == (False, None)
    assert results["missing"] == [
        {
            "number": 4,
            "board": missing.board,
            "entries": [missing.first, missing.second],
            "why": "host fault in 3 attempts: on purpose",
        }
    ]

    # The same league once more plays the flagged pair and nothing else, and ends as one without faults.
    host = StandInHost(BRAINS)
    done = {outcome.number: outcome for outcome in outcomes}
    completed = await play_league(plan(), host, tmp_path, done=done)
    assert len(host.played) == 2
    whole = await play_league(plan(), StandInHost(BRAINS), tmp_path / "b")
    assert results_json(plan(), completed, "points") == results_json(plan(), whole, "points")


@pytest.mark.situation("T7")
async def test_t7_a_board_that_is_played_again_is_not_revealed(tmp_path):
    """With shared boards the other pairs of the board wait for the flagged one: their records would show its cards."""
    shared = plan(shared=True)
    flagged = []
    host = FaultyHost(second_table(shared, 4))
    outcomes = await play_league(shared, host, tmp_path, on_flagged=flagged.append, tables_in_flight=4)
    assert [outcome.number for outcome in outcomes] == [0, 1, 2, 6, 7, 8]
    assert sorted(missing.number for missing in flagged) == [3, 4, 5]
    assert {missing.why for missing in flagged if missing.number != 4} == {"its board is played again for pair 4"}
    assert {path.name.split("_")[1] for path in tmp_path.glob("*.jsonl")} == {"00000", "00002"}


@pytest.mark.situation("T7")
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), SaveFailedError("database is locked")])
async def test_t7_what_cannot_be_saved_is_kept_and_saved_when_the_trouble_is_over(tmp_path, error):
    trouble = [error, error]
    saved = []

    async def save(board):
        if trouble:
            raise trouble.pop()
        saved.extend(played.pair.number for played in board)

    host = StandInHost(BRAINS)
    outcomes = await play_league(plan(), host, tmp_path, save=save, save_pauses_s=PAUSES)
    assert sorted(saved) == [outcome.number for outcome in outcomes] == list(range(9))
    assert len(host.played) == len(set(host.played)) == 18


@pytest.mark.situation("T7")
async def test_t7_what_stays_unsaved_is_flagged_and_its_record_is_not_shown(tmp_path):
    flagged = []

    async def save(board):
        if board[0].pair.number == 2:
            raise SaveFailedError("database is locked")

    outcomes = await play_league(
        plan(), StandInHost(BRAINS), tmp_path, save=save, on_flagged=flagged.append, save_pauses_s=PAUSES
    )
    assert [outcome.number for outcome in outcomes] == [0, 1, 3, 4, 5, 6, 7, 8]
    [missing] = flagged
    assert str(missing) == (
        f"pair 2 (board {missing.board}, {missing.first} against {missing.second}): "
        "could not be saved: database is locked"
    )
    assert len(list(tmp_path.glob("*.jsonl"))) == 16
    assert not list(tmp_path.glob(f"t_{missing.board:05d}_*"))
