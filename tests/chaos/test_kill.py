"""A league whose host is killed at any moment ends as one that was not (T5): one of the kills of ``make chaos``."""

import os
import random
from pathlib import Path

import pytest

from tests.chaos import kill


@pytest.mark.situation("T5")
def test_t5_kill_9_in_mid_league_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Same final pairs, scores, standings and canonical records; the second run plays only what was missing."""
    seed = int(os.environ.get("CHAODIPI_CHAOS_SEED", random.randrange(2**32)))
    report = kill.play(tmp_path, seed, boards=8, kills=1)
    print(report)
    assert not report.lost


def test_what_is_lost_or_differs_is_noticed(tmp_path: Path) -> None:
    """The comparison of two runs names a missing record, another one, a result without a record, and other scores."""
    text = kill.LEAGUE.format(boards=1, seed=1, in_flight=2, shared="false")
    one, other = kill.Run(tmp_path / "one", text), kill.Run(tmp_path / "other", text)
    for run in (one, other):
        run.finish()
    assert kill.differences(one, other, 6) == []
    first, second, *_ = one.records().values()
    first.unlink()
    second.write_text(second.read_text() + "{}\n")
    results = one.out / "results.json"
    results.write_text(results.read_text().replace('"rank": 1', '"rank": 3'))
    found = "\n".join(kill.differences(one, other, 6))
    for what in ("its record is not on disk", "5 records, 6 expected", f"record {second.name} differs", "standings"):
        assert what in found
