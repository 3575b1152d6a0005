"""A table hosted with a referee: refused answers are booked, told to all, kept, and played on from (Q94)."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from chaodipi.engine import Action, Bury, Pass, Phase, Play, Seat, Setup, Show, Side, deck, resolve
from chaodipi.engine.cards import SEATS
from chaodipi.engine.events import Booked, DealEnded
from chaodipi.service.boards.board import Secrets, commitment, plan_board, setup
from chaodipi.service.match.clock import TimeControl
from chaodipi.service.match.machine import TableMachine
from chaodipi.service.match.messages import Decision, Message, Update, Verdict, VerdictStatus
from chaodipi.service.match.table import TableSpec
from chaodipi.service.records.record import write_record
from chaodipi.service.records.show import show
from chaodipi.service.records.verify import Record, verify
from chaodipi.service.scheduler.margins import margin

SECRETS = Secrets(b"r" * 32)


def _spec(preset: str, index: int, mode: str = "penalise") -> TableSpec:
    rules = resolve(preset)
    board = plan_board(rules, SECRETS, index)
    return TableSpec(
        f"t/{index}",
        rules,
        lambda redeals: setup(board, SECRETS, redeals),
        ("a", "b", "c", "d"),
        TimeControl.of(rules, max_faults=0),
        commitment(board, SECRETS),
        mode,
    )


class _Table:
    """A started machine; remembers every message."""

    def __init__(self, spec: TableSpec) -> None:
        self.machine = TableMachine(spec, 0)
        self.seen: list[Message] = []
        for seat in SEATS:
            self.machine.receive_ready(seat, 0)
        self.open = self._asked()

    def _asked(self) -> tuple[Seat, Decision] | None:
        messages = self.machine.outbox()
        self.seen += messages
        found = [(m.seat, m.decision) for m in messages if isinstance(m, Update) and m.decision is not None]
        return found[-1] if found else None

    def answer(self, action: Action) -> Verdict:
        assert self.open is not None
        seat, decision = self.open
        self.machine.receive_answer(seat, decision.decision, action, 5)
        self.open = self._asked()
        return [m for m in self.seen if isinstance(m, Verdict)][-1]

    def default(self) -> Action:
        assert self.open is not None
        return self.machine.deal.default_action(self.open[0])

    def to(self, phase: Phase) -> Seat:
        while self.open is not None and self.open[1].phase != phase:
            self.answer(self.default())
        assert self.open is not None
        return self.open[0]

    def to_the_end(self) -> None:
        while self.open is not None:
            self.answer(self.default())


def test_a_wrong_burying_is_booked_told_to_all_and_asked_again() -> None:
    table = _Table(_spec("t_timed", 1))
    seat = table.to(Phase.BURY)
    hand = table.machine.deal.view.can_bury(seat)

    verdict = table.answer(Bury(hand[:9]))

    assert (verdict.status, verdict.reason) == (VerdictStatus.RETRY, "BURY_COUNT")
    assert (verdict.metadata["offence"], verdict.metadata["penalty"]) == ("wrong_bury", "80")
    assert table.open is not None
    assert table.open[0] == seat
    assert table.machine.deal.view.score == 80
    assert table.answer(Bury(hand[:8])).status == VerdictStatus.ACCEPTED
    table.to_the_end()
    for each in SEATS:
        told = [n.event for m in table.seen if isinstance(m, Update) and m.seat == each for n in m.events]
        assert [event for event in told if isinstance(event, Booked)] == [Booked("penalty", seat, 80)]
    result = table.machine.result
    assert result is not None
    assert result.faults == {}  # refused, and followed by a good answer in time
    assert [record.refused for record in result.decisions].count(True) == 1


def test_prevention_books_nothing() -> None:
    """The default; also with a ruleset that has a referee's table."""
    table = _Table(_spec("t_timed", 1, mode="prevent"))
    seat = table.to(Phase.BURY)

    verdict = table.answer(Bury(table.machine.deal.view.hand(seat)[:9]))

    assert "penalty" not in verdict.metadata
    assert table.machine.deal.view.adjustments == []


def test_a_false_call_ends_the_table_as_a_jump_of_the_opponents() -> None:
    """S3-56, Q86: settled, scored as a sweep against the offender, and a fault of his bot."""
    table = _Table(_spec("t_dark", 1))
    assert table.open is not None
    offender = table.open[0]

    verdict = table.answer(Show((next(card for card in deck(2) if card.is_joker),)))

    result = table.machine.result
    assert result is not None
    assert table.open is None
    assert (verdict.status, verdict.metadata["penalty"], verdict.applied) == (VerdictStatus.REPLACED, "jump", None)
    assert (result.how, result.faults) == ("jump", {offender: {"illegal": 1}})
    assert result.settlement is not None
    assert (result.settlement.jump, result.settlement.stage) == (True, offender.side.other)
    assert margin(resolve("t_dark"), result, offender.side).win == -1
    assert margin(resolve("t_dark"), result, offender.side.other).points == 80
    ends = [n.event for m in table.seen if isinstance(m, Update) for n in m.events if isinstance(n.event, DealEnded)]
    assert [end.jumping for end in ends] == [offender.side.other] * 4


def _wild(table: _Table, rng: random.Random) -> Action:
    """Something that the rules refuse, more often than not."""
    assert table.open is not None
    seat, decision = table.open
    hand = table.machine.deal.view.hand(seat)
    cards = tuple(rng.sample(hand, min(len(hand), rng.choice((1, 2, 3, 7, 9)))))
    return rng.choice((Play(cards), Bury(cards), Pass()) if decision.phase != Phase.STIR else (Play(cards), Pass()))


@pytest.mark.parametrize("preset", ["t_dark", "t_timed"])
def test_tables_full_of_breaches_end_and_their_records_are_true(preset: str, tmp_path: Path) -> None:
    """Every booking is repeated from the record, and a refused answer that is taken out of it is missed."""
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    refused = 0
    for index in range(6):
        spec = _spec(preset, index)
        table = _Table(spec)
        while table.open is not None:
            table.answer(_wild(table, rng) if rng.random() < 0.2 else table.default())
        result = table.machine.result
        assert result is not None
        assert result.how in ("played", "jump")
        board = plan_board(spec.ruleset, SECRETS, index)

        write_record(tmp_path, spec, board, SECRETS, result)
        path = tmp_path / f"t_{index}.jsonl"
        assert verify(path) == []
        shown = sum(line.startswith("refused ") for line in show(Record.read(path)))
        assert shown == sum(record.refused for record in result.decisions)
        refused += shown
    assert refused


def test_a_record_without_its_refused_answer_has_another_score(tmp_path: Path) -> None:
    """What a referee booked cannot be taken out of a record."""
    spec = _spec("t_timed", 1)
    table = _Table(spec)
    seat = table.to(Phase.BURY)
    table.answer(Bury(table.machine.deal.view.can_bury(seat)[:7]))
    table.to_the_end()
    result = table.machine.result
    assert result is not None
    assert result.score >= 80
    board = plan_board(spec.ruleset, SECRETS, 1)

    kept = tuple(record for record in result.decisions if not record.refused)
    write_record(tmp_path, spec, board, SECRETS, replace(result, decisions=kept))

    assert "score" in {found.kind for found in verify(tmp_path / "t_1.jsonl")}


def test_a_legal_answer_cannot_stand_as_refused(tmp_path: Path) -> None:
    spec = _spec("t_timed", 1)
    table = _Table(spec)
    table.to_the_end()
    result = table.machine.result
    assert result is not None
    board = plan_board(spec.ruleset, SECRETS, 1)

    last = replace(result.decisions[-1], refused=True)
    write_record(tmp_path, spec, board, SECRETS, replace(result, decisions=(*result.decisions[:-1], last)))

    assert [found.kind for found in verify(tmp_path / "t_1.jsonl")] == ["play"]


def test_the_rulesets_limits_reach_the_table() -> None:
    """S4-03, S4-04: 90 seconds to bury, 15 to play; another ruleset may say otherwise."""
    rules = resolve("t_timed").override({"play_s": 7, "bury_s": 11})

    assert TimeControl.of(resolve("t_timed")) == TimeControl(play_ms=15_000, bury_ms=90_000)
    assert TimeControl.of(rules) == TimeControl(play_ms=7_000, bury_ms=11_000)
    assert TimeControl.of(rules, play_ms=5).play_ms == 5


def test_a_setup_of_the_first_deal_has_no_side_on_stage() -> None:
    board = plan_board(resolve("t_timed"), SECRETS, 7)
    later = plan_board(resolve("t_timed"), SECRETS, 2)

    first: Setup = setup(board, SECRETS, 0)
    assert (first.first_deal, first.dealer, first.on_stage) == (True, None, None)
    placed: Setup = setup(later, SECRETS, 0)
    assert (placed.dealer, placed.on_stage) == (None, Side(placed.first_drawer.side))
