"""The clauses of the sources (``tests/rules/clauses.tsv``), and which are left without a test for a reason."""

import re
from dataclasses import dataclass
from functools import cache

from tests.support.golden import RULES, presets_of

LAST_DECISION = 133
"""Decisions on what the sources leave open are numbered Q1 to this."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause: *kind* is rule, host, note or same; *text* the summary, of ``same`` the clause that it repeats."""

    name: str
    kind: str
    presets: tuple[str, ...]
    """Presets that are played and that it is about."""
    text: str


def _rows(file: str) -> list[list[str]]:
    lines = (RULES / file).read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


@cache
def clauses() -> dict[str, Clause]:
    """All clauses by name, in the order of the sources."""
    return {name: Clause(name, kind, presets_of(where), text) for name, kind, where, text in _rows("clauses.tsv")}


@cache
def not_tested() -> dict[str, str]:
    """Clauses that no test can show, and why."""
    return dict(_rows("not_tested.tsv"))


def is_known(name: str) -> bool:
    """Whether *name* is a clause or a decision."""
    decision = re.fullmatch(r"Q([1-9]\d*)", name)
    return int(decision[1]) <= LAST_DECISION if decision else name in clauses()


def root(name: str) -> str:
    """The clause that *name* repeats, or itself."""
    clause = clauses().get(name)
    return clause.text if clause and clause.kind == "same" else name


def needs_test(clause: Clause) -> bool:
    """Whether it says what happens in a preset that is played, and no reason stands against a test."""
    return clause.kind in ("rule", "host") and bool(clause.presets) and clause.name not in not_tested()
