"""Round robin as a plain iterator: pairs of tables in schedule order, with deterministic table ids."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from chaodipi.engine.ruleset import Ruleset
from chaodipi.service.boards.board import Board, Secrets, commitment, plan_board, setup
from chaodipi.service.match.clock import TimeControl
from chaodipi.service.match.table import TableSpec

__all__ = ["Entry", "Pair", "Plan", "round_robin"]


@dataclass(frozen=True, slots=True)
class Entry:
    """What is ranked: a *name* and the bots in the first and second seat of its side."""

    name: str
    bots: tuple[str, str]

    @classmethod
    def of_bot(cls, bot: str) -> "Entry":
        """An entry with the same bot in both seats."""
        return cls(bot, (bot, bot))


@dataclass(frozen=True, slots=True)
class Plan:
    """
    All that decides a league's schedule.

    Attributes:
        league: Its name, the first part of every table id.
        boards: Boards of each pairing.
        time: The clock; None: the ruleset's own limits.
        mode: How breaches are met, see :class:`TableSpec`.
        shared: Every pairing plays the same boards; the default is boards of its own.
    """

    league: str
    ruleset: Ruleset
    entries: tuple[Entry, ...]
    boards: int
    secrets: Secrets
    time: TimeControl | None = None
    shared: bool = False
    mode: str = "prevent"

    @property
    def pair_count(self) -> int:
        """Pairs of tables in the whole schedule."""
        return self.boards * len(self.entries) * (len(self.entries) - 1) // 2


@dataclass(frozen=True, slots=True)
class Pair:
    """
    The two tables of one board: *first* sits at 0 and 2 at the first table, at 1 and 3 at the second.

    ``number`` counts the pairs of the schedule from 0; ``first`` and ``second`` are entries' names.
    """

    number: int
    board: Board
    first: str
    second: str
    tables: tuple[TableSpec, TableSpec]


def round_robin(plan: Plan) -> Iterator[Pair]:
    """
    Every entry against every other at ``plan.boards`` boards.

    Boards are the outer loop, so that a league stopped early has played all pairings about equally.
    """
    number = 0
    pairings = list(combinations(plan.entries, 2))
    for place in range(plan.boards):
        for at, (a, b) in enumerate(pairings):
            index = place if plan.shared else at * plan.boards + place
            yield _pair(plan, number, plan_board(plan.ruleset, plan.secrets, index, place), a, b)
            number += 1


def _pair(plan: Plan, number: int, board: Board, a: Entry, b: Entry) -> Pair:
    def table(which: int, side_02: Entry, side_13: Entry) -> TableSpec:
        return TableSpec(
            table_id=f"{plan.league}/{board.index:05d}/{a.name}-{b.name}/{which}",
            ruleset=plan.ruleset,
            setup=lambda redeals: setup(board, plan.secrets, redeals),
            bots=_seating(side_02, side_13),
            time=plan.time or TimeControl.of(plan.ruleset),
            mode=plan.mode,
            board_commitment=commitment(board, plan.secrets),
        )

    return Pair(number, board, a.name, b.name, (table(1, a, b), table(2, b, a)))


def _seating(side_02: Entry, side_13: Entry) -> tuple[str, str, str, str]:
    (s0, s2), (s1, s3) = side_02.bots, side_13.bots
    return (s0, s1, s2, s3)


def check_names(names: Sequence[str]) -> None:
    """Raise ValueError, naming the fault, unless *names* are two or more different entries."""
    if len(names) < 2:
        raise ValueError(f"a league needs two entries or more, got {len(names)}")
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"entry {name!r} stands twice")
