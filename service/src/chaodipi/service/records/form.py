"""Whether the lines of a record are written as a host writes them: no field more, less, or of another form."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chaodipi.engine.errors import EngineError
from chaodipi.engine.ruleset import Ruleset
from chaodipi.service.boards.board import Board
from chaodipi.service.match.clock import TimeControl
from chaodipi.service.match.table import TableSpec
from chaodipi.service.records.record import action_from_json, action_to_json, canonical, header_of

__all__ = ["form_faults"]

MODES = ("prevent", "penalise")
DECISION = {"type", "seq", "redeals", "seat", "action", "chain"}
MARKS = ("by_host", "refused")
"""What a decision has only if it is true."""
FAULTS = ("illegal", "malformed", "timeout", "disconnected", "not_ready")
RESULT = {
    "type", "how", "score", "dealer", "settlement", "faults", "forfeiting_seat", "note", "decisions", "board_seeds",
    "chain",
}  # fmt: skip


def form_faults(
    header: Mapping[str, Any],
    decisions: Sequence[tuple[int, Mapping[str, Any]]],
    result: Mapping[str, Any],
    ruleset: Ruleset,
    board: Board,
) -> Iterator[tuple[int, str]]:
    """Line (0: the last one) and text of each field that a host would have written otherwise."""
    yield from ((1, f"{field}: not as a host writes it") for field in _header_fields(header, ruleset, board))
    for number, line in decisions:
        yield from ((number, f"{field}: not as a host writes it") for field in _decision_fields(line))
    for field in sorted(result.keys() ^ RESULT):
        yield 0, f"{field}: not as a host writes it"
    for seat, kinds in result["faults"].items():
        if seat not in ("0", "1", "2", "3") or not all(kind in FAULTS and count > 0 for kind, count in kinds.items()):
            yield 0, f"faults of seat {seat}: not as a host writes them"
    if result.get("note"):
        yield 0, "note: only tables that count for nothing have one"


def _header_fields(header: Mapping[str, Any], ruleset: Ruleset, board: Board) -> Iterator[str]:
    bots = header["bots"]
    if len(bots) != 4 or not all(isinstance(bot, str) and bot for bot in bots):
        yield "bots"
    if header["mode"] not in MODES:
        yield "mode"
    try:
        time = TimeControl(**header["time"])
    except (TypeError, ValueError):
        yield "time"
        return
    commitment = bytes.fromhex(header["board_commitment"])
    spec = TableSpec(header["table"], ruleset, _no_setup, tuple(bots), time, commitment, header["mode"])
    expected = json.loads(canonical(header_of(spec, board)))
    for field in sorted((header.keys() | expected.keys()) - {"chain"}):
        if (field in header) != (field in expected) or header.get(field) != expected.get(field):
            yield field


def _no_setup(_redeals: int) -> Any:
    raise AssertionError("a record is dealt from its own seeds")


def _decision_fields(line: Mapping[str, Any]) -> Iterator[str]:
    yield from sorted(DECISION - line.keys())
    for field in sorted(line.keys() - DECISION):
        if not (line[field] in FAULTS if field == "fault" else field in MARKS and line[field] is True):
            yield field
    try:
        if action_to_json(action_from_json(line["action"])) != line["action"]:
            yield "action"
    except (EngineError, ValueError):
        return  # the play says what is wrong with it
