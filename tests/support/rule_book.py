"""The rule books, docs/RULES.md and docs/规则.md, read as questions to the judge.

Both books show examples in two forms that a person reads as they stand: tables, whose headings tell what is
asked, and ``deal`` blocks, scripts of one deal. Here each becomes lines like the golden ones (see
:mod:`tests.support.golden`). The Chinese book's words are put into English first, so there is one reader.

A table that names presets and is neither an example nor listed in :data:`PLAIN` is an error: a misspelt heading
must not take examples out of the test.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaodipi.engine.ruleset import preset_names

from tests.support import rule_book_zh as zh
from tests.support.golden import ALL, ROOMS, Line
from tests.support.rule_book_deal import read_deal

DOCS = Path(__file__).parents[2] / "docs"
BOOKS = {"en": DOCS / "RULES.md", "zh": DOCS / "规则.md"}

CLAUSE = re.compile(r"\b(S\d[a-f]?-\d{2,3}|Q\d{1,3})\b")
RULE_NUMBER = re.compile(r"^\*\*(\d+\.\d+)\*\*", re.MULTILINE)

Row = dict[str, str]

PLAIN = {
    ("preset", "packs"),
    ("preset", "a first declaration is"),
    ("preset", "rungs from low to high; C D H S are pairs of level cards"),
    ("preset", "first deal of a game"),
    ("preset", "single"),
    ("preset", "must-play levels"),
    ("preset", "`ladder`"),
    ("preset", "从小到大；C D H S 是级牌对"),
    ("preset", "一局的首副"),
    ("preset", "单张"),
}
"""First two headings of the tables that name presets and are no examples."""


@dataclass(frozen=True)
class Table:
    """One table: the line of its headings, the headings in English, and its rows, cells without backticks."""

    line: int
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def read(language: str) -> str:
    """The text of a book."""
    return BOOKS[language].read_text("utf-8")


def tables(text: str) -> Iterator[Table]:
    """Every table of *text*, in order."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        if lines[at].startswith("|") and at + 1 < len(lines) and re.match(r"\|( -+:? \|)+$", lines[at + 1]):
            start, headings = at + 1, tuple(zh.HEADINGS.get(cell, cell) for cell in _cells(lines[at], ticks=True))
            at += 2
            rows = []
            while at < len(lines) and lines[at].startswith("|"):
                rows.append(_cells(lines[at]))
                assert len(rows[-1]) == len(headings), f"line {at + 1}: {len(rows[-1])} cells for {len(headings)}"
                at += 1
            yield Table(start, headings, tuple(rows))
        at += 1


def _cells(line: str, ticks: bool = False) -> tuple[str, ...]:
    cells = (cell.strip() for cell in line.strip().strip("|").split("|"))
    return tuple(cell if ticks else cell.replace("`", "") for cell in cells)


def examples(language: str) -> list[Line]:
    """Every example of a book as lines, also those of presets that are not played yet."""
    return [{**line, "id": f"{language}:{line['id']}"} for line in examples_of(read(language))]


def examples_of(text: str) -> list[Line]:
    """Every example of *text*; the id is the number of its line in it."""
    found = [line for table in tables(text) for line in _table_lines(table)]
    for match in re.finditer(r"^```deal\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        found.append(read_deal(match[1].splitlines(), text.count("\n", 0, match.start()) + 2))
    return found


def played(lines: list[Line]) -> list[Line]:
    """Those lines whose preset is played."""
    return [line for line in lines if line["preset"] in preset_names()]


def _table_lines(table: Table) -> Iterator[Line]:
    if table.headings[0] != "preset" or table.headings[:2] in PLAIN:
        return
    kind = tuple(h for h in table.headings if h != "why")
    assert kind in _KINDS, f"line {table.line}: no example has the headings {kind}"
    for number, cells in enumerate(table.rows):
        row = dict(zip(table.headings, (zh.english(cell, zh.CELLS) for cell in cells), strict=True))
        for preset, common in _common(row):
            for ask, expect in _KINDS[kind](row):
                name = f"{table.line + 1 + number + 1}"
                yield {"id": name, "preset": preset, "clauses": [], "ask": {**common, **ask}, "expect": expect}


def _common(row: Row) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each preset of a row, and the fields that say by what rules it is asked."""
    text = row["preset"]
    flag = "flag deal" in text
    name, _, switch = text.replace("flag deal", "").strip().partition(" + ")
    for preset in ROOMS if name == "rooms" else name.split():
        assert preset in ALL, f"no such preset: {preset}"
        common: dict[str, Any] = {"ruleset": {"base": preset, "overrides": {switch: True}} if switch else preset}
        if "level" in row:
            common |= {"trump": row["trump"]} | ({"flag": True} if flag else {"level": row["level"]})
        yield preset, common


Asked = Iterator[tuple[dict[str, Any], dict[str, Any]]]


def _order(row: Row) -> Asked:
    groups = [[step.split(" = ") for step in part.split(" > ")] for part in row["order, highest first"].split("; ")]
    classes = {"T": groups[0]} | {group[0][0][0]: group for group in groups[1:]}
    yield {"op": "sort", "cards": row["cards"]}, {"classes": classes}


def _one_tractor(row: Row) -> Asked:
    yield {"op": "shape", "cards": row["cards"]}, {"one_tractor": {"yes": True, "no": False}[row["one tractor?"]]}


def _pattern(row: Row) -> Asked:
    if row["pattern"] == "not one class":
        yield {"op": "shape", "cards": row["cards"]}, {"legal": False, "reason": "NOT_ONE_CLASS"}
        return
    parts = [part.split(" ", 1) for part in row["pattern"].split(" + ")]
    components = [{"kind": kind, "cards": cards.split()} for kind, cards in parts]
    yield {"op": "shape", "cards": row["cards"]}, {"components": components}


def _throw(row: Row) -> Asked:
    others = [part.strip().replace("–", "") for part in row["others hold"].split(" / ")]
    assert len(others) == 3, row
    outcome, _, booked = row["outcome"].partition("; ")
    word, _, forced = outcome.partition(":")
    expect: dict[str, Any] = {
        "stands": {"legal": True, "failed": False, "played": row["thrown"].split()},
        "fails": {"legal": True, "failed": True, "played": forced.split()},
        "illegal": {"legal": False},
    }[word]
    if booked:
        expect["penalty"] = int(booked.removeprefix("catchers "))
    yield {"op": "lead", "hand": row["thrown"], "cards": row["thrown"], "others": others}, expect


def _follow(row: Row) -> Asked:
    for heading, legal in (("legal", True), ("illegal", False)):
        for cards in row[heading].split(" / "):
            if cards != "–":
                ask = {"op": "follow", "lead": row["led"], "hand": row["hand"], "cards": cards}
                yield ask, {"legal": legal}


def _trick(row: Row) -> Asked:
    yield {"op": "trick", "plays": row["trick"].split(" · ")}, {"winner": int(row["winner"].removeprefix("seat "))}


def _dig(row: Row) -> Asked:
    times = int(row["multiplier"].removeprefix("×"))
    yield {"op": "dig", "play": row["winning play"], "bottom": "C5 DT"}, {"multiplier": times, "points": 15 * times}


def _steps(row: Row) -> Asked:
    side, steps = row["outcome"].rsplit(" ", 1)
    stage = {"dealer side": "dealer", "catchers": "catchers"}[side]
    positions = {"dealer": {"level": "5"}, "catchers": {"level": "5"}}
    ask = {"op": "settle", "dealer": 0, "score": _number(row["score"]), "positions": positions}
    yield ask, {"stage": stage, "steps": {stage: int(steps)}}


def _payout(row: Row) -> Asked:
    positions = {"dealer": {"level": "5"}, "catchers": {"level": "5"}}
    ask = {"op": "settle", "dealer": 0, "score": _number(row["score"]), "positions": positions}
    pay = {"dealer": row["each of the dealer side"], "catchers": row["each catcher"]}
    yield ask, {"payout": {side: _number(text) for side, text in pay.items()}}


def _number(text: str) -> int:
    return int(text.replace("−", "-"))


def _settle(row: Row) -> Asked:
    positions = {"dealer": _position(row["dealer side on"]), "catchers": _position(row["catchers on"])}
    ask: dict[str, Any] = {"op": "settle", "dealer": 0, "score": _number(row["score"]), "positions": positions}
    for part in filter(None, row["more"].split(", ")):
        if found := re.fullmatch(r"(dealer side's )?last play ?(.+)", part):
            ask |= {"winner_side": "dealer" if found[1] else "catchers", "last_play": found[2], "trump": "S"}
        elif found := re.fullmatch(r"table ?(\d+)", part):
            ask["table_score"] = int(found[1])
        else:
            ask[{"first deal": "first_deal", "flag deal": "flag"}[part]] = True
    after = {"dealer": _position(row["dealer side after"]), "catchers": _position(row["catchers after"])}
    if row["stage next"] == "game won":
        yield ask, {"game_over": True, "game_winner": "dealer"}
        return
    stage = {"dealer side": "dealer", "catchers": "catchers"}[row["stage next"]]
    yield ask, {"stage": stage, "positions": after, "game_over": False}


def _position(text: str) -> dict[str, Any]:
    if text == "flag":
        return {"level": "A", "flag": True}
    found = re.fullmatch(r"(?:lap ([123]) +)?([2-9TJQKA])( played)?", text)
    assert found, text
    lap = {"lap": int(found[1])} if found[1] else {}
    return {"level": found[2]} | lap | ({"released": [found[2]]} if found[3] else {})


_AT = ("preset", "level", "trump")
_KINDS: dict[tuple[str, ...], Callable[[Row], Asked]] = {
    (*_AT, "cards", "order, highest first"): _order,
    (*_AT, "cards", "one tractor?"): _one_tractor,
    (*_AT, "cards", "pattern"): _pattern,
    (*_AT, "thrown", "others hold", "outcome"): _throw,
    (*_AT, "led", "hand", "legal", "illegal"): _follow,
    (*_AT, "trick", "winner"): _trick,
    (*_AT, "winning play", "multiplier"): _dig,
    ("preset", "score", "outcome"): _steps,
    ("preset", "score", "each of the dealer side", "each catcher"): _payout,
    (
        "preset", "dealer side on", "catchers on", "score", "more",
        "stage next", "dealer side after", "catchers after",
    ): _settle,
}  # fmt: skip


def preset_table(language: str) -> dict[str, dict[str, str]]:
    """Key → preset → what the tables of part 3 show for it, in English."""
    found: dict[str, dict[str, str]] = {}
    for table in tables(read(language)):
        if table.headings[0] == "key":
            presets = [heading.strip("`") for heading in table.headings[1:]]
            for key, *cells in table.rows:
                found[key.split()[0]] = dict(zip(presets, (zh.VALUES.get(cell, cell) for cell in cells), strict=True))
        elif table.headings == ("preset", "`ladder`"):
            found["ladder"] = {preset: zh.english(cell, zh.RUNGS) for preset, cell in table.rows}
    return found


def shown_value(value: Any) -> str:
    """A value of a ruleset as the tables write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return " ".join(map(shown_value, value)) or "none"
    return str(value).replace("_", " ")
