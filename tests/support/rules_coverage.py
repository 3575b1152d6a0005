"""``make rules-coverage``: each clause that states a rule with the tests that show it; exit 1 if one has none.

A test shows the clauses of its ``clauses`` marker; a clause that repeats another shares its tests. Nothing is run:
the tests are collected only.
"""

import contextlib
import io
import sys
import textwrap
from collections import defaultdict

import pytest
from chaodipi.engine import preset_names

from tests.support.clauses import clauses, is_known, needs_test, not_tested, root

Shown = dict[str, list[str]]


class Collector:
    """A pytest plugin that remembers the clauses of every collected test."""

    def __init__(self) -> None:
        self.shown: Shown = defaultdict(list)
        self.unknown: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            for mark in item.iter_markers("clauses"):
                self.unknown += [f"{item.nodeid}: {name}" for name in mark.args if not is_known(name)]
                for name in mark.args:
                    if _is_about(item, root(name)):
                        self.shown[root(name)].append(_short(item))


def _is_about(item: pytest.Item, name: str) -> bool:
    """Whether the test asks a preset that the clause is about, if it asks one at all."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    asked = params["line"]["preset"] if "line" in params else getattr(params.get("ruleset"), "name", params.get("name"))
    clause = clauses().get(name)
    return clause is None or asked not in preset_names() or asked in clause.presets


def _short(item: pytest.Item) -> str:
    """The line's name for a position or situation, else file and function."""
    if item.name.startswith(("test_position[", "test_situation[")):
        return item.name.partition("[")[2].removesuffix("]")
    return f"{item.path.stem}::{getattr(item, 'originalname', item.name)}"


def collect() -> Collector:
    """
    What the tests show.

    Raises:
        SystemExit: the tests cannot be collected.
    """
    collector = Collector()
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", "tests"], plugins=[collector])
    if code:
        raise SystemExit(said.getvalue())
    return collector


def without_tests(shown: Shown) -> list[str]:
    """Clauses that need a test and have none."""
    return [name for name, clause in clauses().items() if needs_test(clause) and not shown.get(name)]


def stale_reasons(shown: Shown) -> list[str]:
    """Clauses that are said to be untestable and are tested all the same."""
    return [name for name in not_tested() if shown.get(name)]


def main() -> int:
    collector = collect()
    for name, clause in clauses().items():
        if clause.kind not in ("rule", "host"):
            continue
        tests = sorted(set(collector.shown.get(name, ())))
        why = not_tested().get(name, "" if clause.presets else "its presets are not played yet")
        state = str(len(tests)) if tests else "reason" if why else "NONE"
        print(textwrap.fill(f"{name:8}{state:>7}  {clause.text}", 80, subsequent_indent=" " * 17))
        print(
            textwrap.indent(
                textwrap.fill(", ".join(tests) or why, 60, break_on_hyphens=False, break_long_words=False), " " * 20
            )
        )
    missing, stale = without_tests(collector.shown), stale_reasons(collector.shown)
    for problem, found in (
        ("without a test", missing),
        ("in not_tested.tsv, but tested", stale),
        ("no clause of the sources", collector.unknown),
    ):
        if found:
            print(f"\n{problem}: {', '.join(found)}")
    return 1 if missing or stale or collector.unknown else 0


if __name__ == "__main__":
    sys.exit(main())
