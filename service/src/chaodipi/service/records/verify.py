"""Checks a record against the rules: deals again from the revealed seed, plays every decision again, settles again."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaodipi.engine.actions import Pass
from chaodipi.engine.cards import Seat, Side, format_cards
from chaodipi.engine.deal import Deal
from chaodipi.engine.errors import EngineError
from chaodipi.engine.events import Event
from chaodipi.engine.game import dealer_of, settle_deal
from chaodipi.engine.referee import Referee
from chaodipi.engine.ruleset import Ruleset, ruleset_of
from chaodipi.service.boards.board import Board, setup_from_seed
from chaodipi.service.boards.shuffle import board_commitment
from chaodipi.service.records.form import form_faults
from chaodipi.service.records.record import (
    FIRST_CHAIN,
    SCHEMA,
    action_from_json,
    level_from_text,
    next_chain,
    record_name,
    settlement_to_json,
)
from chaodipi.service.records.revealed import Revealed

__all__ = ["Mismatch", "Record", "RecordError", "Step", "replayed", "verify"]

ANSWER_FAULTS = ("illegal", "malformed", "timeout")
"""Faults of one decision each; the others are of a seat as a whole."""


class RecordError(ValueError):
    """The file is no record at all."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """
    One thing that does not match.

    Attributes:
        kind: chain, form, order, card, play, score, faults, seed, board, or ruleset.
        line: Line of the file, from 1.
    """

    kind: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.kind}: {self.text}"


@dataclass(frozen=True, slots=True)
class Record:
    """A record's lines, parsed: *numbered* are the decisions with their lines in the file."""

    header: dict[str, Any]
    numbered: tuple[tuple[int, dict[str, Any]], ...]
    result: dict[str, Any]
    last_line: int
    chain_fault: Mismatch | None

    @classmethod
    def read(cls, path: Path) -> "Record":
        """
        Read a record's canonical part.

        Raises:
            RecordError: unreadable, or not a header, decisions and a result; the message names the line.
        """
        try:
            return cls.parse(path.read_bytes(), str(path))
        except OSError as error:
            raise RecordError(f"{path}: cannot be read: {error.strerror}") from error

    @classmethod
    def parse(cls, data: bytes, name: str) -> "Record":
        """The canonical part *data* of a record; RecordError as :meth:`read`, which says that *name* is none."""
        try:
            texts = data.decode().splitlines()
        except UnicodeDecodeError as error:
            raise RecordError(f"{name}: cannot be read: not UTF-8") from error
        lines: list[dict[str, Any]] = []
        for number, text in enumerate(texts, 1):
            try:
                line = json.loads(text)
            except ValueError as error:
                raise RecordError(f"{name}: line {number} is not JSON") from error
            if not isinstance(line, dict):
                raise RecordError(f"{name}: line {number} is not an object")
            lines.append(line)
        if not lines or lines[0].get("schema") != SCHEMA:
            raise RecordError(f"{name}: line 1 is not the header of a {SCHEMA}")
        if lines[-1].get("type") != "result":
            raise RecordError(f"{name}: cut off: line {len(lines)} is not the result")
        fault = _chain_fault(lines)
        decisions = tuple((number, line) for number, line in enumerate(lines[1:-1], 2))
        return cls(lines[0], decisions, lines[-1], len(lines), fault)

    def ruleset(self) -> Ruleset:
        """The ruleset by its values; EngineError if they are none."""
        said = self.header["ruleset"]
        return ruleset_of(said["name"], said["values"])

    def board(self, ruleset: Ruleset) -> Board:
        """The board as the header states it."""
        header = self.header
        levels = (level_from_text(header["levels"][0]), level_from_text(header["levels"][1]))
        return Board(
            index=header["board"],
            ruleset=ruleset,
            first_drawer=Seat(header["first_drawer"]),
            first_deal=header["first_deal"],
            dealer=None if header["dealer"] is None else Seat(header["dealer"]),
            levels=levels,
            laps=(header["laps"][0], header["laps"][1]) if "laps" in header else (1, 1),
            on_stage={None: None, "02": Side.SIDE_02, "13": Side.SIDE_13}[header["on_stage"]],
        )

    def deal(self, board: Board, redeals: int) -> Deal:
        """The deal after *redeals* redeals, by the revealed seed; IndexError if that is not in the record."""
        return Deal(setup_from_seed(board, bytes.fromhex(self.result["board_seeds"][redeals]), redeals))


def _chain_fault(lines: list[dict[str, Any]]) -> Mismatch | None:
    chain = FIRST_CHAIN
    for number, line in enumerate(lines, 1):
        chain = next_chain(chain, {key: value for key, value in line.items() if key != "chain"})
        if line.get("chain") != chain:
            return Mismatch("chain", number, "changed after it was written, or a line before it is missing or moved")
    return None


def verify(path: Path, league: Mapping[str, Any] | Revealed | None = None) -> list[Mismatch]:
    """
    Everything in the record at *path* that does not match; empty if all does.

    Args:
        league: The league's ``results.json``, or what was read from it; with it, ruleset, dealer, levels and board
            seeds are checked against the league's own. Whether it is true to its word, :class:`Revealed` says.

    Raises:
        RecordError: the file is no record.
        RevealedError: *league* is no ``results.json``.
    """
    revealed = Revealed.of(league) if isinstance(league, Mapping) else league
    record = Record.read(path)
    found = [record.chain_fault] if record.chain_fault else []
    if record.header.get("table") and record_name(str(record.header["table"])) != path.name:
        found.append(Mismatch("form", 1, f"table {record.header['table']} in a file {path.name}"))
    try:
        found += _verify(record, revealed)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise RecordError(f"{path}: a field is missing or of the wrong type: {error!r}") from error
    return found


def _verify(record: Record, league: Revealed | None) -> Iterator[Mismatch]:
    try:
        ruleset = record.ruleset()
        board = record.board(ruleset)
    except (EngineError, ValueError) as error:
        yield Mismatch("ruleset", 1, str(error))
        return
    if ruleset.digest != record.header["ruleset"]["digest"]:
        yield Mismatch("ruleset", 1, f"the values have the digest {ruleset.digest}")
    if league is not None and (fault := league.ruleset_fault(ruleset)):
        yield Mismatch("ruleset", 1, fault)
    for line, text in form_faults(record.header, record.numbered, record.result, ruleset, board):
        yield Mismatch("form", line or record.last_line, text)
    yield from _check_seeds(record, board, league)
    yield from _check_play(record, board)


def _check_seeds(record: Record, board: Board, league: Revealed | None) -> Iterator[Mismatch]:
    seeds: list[str] = record.result["board_seeds"]
    if board_commitment(bytes.fromhex(seeds[0])).hex() != record.header["board_commitment"]:
        yield Mismatch("seed", record.last_line, "the revealed board seed is not the one committed to in line 1")
    if league is None or league.secrets is None:
        return
    for redeals, seed in enumerate(seeds):
        if fault := league.shuffle_fault(board, redeals, bytes.fromhex(seed)):
            yield Mismatch("seed", record.last_line, fault)
    if fault := league.board_fault(board, record.header["table"]):
        yield Mismatch("board", 1, fault)


@dataclass(frozen=True, slots=True)
class Step:
    """One decision played again: the deal after it and the events it brought, or what is wrong with it."""

    decision: dict[str, Any]
    deal: Deal
    events: tuple[Event, ...] = ()
    mismatch: Mismatch | None = None


def replayed(record: Record, board: Board) -> Iterator[Step]:
    """Play the decisions one by one; the first that cannot be played is the last step."""
    deal: Deal | None = None
    referee: Referee | None = None
    for seq, (number, line) in enumerate(record.numbered):
        redeals = line["redeals"]
        if deal is None or redeals != deal.setup.redeals:
            if redeals != (0 if deal is None else deal.setup.redeals + 1):
                fault = _order(number, f"redeal {redeals} out of order")
                yield Step(line, deal or record.deal(board, 0), mismatch=fault)
                return
            deal = record.deal(board, redeals)
            referee = Referee(deal) if record.header["mode"] == "penalise" else None
        mismatch = _fault_of(deal, number, line, seq)
        if mismatch is not None:
            yield Step(line, deal, mismatch=mismatch)
            return
        seat, action = Seat(line["seat"]), action_from_json(line["action"])
        events = deal.act(seat, action) if referee is None else referee.act(seat, action).events
        yield Step(line, deal, events)


def _order(number: int, text: str) -> Mismatch:
    return Mismatch("order", number, text)


def _fault_of(deal: Deal, number: int, line: dict[str, Any], seq: int) -> Mismatch | None:
    if line.get("type") != "decision" or line.get("seq") != seq:
        return _order(number, f"decision {seq} expected here, found {line.get('seq')}")
    if deal.over:
        return _order(number, "a decision after the deal was over")
    if deal.to_act != line["seat"]:
        return _order(number, f"seat {line['seat']} acts, but seat {deal.to_act} was to act")
    seat = Seat(line["seat"])
    refused = line.get("refused", False)
    try:
        action = action_from_json(line["action"])
        if refused:
            return Mismatch("play", number, f"seat {seat}: refused, but legal") if deal.can(seat, action) else None
        if not isinstance(action, Pass):
            missing = Counter(action.cards) - Counter(deal.view.hands[seat])
            if missing:
                text = f"seat {seat} does not hold {format_cards(sorted(missing.elements()))}"
                return Mismatch("card", number, text)
        deal.check(seat, action)
    except (EngineError, ValueError) as error:
        reason = f"{error.reason}: " if isinstance(error, EngineError) else ""
        return Mismatch("play", number, f"seat {seat}: {reason}{error}")
    return None


def _check_faults(record: Record) -> Iterator[Mismatch]:
    """Each fault of an answer stands at its decision, but the one that forfeited: nothing was played for it."""
    result, last = record.result, record.last_line
    forfeiting = result["forfeiting_seat"]
    shown = Counter((str(line["seat"]), line["fault"]) for _, line in record.numbered if "fault" in line)
    booked = Counter({(seat, kind): n for seat, kinds in result["faults"].items() for kind, n in kinds.items()})
    if forfeiting is not None:
        total = sum(n for (seat, _), n in booked.items() if seat == str(forfeiting))
        most = record.header["time"]["max_faults"]
        if total != most:
            yield Mismatch("faults", last, f"seat {forfeiting} forfeits with {total} faults; the limit is {most}")
    unexplained = 0
    for seat, kind in sorted(shown | booked):
        if kind not in ANSWER_FAULTS:
            continue
        extra = booked[seat, kind] - shown[seat, kind]
        if extra == 1 and seat == str(forfeiting) and not unexplained:
            unexplained = 1
        elif extra:
            text = f"seat {seat}: {booked[seat, kind]} of kind {kind} booked, {shown[seat, kind]} stand at decisions"
            yield Mismatch("faults", last, text)


_SETTLED = ("played", "jump")
"""Ends of a deal that are settled."""


def _check_play(record: Record, board: Board) -> Iterator[Mismatch]:
    deal: Deal | None = None
    for step in replayed(record, board):
        deal = step.deal
        if step.mismatch is not None:
            yield step.mismatch
            return
    result, last = record.result, record.last_line
    if result["decisions"] != len(record.numbered):
        yield _order(last, f"{len(record.numbered)} decisions stand here, the result counts {result['decisions']}")
    yield from _check_faults(record)
    end = None if deal is None else deal.view.end
    if (result["how"] == "forfeit") != (result["forfeiting_seat"] is not None):
        yield Mismatch("score", last, f"{result['how']}, with seat {result['forfeiting_seat']} as the forfeiting one")
    if result["how"] not in _SETTLED and (result["score"], result["settlement"]) != (0, None):
        yield Mismatch("score", last, f"{result['how']}, with a score or a settlement")
    uncounted = deal is not None and deal.redeals_spent and end is not None
    if (result["how"] == "no_declaration") != uncounted:
        yield Mismatch("score", last, f"nobody declared at all: {uncounted}, the result says {result['how']}")
        return
    if result["how"] not in _SETTLED:
        if end is not None and end.how in _SETTLED and not uncounted:
            yield Mismatch("score", last, f"the deal was played to its end, the result says {result['how']}")
        return
    if deal is None or end is None or end.how != result["how"]:
        yield _order(last, f"the result says {result['how']}, but the deal is not at its end")
        return
    dealer = dealer_of(deal)
    if dealer != result["dealer"]:
        yield Mismatch("score", last, f"dealer {result['dealer']}; played again: {dealer}")
        return
    settlement = settle_deal(deal, {side: deal.setup.position(side) for side in Side})
    again = settlement_to_json(settlement) or {}
    if result["score"] not in (end.score, settlement.score):
        yield Mismatch("score", last, f"score {result['score']}; played again: {settlement.score}")
    said = result["settlement"] or {}
    for key in sorted(again.keys() | said.keys()):
        if said.get(key) != again.get(key):
            yield Mismatch("score", last, f"settlement.{key} {said.get(key)!r}; settled again: {again.get(key)!r}")
