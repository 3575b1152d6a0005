"""Records: the same bytes from the same league, true ones verify, and every kind of change is named."""

import json
from dataclasses import replace

import pytest
from chaodipi.engine.actions import Pass, Play
from chaodipi.engine.cards import SEATS, Seat
from chaodipi.engine.events import Phase
from chaodipi.engine.ruleset import resolve
from chaodipi.service.boards.board import Secrets
from chaodipi.service.cli.replay import verify_files
from chaodipi.service.match.machine import TableMachine
from chaodipi.service.match.messages import Update
from chaodipi.service.match.table import TimeControl
from chaodipi.service.records.record import action_from_json, canonical, chained, record_name, write_record
from chaodipi.service.records.show import show
from chaodipi.service.records.verify import Record, RecordError, verify
from chaodipi.service.scheduler.league import play_league, results_json
from chaodipi.service.scheduler.schedule import Entry, Plan, round_robin

from tests.league.stand_in import StandInHost, default_brain, high, late, shower

BRAINS = {"low": default_brain, "shower": shower, "high": high}
PLAN = Plan(
    "t", resolve("ming_chao"), tuple(map(Entry.of_bot, BRAINS)), 1, Secrets(b"s" * 32, (b"a", b"b", b"")), shared=False
)


async def played(folder, in_flight=8, plan=PLAN):
    outcomes = await play_league(plan, StandInHost(BRAINS, stagger=True), folder, tables_in_flight=in_flight)
    return results_json(plan, outcomes, "points")


@pytest.fixture
async def league(tmp_path):
    return tmp_path, await played(tmp_path / "records")


@pytest.mark.situation("T14")
async def test_true_records_verify(league):
    folder, results = league
    records = sorted((folder / "records").glob("*.jsonl"))
    assert len(records) == 6
    assert [found for path in records for found in verify(path, results)] == []


@pytest.mark.clauses("S0-49", "Q88")
async def test_a_record_of_a_flag_deal_verifies_and_is_readable(tmp_path):
    """A board without a level says so, is settled by its own threshold, and shows no bottom."""
    brains = {"low": default_brain, "high": high}
    plan = Plan("flag", resolve("kang_qi"), tuple(map(Entry.of_bot, brains)), 15, PLAN.secrets)
    outcomes = await play_league(plan, StandInHost(brains), tmp_path)
    results = results_json(plan, outcomes, "points")
    records = sorted(tmp_path.glob("*.jsonl"))
    assert [found for path in records for found in verify(path, results)] == []
    flags = [path for path in records if Record.read(path).header["levels"] == ["flag", "flag"]]
    assert len(flags) == 2
    for path in flags:
        said = list(show(Record.read(path)))
        assert "levels   02: flag  13: flag" in said
        assert not any(line.startswith("bottom") for line in said)


async def test_the_same_league_gives_the_same_bytes(tmp_path):
    one = await played(tmp_path / "one", 1)
    many = await played(tmp_path / "many", 16)
    assert one == many
    for path in sorted((tmp_path / "one").glob("*.jsonl")):
        assert path.read_bytes() == (tmp_path / "many" / path.name).read_bytes()


async def test_dark_deals_and_laps_are_in_the_record(tmp_path):
    """A record of an_chao verifies from the first lap to the third; another lap in its header is noticed."""
    entries = tuple(map(Entry.of_bot, ("low", "shower")))
    plan = Plan("t", resolve("an_chao"), entries, 32, PLAN.secrets, shared=False)
    results = await played(tmp_path, plan=plan)
    records = sorted(tmp_path.glob("*.jsonl"))
    assert len(records) == 64
    assert [found for path in records for found in verify(path, results)] == []
    laps = {tuple(Record.read(path).header["laps"]) for path in records}
    assert laps == {(1, 1), (2, 2), (3, 3)}
    text = "\n".join(line for path in records for line in show(Record.read(path)))
    assert "of lap 3" in text
    assert "\nreveal   trump " in text

    lines = [json.loads(line) for line in records[0].read_text("utf-8").splitlines()]
    lines[0]["laps"] = [3, 3]
    records[0].write_text(chained({k: v for k, v in line.items() if k != "chain"} for line in lines), "utf-8")
    assert {found.kind for found in verify(records[0], results)} == {"board", "score"}


async def test_shared_boards_are_revealed_only_after_all_their_tables(tmp_path):
    plan = Plan("t", PLAN.ruleset, PLAN.entries, 2, PLAN.secrets, shared=True)
    host = StandInHost(BRAINS)
    seen = []

    async def save(pairs):
        [board] = {pair.pair.board.index for pair in pairs}
        seen.append((len(pairs), sum(name.startswith(f"t/{board:05d}/") for name in host.played)))
        assert not list(tmp_path.glob(f"t_{board:05d}_*"))

    await play_league(plan, host, tmp_path, save=save, tables_in_flight=2)
    assert seen == [(3, 6)] * 2


def follows(path):
    """Line number, deal before the decision and seat, of every single card that followed."""
    record = Record.read(path)
    deal = record.deal(record.board(record.ruleset()), 0)
    for number, line in record.numbered:
        if deal.setup.redeals != line["redeals"]:
            deal = record.deal(record.board(record.ruleset()), line["redeals"])
        action = action_from_json(line["action"])
        if deal.phase == Phase.FOLLOW and len(action.cards) == 1:
            yield number, deal, Seat(line["seat"])
        deal.act(Seat(line["seat"]), action)


def plant_card(path, lines):
    """A card that the seat does not hold takes the place of one that it played."""
    number, deal, seat = next(follows(path))
    other = next(card for card in deal.view.hands[seat.next] if card not in deal.view.hands[seat])
    lines[number - 1]["action"]["cards"] = other.text
    return number, f"seat {int(seat)} does not hold {other.text}"


def plant_play(path, lines):
    """A card that the seat holds, and that may not follow, takes the place of one that it played."""
    for number, deal, seat in follows(path):
        for card in deal.view.hands[seat]:
            if not deal.can(seat, Play((card,))):
                lines[number - 1]["action"]["cards"] = card.text
                return number, f"seat {int(seat)}: MUST_FOLLOW_SUIT: "
    raise AssertionError("every follower was free")


def plant_bury(_path, lines):
    """A card less is buried."""
    at = next(i for i, line in enumerate(lines) if line.get("action", {}).get("kind") == "bury")
    lines[at]["action"]["cards"] = lines[at]["action"]["cards"].rsplit(" ", 1)[0]
    return at + 1, "BURY_COUNT"


def plant_score(_path, lines):
    lines[-1]["score"] += 10
    return len(lines), f"score {lines[-1]['score']}; played again: {lines[-1]['score'] - 10}"


def plant_settlement(_path, lines):
    lines[-1]["settlement"]["steps"] = [9, 9]
    return len(lines), "settlement.steps [9, 9]; settled again: "


def plant_seed(_path, lines):
    lines[-1]["board_seeds"][0] = "00" * 32
    return len(lines), "the revealed board seed is not the one committed to in line 1"


def plant_order(_path, lines):
    lines[3], lines[4] = lines[4], lines[3]
    return 4, "decision 2 expected here, found 3"


def plant_turn(_path, lines):
    """Two decisions change places, renumbered to hide it."""
    at = next(i for i, line in enumerate(lines) if line.get("action", {}).get("kind") == "play")
    one, two = lines[at], lines[at + 1]
    one["seq"], two["seq"] = two["seq"], one["seq"]
    lines[at], lines[at + 1] = two, one
    return at + 1, f"seat {two['seat']} acts, but seat {one['seat']} was to act"


def plant_gap(_path, lines):
    del lines[-2]
    return len(lines), "the result says played, but the deal is not at its end"


def plant_board(_path, lines):
    lines[0]["first_drawer"] = (lines[0]["first_drawer"] + 1) % 4
    return 1, "board 0 of this league has another dealer, first drawer or level"


PLANTED = [
    (plant_card, "card"),
    (plant_play, "play"),
    (plant_bury, "play"),
    (plant_score, "score"),
    (plant_settlement, "score"),
    (plant_seed, "seed"),
    (plant_order, "order"),
    (plant_turn, "order"),
    (plant_gap, "order"),
    (plant_board, "board"),
]


@pytest.mark.parametrize("anew", [True, False], ids=["chained-anew", "chain-as-it-was"])
@pytest.mark.parametrize(("plant", "kind"), PLANTED)
async def test_every_planted_change_is_named_with_its_line_and_reason(league, plant, kind, anew, capsys):
    """One change each; the command fails with the reason, whether the chain was made anew to hide it or not."""
    folder, results = league
    path = folder / "records" / record_name("t/00000/low-shower/1")
    (folder / "results.json").write_text(json.dumps(results))
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    number, text = plant(path, lines)
    if anew:
        path.write_text(chained({key: line[key] for key in line if key != "chain"} for line in lines))
    else:
        path.write_text("".join(canonical(line) + "\n" for line in lines))

    assert not verify_files([path])
    said = capsys.readouterr().out
    assert f"{path}: line {number}: {kind}: " in said
    assert text in next(line for line in said.splitlines() if f"line {number}: {kind}: " in line and text in line)
    assert (": chain: " in said) == (not anew)
    assert said.endswith("1 records, 0 match, 1 do not (with the league's seed)\n")


@pytest.fixture
def forfeit(tmp_path):
    """The record of a table that was forfeited by time-outs, and its lines without the chain."""
    pair = next(iter(round_robin(PLAN)))
    spec = replace(pair.tables[0], time=TimeControl(play_ms=10, bury_ms=10, max_faults=4))
    machine = TableMachine(spec, 0)
    for seat in SEATS:
        machine.receive_ready(seat, 0)
    now = 0
    while machine.result is None:
        now += 1_000
        machine.handle_timer(now)
    assert machine.result.how == "forfeit"
    write_record(tmp_path, spec, pair.board, PLAN.secrets, machine.result)
    path = tmp_path / record_name(spec.table_id)
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    for line in lines:
        del line["chain"]
    return path, lines


@pytest.mark.situation("T3")
def test_t3_late_answers_stand_beside_the_record_and_change_nothing_in_it(tmp_path):
    """When a stream breaks, an answer may come twice: that must not make two records of one league differ."""
    pair = next(iter(round_robin(PLAN)))
    spec = replace(pair.tables[0], time=TimeControl(play_ms=10, bury_ms=10, max_faults=4))

    def record(folder, late):
        machine = TableMachine(spec, 0)
        for seat in SEATS:
            machine.receive_ready(seat, 0)
        now, told = 0, []
        while machine.result is None:
            [asked] = [m for m in machine.outbox() if isinstance(m, Update) and m.decision is not None]
            now += 1_000
            machine.handle_timer(now)
            if late and machine.result is None:
                machine.receive_answer(asked.seat, asked.decision.decision, Pass(), now)
                told.append(str(int(asked.seat)))
        folder.mkdir()
        write_record(folder, spec, pair.board, PLAN.secrets, machine.result)
        path = folder / record_name(spec.table_id)
        return path.read_bytes(), json.loads(path.with_suffix(".timing.json").read_text()), told

    in_time, beside, _ = record(tmp_path / "a", late=False)
    late, beside_it, told = record(tmp_path / "b", late=True)
    assert late == in_time
    assert "strays" not in beside
    assert beside_it["strays"] == {seat: {"late": told.count(seat)} for seat in sorted(set(told))}


def test_a_forfeit_verifies_and_is_shown(forfeit):
    path, lines = forfeit
    assert verify(path) == []
    assert f"result   forfeit by seat {lines[-1]['forfeiting_seat']}" in list(show(Record.read(path)))


def fewer_faults(result):
    result["faults"][str(result["forfeiting_seat"])]["timeout"] -= 1


def another_seat(result):
    result["forfeiting_seat"] = (result["forfeiting_seat"] + 1) % 4


def more_faults_of_another(result):
    result["faults"][str((result["forfeiting_seat"] + 1) % 4)] = {"illegal": 2}


@pytest.mark.parametrize("change", [fewer_faults, another_seat, more_faults_of_another])
def test_a_forfeit_that_its_faults_do_not_explain_is_named(forfeit, change):
    path, lines = forfeit
    change(lines[-1])
    path.write_text(chained(iter(lines)))
    assert {found.kind for found in verify(path)} == {"faults"}


def test_a_played_table_called_a_forfeit_is_named(forfeit):
    path, lines = forfeit
    lines[-1]["how"] = "no_declaration"
    path.write_text(chained(iter(lines)))
    assert {found.kind for found in verify(path)} == {"score"}


async def test_a_change_breaks_the_chain(league):
    folder, results = league
    path = folder / "records" / record_name("t/00000/low-shower/1")
    text = path.read_text()
    path.write_text(text.replace('"bots":["low"', '"bots":["xxx"', 1))
    assert [str(found) for found in verify(path, results)] == [
        "line 1: chain: changed after it was written, or a line before it is missing or moved"
    ]
    path.write_text("".join(text.splitlines(keepends=True)[:-1]))
    with pytest.raises(RecordError, match="cut off"):
        verify(path, results)


async def test_payouts_stand_in_the_record_and_are_settled_again(tmp_path):
    """Where nothing is paid a record does not speak of it; where it is, a wrong payout is named."""
    plan = Plan("b", resolve("baomahui"), PLAN.entries, 1, PLAN.secrets, shared=False)
    results = await played(tmp_path, plan=plan)
    path = tmp_path / record_name("b/00000/low-shower/1")
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    assert list(verify(path, results)) == []
    assert len(lines[-1]["settlement"]["payout"]) == 2
    assert "each player is paid: dealer side" in "\n".join(show(Record.read(path)))

    lines[-1]["settlement"]["payout"] = [39, 39]
    for line in lines:
        del line["chain"]
    path.write_text(chained(iter(lines)))
    assert ["settlement.payout [39, 39]" in str(found) for found in verify(path, results)] == [True]


async def test_stirs_in_the_first_trick_stand_in_the_record_and_are_shown(tmp_path):
    """S2a-56: what a stir returned follows from the decisions, so the record needs no line for it, and a reader one."""
    brains = {"late": late, "later": late}
    plan = Plan("t", resolve("in_play"), tuple(map(Entry.of_bot, brains)), 12, PLAN.secrets, shared=False)
    results = results_json(plan, await play_league(plan, StandInHost(brains), tmp_path), "points")
    records = sorted(tmp_path.glob("*.jsonl"))
    assert [found for path in records for found in verify(path, results)] == []
    texts = [list(show(Record.read(path))) for path in records]
    returned = [line for lines in texts for line in lines if line.startswith("return ")]
    assert returned
    for lines in texts:
        stirs = [i for i, line in enumerate(lines) if line.startswith("show ") and " stir:" in line]
        tricks = [i for i, line in enumerate(lines) if line.startswith("trick ")]
        assert all(i < tricks[0] for i in stirs)


async def test_show_reads_like_a_deal(league):
    folder, _ = league
    text = "\n".join(show(Record.read(folder / "records" / record_name("t/00000/low-shower/1"))))
    assert "seats    0: low  1: shower  2: low  3: shower" in text
    assert "trick  1 " in text
    assert "result   played, catchers" in text
    assert "STOP" not in text
