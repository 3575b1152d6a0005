"""Every clause of the sources is known, and every one that says what happens is shown by a test."""

import re
import subprocess
import sys
from pathlib import Path

from tests.support.clauses import clauses, is_known, not_tested, root

ROOT = Path(__file__).parents[2]


def test_the_table_holds_every_clause():
    """617 clauses, of which 269 repeat another; what is repeated has a text of its own."""
    table = clauses()

    assert len(table) == 617
    assert sum(clause.kind == "same" for clause in table.values()) == 269
    for name, clause in table.items():
        assert re.fullmatch(r"S(0|1|2[a-f]|3|4)-\d{2,3}", name)
        assert clause.kind in ("rule", "host", "note", "same")
        if clause.kind == "same":
            assert table[clause.text].kind != "same", name
        else:
            assert clause.text.endswith("."), name


def test_names_are_told_from_typing_mistakes():
    assert is_known("S2d-113")
    assert is_known("Q133")
    assert not any(map(is_known, ("Q0", "Q134", "S0-00", "S2b-50", "S5-01", "Q12a")))
    assert root("S2d-40") == "S0-32"


def test_reasons_are_given_for_known_clauses():
    """A clause without a test has a reason, in a sentence."""
    for name, reason in not_tested().items():
        assert clauses()[name].kind in ("rule", "host"), name
        assert len(reason.split()) > 4, name


def test_every_rule_is_shown_by_a_test():
    """``make rules-coverage`` finds no clause without a test and no marker with an unknown name."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.support.rules_coverage"], cwd=ROOT, capture_output=True, text=True
    )

    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
