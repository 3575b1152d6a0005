"""One record for each table: a canonical part and a timing part.

The canonical part is JSON lines with sorted keys: a header, one line for each decision, and the result with the
revealed board seeds. It holds no clock and no random id, so the same league gives the same bytes. Every line carries
``chain = SHA256(previous chain + the line without its chain)``, so a changed or missing line shows. Thinking times,
and answers that came late, twice or for no open decision, stand beside it in ``NAME.timing.json``.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chaodipi.engine.actions import Action, Bury, Pass, Play, Show
from chaodipi.engine.cards import Rank, Suit, parse_cards
from chaodipi.engine.scoring import Settlement
from chaodipi.service.boards.board import Board, Secrets
from chaodipi.service.files import sync_folder, write_whole
from chaodipi.service.match.table import TableResult, TableSpec

__all__ = [
    "SCHEMA",
    "action_from_json",
    "action_to_json",
    "record_name",
    "settlement_to_json",
    "timing_name",
    "write_record",
]

SCHEMA = "chaodipi/record/1"
FLAG = "flag"
FIRST_CHAIN = hashlib.sha256(SCHEMA.encode()).hexdigest()


def canonical(value: dict[str, Any]) -> str:
    """JSON with sorted keys and no blanks, ASCII only."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def next_chain(chain: str, line: dict[str, Any]) -> str:
    """The chain value of *line* (without its own) after *chain*."""
    return hashlib.sha256((chain + canonical(line)).encode()).hexdigest()


def chained(lines: Iterator[dict[str, Any]]) -> str:
    """The text of a record: *lines* with their chain, one a line."""
    chain, out = FIRST_CHAIN, []
    for line in lines:
        chain = next_chain(chain, line)
        out.append(canonical(line | {"chain": chain}) + "\n")
    return "".join(out)


def action_to_json(action: Action) -> dict[str, Any]:
    """``{"kind": "play", "cards": "S9 S9"}`` and the like; a showing also has what it names."""
    if isinstance(action, Pass):
        return {"kind": "pass"}
    cards = " ".join(card.text for card in action.cards)
    if isinstance(action, Show):
        line: dict[str, Any] = {"kind": "show", "cards": cards}
        if action.named is not None:
            line["named"] = action.named.letter
        if action.looking_back:
            line["looking_back"] = True
        return line
    return {"kind": "bury" if isinstance(action, Bury) else "play", "cards": cards}


def action_from_json(line: dict[str, Any]) -> Action:
    """
    The inverse of :func:`action_to_json`.

    Raises:
        MalformedError: an unknown card or trump.
        ValueError: an unknown kind.
    """
    kind = line["kind"]
    if kind == "pass":
        return Pass()
    cards = parse_cards(line["cards"])
    if kind == "show":
        named = Suit.parse(line["named"]) if "named" in line else None
        return Show(cards, named, line.get("looking_back", False))
    if kind in ("bury", "play"):
        return Bury(cards) if kind == "bury" else Play(cards)
    raise ValueError(f"unknown kind of action {kind!r}")


def level_to_text(level: Rank | None) -> str:
    """``2`` … ``A``; ``flag`` for a side on the flag."""
    return FLAG if level is None else level.letter


def level_from_text(text: str) -> Rank | None:
    """The inverse of :func:`level_to_text`; MalformedError for any other text."""
    return None if text == FLAG else Rank.parse(text)


def settlement_to_json(settlement: Settlement | None) -> dict[str, Any] | None:
    """What the deal changed, sides by their text."""
    if settlement is None:
        return None
    told: dict[str, Any] = {
        "score": settlement.score,
        "stage": settlement.stage.text,
        "steps": list(settlement.steps),
        "gained": list(settlement.gained),
        "levels": {side.text: level_to_text(position.deal_level) for side, position in settlement.positions.items()},
        "award": settlement.award,
        "heaven": settlement.heaven,
        "fall_back": settlement.fall_back,
        "jump": settlement.jump,
    }
    laps = {side.text: position.lap for side, position in settlement.positions.items()}
    if any(lap > 1 for lap in laps.values()):
        told["laps"] = laps
    return told if settlement.payout is None else told | {"payout": list(settlement.payout)}


def header_of(spec: TableSpec, board: Board) -> dict[str, Any]:
    ruleset = spec.ruleset
    laps = {"laps": list(board.laps)} if ruleset.laps > 1 else {}
    return laps | {
        "type": "table",
        "schema": SCHEMA,
        "table": spec.table_id,
        "board": board.index,
        "board_commitment": spec.board_commitment.hex(),
        "bots": list(spec.bots),
        "ruleset": {"name": ruleset.name, "digest": ruleset.digest, "values": ruleset.values()},
        "first_drawer": int(board.first_drawer),
        "first_deal": board.first_deal,
        "dealer": None if board.dealer is None else int(board.dealer),
        "levels": [level_to_text(level) for level in board.levels],
        "on_stage": None if board.on_stage is None else board.on_stage.text,
        "time": spec.time.as_json(),
        "mode": spec.mode,
    }


def lines_of(spec: TableSpec, board: Board, secrets: Secrets, result: TableResult) -> Iterator[dict[str, Any]]:
    """The lines of a record, without chains."""
    yield header_of(spec, board)
    for seq, decision in enumerate(result.decisions):
        line: dict[str, Any] = {
            "type": "decision",
            "seq": seq,
            "redeals": decision.redeals,
            "seat": int(decision.seat),
            "action": action_to_json(decision.action),
        }
        if decision.by_host:
            line["by_host"] = True
        if decision.fault:
            line["fault"] = decision.fault
        if decision.refused:
            line["refused"] = True
        yield line
    shuffles = 1 + max((decision.redeals for decision in result.decisions), default=0)
    yield {
        "type": "result",
        "how": result.how,
        "score": result.score,
        "dealer": None if result.dealer is None else int(result.dealer),
        "settlement": settlement_to_json(result.settlement),
        "faults": {str(int(seat)): dict(sorted(kinds.items())) for seat, kinds in sorted(result.faults.items())},
        "forfeiting_seat": None if result.forfeiting_seat is None else int(result.forfeiting_seat),
        "note": result.note,
        "decisions": len(result.decisions),
        "board_seeds": [secrets.board_seed(board.index, redeal, spec.ruleset).hex() for redeal in range(shuffles)],
    }


def record_name(table_id: str) -> str:
    """The file name of a table's record."""
    return table_id.replace("/", "_") + ".jsonl"


def timing_name(table_id: str) -> str:
    """The name of the file beside it, with the think times."""
    return table_id.replace("/", "_") + ".timing.json"


def write_record(folder: Path, spec: TableSpec, board: Board, secrets: Secrets, result: TableResult) -> str:
    """
    Write the record of a table that is over; its file appears whole or not at all, and is on disk when this returns.

    The board seed stands in it: call this once *all* tables of the board are over.

    Returns:
        SHA-256 of the canonical part, hex.
    """
    text = chained(lines_of(spec, board, secrets, result))
    thinking: dict[str, Any] = {
        "table": spec.table_id,
        "think_ms": [decision.think_ms for decision in result.decisions],
    }
    if result.strays:
        thinking["strays"] = {str(int(seat)): dict(sorted(kinds.items())) for seat, kinds in result.strays.items()}
    write_whole(folder / timing_name(spec.table_id), canonical(thinking) + "\n")
    write_whole(folder / record_name(spec.table_id), text)
    sync_folder(folder)
    return hashlib.sha256(text.encode()).hexdigest()
