"""``make situations``: what a host of matches must stand, each with the tests that show it; exit 1 if one has none.

A test says which by ``@pytest.mark.situation("T1")``; ``pytest -m situation`` runs them. Nothing is run here: the tests
are collected only. The rules have a table of their own, see ``make rules-coverage``.
"""

import contextlib
import io
import sys
import textwrap
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

SITUATIONS = {
    "T1": "A bot's process is killed in mid-deal.",
    "T2": "A bot hangs: its stream is open, it answers pings and no decision.",
    "T3": "An answer comes when its time is up, twice, or before it is asked for.",
    "T4": "An answer is against the rules, or none that can be read.",
    "T5": "The host is stopped or killed in mid-league, and started again.",
    "T6": "One result is reported twice.",
    "T7": "The host itself fails: an exception, a store that is locked, a full disk, a port in use.",
    "T8": "The same results come in any order, at any number of tables in flight.",
    "T9": "No seat is better: seats and deals are shared out evenly, and equal bots end equal.",
    "T10": "Bots with children run when the host is interrupted, terminated or killed.",
    "T11": "A bot prints 100 MB and lines of 10 MB, another sends notes of 4 MB.",
    "T12": "A bot opens its stream and does not read. (There are no spectators of tables yet who could do the same.)",
    "T13": "Clocks are stepped by an hour, a bot's clock is wrong by a day, a link is slow and jitters.",
    "T14": "Somebody searches for the seeds in all he receives; one seed is played at 1 and at 16 tables in flight.",
    "T15": "Output is read by programs, into pipes that close. (Pairings are all against all; who has joined stays.)",
    "a": "The host is restarted with ten tables in flight, and every bot comes back by itself.",
    "b": "A bot has a version of the SDK that the host does not speak with any more.",
    "c": "A bot needs a start budget for its first decision, and must not have it for later ones.",
    "d": "A bot is stopped in a debugger, at a table without clocks.",
    "e": "Two entries of one owner meet at a table.",
    "f": "Somebody reconnects to a seat with a wrong or stolen token.",
    "g": "Three of four bots arrive.",
}
"""Name → title. The fifteen situations that other match hosts failed in, and spares."""

TESTS = Path(__file__).resolve().parents[1]


class Collector:
    """A pytest plugin that remembers the situations of every collected test."""

    def __init__(self) -> None:
        self.shown: dict[str, list[str]] = defaultdict(list)
        self.unknown: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            test = f"{item.path.parent.name}/{item.path.stem}::{item.name}"
            for mark in item.iter_markers("situation"):
                for name in mark.args:
                    self.shown[name].append(test)
                    if name not in SITUATIONS:
                        self.unknown.append(f"{test}: {name}")


def collect(paths: Sequence[str]) -> Collector:
    """
    Which tests in *paths* show what; without any, in all files that name a situation.

    Raises:
        SystemExit: the tests cannot be collected.
    """
    collector = Collector()
    paths = paths or sorted(str(path) for path in TESTS.rglob("test_*.py") if "mark.situation(" in path.read_text())
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = pytest.main(
            ["--collect-only", "-qq", "-p", "no:cacheprovider", f"--rootdir={TESTS.parent}", *paths],
            plugins=[collector],
        )
    if code:
        raise SystemExit(said.getvalue()[-2000:])
    return collector


def main(paths: Sequence[str]) -> int:
    collector = collect(paths)
    for name, title in SITUATIONS.items():
        print(textwrap.fill(f"{name:5}{title}", 80, subsequent_indent=" " * 5))
        for test in collector.shown.get(name, ["NO TEST"]):
            print(f"       {test}")
    missing = [name for name in SITUATIONS if name not in collector.shown]
    for problem, found in (("without a test", missing), ("no situation of the table", collector.unknown)):
        if found:
            print(f"\n{problem}: {', '.join(found)}")
    return 1 if missing or collector.unknown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
