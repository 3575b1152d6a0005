"""Three redeals and nobody declares: no trump is dealt, and in rated play the table does not count (Q133)."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from chaodipi.engine import Action, Pass, Phase, Seat, Show, Side, Suit, resolve
from chaodipi.engine.cards import SEATS
from chaodipi.engine.events import WindowClosed
from chaodipi.service.boards.board import Secrets, commitment, plan_board, setup
from chaodipi.service.convert import match_result_to_wire
from chaodipi.service.match.clock import TimeControl
from chaodipi.service.match.machine import TableMachine
from chaodipi.service.match.messages import Update
from chaodipi.service.match.summary import TableSummary
from chaodipi.service.match.table import TableResult, TableSpec
from chaodipi.service.records.record import write_record
from chaodipi.service.records.verify import verify
from chaodipi.service.scheduler.margins import Margin, margin

SECRETS = Secrets(b"n" * 32)
BOARD = plan_board(resolve("in_play"), SECRETS, 0)
SPEC = TableSpec(
    "t/0",
    BOARD.ruleset,
    lambda redeals: setup(BOARD, SECRETS, redeals),
    ("a", "b", "c", "d"),
    TimeControl(),
    commitment(BOARD, SECRETS),
)


def _played(shows_in: int | None = None) -> tuple[TableResult, list[WindowClosed]]:
    """Everybody does the least, but after *shows_in* redeals whoever can declares."""
    machine = TableMachine(SPEC, 0)
    for seat in SEATS:
        machine.receive_ready(seat, 0)
    closed: list[WindowClosed] = []
    while machine.result is None:
        for message in machine.outbox():
            if isinstance(message, Update):
                closed += [n.event for n in message.events if isinstance(n.event, WindowClosed)]
                if message.decision is not None:
                    asked = message.seat, message.decision
        seat, decision = asked
        machine.receive_answer(seat, decision.decision, _answer(machine, seat, shows_in), 5)
    return machine.result, closed


def _answer(machine: TableMachine, seat: Seat, shows_in: int | None) -> Action:
    deal = machine.deal
    if deal.phase != Phase.DECLARE:
        return deal.default_action(seat)
    shows: tuple[Show, ...] = deal.legal_actions(seat).shows if deal.setup.redeals == shows_in else ()
    return shows[0] if shows else Pass()


def test_no_trump_is_dealt_and_the_table_does_not_count(tmp_path: Path) -> None:
    result, closed = _played()

    assert [(event.undeclared, event.trump) for event in closed] == [(True, Suit.NO_TRUMP)] * 4
    assert (result.how, result.score, result.settlement) == ("no_declaration", 0, None)
    assert {record.redeals for record in result.decisions} == {0, 1, 2, 3}
    assert [margin(BOARD.ruleset, result, side) for side in Side] == [Margin(0, 0, 0)] * 2
    told = match_result_to_wire(TableSummary.of(result))
    assert (list(told.deals), told.winner, list(told.games)) == ([], 0, [0, 0])
    write_record(tmp_path, SPEC, BOARD, SECRETS, result)
    assert verify(tmp_path / "t_0.jsonl") == []


def test_a_declaration_after_three_redeals_counts() -> None:
    result, closed = _played(shows_in=3)

    assert not any(event.undeclared for event in closed)
    assert result.how == "played"
    assert result.settlement is not None


@pytest.mark.parametrize(("shows_in", "said"), [(None, "played"), (3, "no_declaration")])
def test_a_record_that_says_otherwise_is_named(shows_in: int | None, said: str, tmp_path: Path) -> None:
    result, _ = _played(shows_in)
    write_record(tmp_path, SPEC, BOARD, SECRETS, replace(result, how=said))
    path = tmp_path / "t_0.jsonl"
    assert json.loads(path.read_text().splitlines()[-1])["how"] == said
    assert {found.kind for found in verify(path)} == {"score"}
