"""What a table is worth to a side, in three scales. The one place that turns results into numbers.

================== ============================ =========================== ==========
how                points                       steps                       win
================== ============================ =========================== ==========
played             ±(score − stage threshold)   level steps by the table    +1 or −1
no_declaration     0                            0                           0
jump               ±the stage threshold         ±the steps of a sweep       +1 or −1
forfeit            the stage threshold          the steps of a sweep        −1 or +1
host_fault         never scored: the pair is played again
================== ============================ =========================== ==========

Played: the dealer side's margin is positive in points if the catchers stay below the threshold, in steps if it
climbs; the other side has the negative. Jump, forfeit: the offender, the side that forfeits, loses as if swept.
"""

from dataclasses import dataclass
from typing import Protocol

from chaodipi.engine.cards import Rank, Seat, Side
from chaodipi.engine.ruleset import Ruleset
from chaodipi.engine.scoring import stage_score

__all__ = ["SCALES", "Ended", "Margin", "Settled", "margin"]

SCALES = ("points", "steps", "win")


@dataclass(frozen=True, slots=True)
class Margin:
    """A side's margin at one table; the other side has the negative."""

    points: int
    steps: int
    win: int

    def __neg__(self) -> "Margin":
        return Margin(-self.points, -self.steps, -self.win)


class Settled(Protocol):
    """What margins depend on of a settlement: the catchers' score, both sides' steps, who is on stage then."""

    @property
    def score(self) -> int: ...
    @property
    def steps(self) -> tuple[int, int]: ...
    @property
    def stage(self) -> Side: ...


class Ended(Protocol):
    """What margins depend on of a table that is over; see :class:`TableResult`."""

    @property
    def table_id(self) -> str: ...
    @property
    def how(self) -> str: ...
    @property
    def dealer(self) -> Seat | None: ...
    @property
    def settlement(self) -> Settled | None: ...
    @property
    def levels(self) -> tuple[Rank | None, Rank | None]: ...
    @property
    def forfeiting_side(self) -> Side | None: ...


def margin(ruleset: Ruleset, result: Ended, side: Side) -> Margin:
    """
    The margin of *side*.

    Raises:
        ValueError: a host fault, which is never scored; ours.
    """
    if result.how == "no_declaration":
        return Margin(0, 0, 0)
    lost = Margin(-ruleset.stage, -max(1, ruleset.sweep_steps), -1)
    if result.how == "forfeit" and result.forfeiting_side is not None:
        return lost if result.forfeiting_side == side else -lost
    if result.how == "jump" and result.settlement is not None:
        return -lost if result.settlement.stage == side else lost
    if result.how != "played" or result.settlement is None or result.dealer is None:
        raise ValueError(f"table {result.table_id}: {result.how} has no margin")
    settled = result.settlement
    flag = result.levels[result.dealer.side] is None
    dealers = Margin(
        points=stage_score(ruleset, flag) - settled.score,
        steps=settled.steps[0] - settled.steps[1],
        win=1 if settled.stage == result.dealer.side else -1,
    )
    return dealers if result.dealer.side == side else -dealers
