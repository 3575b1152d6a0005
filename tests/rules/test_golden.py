"""The golden positions: every line of ``golden/`` has exactly one right answer, and no position is left out."""

import json
import re

import pytest
from chaodipi.engine.ruleset import preset_names, resolve

from tests.support.clauses import is_known
from tests.support.golden import (
    CARD,
    FOLDER,
    RULES,
    as_params,
    card_fields,
    extra_lines,
    golden_lines,
    mistakes,
    most_copies,
    names,
    presets_of,
    report,
)

LINES = golden_lines()
EXTRA = extra_lines()

LISTED = dict(
    row.split("\t") for row in (RULES / "golden_ids.tsv").read_text("utf-8").splitlines() if not row.startswith("#")
)
"""Golden id → the presets that it names."""

NEEDED = [(name, preset) for name, presets in LISTED.items() for preset in presets_of(presets)]
"""Every line that must be there, of the presets that are played."""


@pytest.mark.parametrize("line", as_params([*LINES, *EXTRA]))
def test_position(line):
    found = mistakes(line)
    if found:
        pytest.fail(report(line, found), pytrace=False)


def test_every_position_has_a_line_for_every_preset_that_it_names():
    """All 307, each for each of its presets that is played; nothing that is not on the list calls itself golden."""
    there = {(line["id"], line["preset"]) for line in LINES}

    assert len(LISTED) == 307
    assert [pair for pair in NEEDED if pair not in there] == []
    assert sorted({line["id"] for line in LINES} - set(LISTED)) == []


def test_a_file_holds_its_preset_only():
    """A line of another preset would be missed by whoever looks for it."""
    for file in FOLDER.glob("*.jsonl"):
        lines = [json.loads(text) for text in file.read_text("utf-8").splitlines()]
        assert {line["preset"] for line in lines} == {file.stem}


def test_lines_are_unique():
    for lines in (LINES, EXTRA):
        questions = [json.dumps([x["id"], x["preset"], x["ask"]], sort_keys=True) for x in lines]
        assert len(set(questions)) == len(questions)


@pytest.mark.parametrize("line", [*LINES, *EXTRA], ids=names([*LINES, *EXTRA]))
def test_line_is_well_formed(line):
    assert re.fullmatch(r"(G-[A-Z]{2}-\d{2,3}|X-[A-Z]{2}-\d\d\d)", line["id"])
    assert line["clauses"]
    assert all(map(is_known, line["clauses"]))
    assert line["preset"] in preset_names()
    assert line["ask"]["op"]
    assert line.get("expect") or line.get("error")
    assert json.dumps(line["ask"]["ruleset"]).count(line["preset"]) == 1
    assert all(CARD.fullmatch(x) for cards in card_fields(line["ask"]) for x in cards)
    # no position uses more copies of a card than the decks hold
    assert most_copies(line["ask"]) <= resolve(line["preset"]).decks
