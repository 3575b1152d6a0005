"""The engine against the second implementation of ``oracle.py``, on random positions.

A failure prints the seed; ``CHAODIPI_ORACLE_SEED`` and ``CHAODIPI_ORACLE_POSITIONS`` (of each part) repeat or extend
a run; ``make rules-oracle`` compares 100,000 positions of each preset.
"""

import os

import pytest

from tests.rules.comparison import COMPARE, TABLES
from tests.rules.oracle import Table
from tests.support.golden import differences, golden_lines, names

SEED = int(os.environ.get("CHAODIPI_ORACLE_SEED", "20240229"))
POSITIONS = int(os.environ.get("CHAODIPI_ORACLE_POSITIONS", "700"))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("part", COMPARE)
def test_the_engine_answers_as_the_oracle(part, table):
    """No difference, and every kind of position was met."""
    compared = COMPARE[part](table, SEED, POSITIONS)

    assert min(compared.values()) > POSITIONS // 20, compared
    assert len(compared) > 1


# The oracle itself, on golden positions.

KNOWN = [line for line in golden_lines() if line["ask"]["op"] in ("follow", "follows", "lead", "trick")]


@pytest.mark.parametrize("line", KNOWN, ids=names(KNOWN))
def test_oracle_knows_the_golden_positions(line):
    """The second implementation answers them too; one mistake in both would not be seen otherwise."""
    q, e = line["ask"], line["expect"]
    options = q["ruleset"].get("overrides", {}) if isinstance(q["ruleset"], dict) else {}
    table = Table(line["preset"], q.get("level"), q["trump"], options.get("two_permanent", False))
    if q["op"] == "trick":
        got = {"winner": table.winner([play.split() for play in q["plays"]])}
    elif q["op"] == "lead":
        got = table.lead(q["cards"].split(), [hand.split() for hand in q["others"]])
    elif q["op"] == "follow":
        legal = tuple(sorted(q["cards"].split())) in table.follows(q["hand"].split(), q["lead"].split())
        got = {"legal": legal}
    else:
        got = {"count": len(table.follows(q["hand"].split(), q["lead"].split()))}
    shared = {key: value for key, value in e.items() if key in got}
    assert shared
    assert differences(shared, got) == []


@pytest.mark.parametrize("part", COMPARE)
def test_a_wrong_rule_is_noticed(part, monkeypatch):
    """If the oracle knew no tractors, or no strength, the random positions would show it."""
    if part == "trick":
        monkeypatch.setattr(Table, "strength", lambda self, card: 1)
    else:
        monkeypatch.setattr(Table, "chains", lambda self, cards, copies=2: [])

    with pytest.raises(AssertionError, match="seed"):
        COMPARE[part]("huanle_2", SEED, 300)
