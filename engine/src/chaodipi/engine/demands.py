"""
What must be in a follow, in numbers and in runs: the obligations of a lead against one hand.

The obligations are met greedily, the biggest first (F8.2): each led tractor takes the longest run that the hand still
has, up to what is owed, any of equal ones; what it does not find as a run it takes singly. A triple that is missing
asks for a pair and a card (Q117). Choices of single triples and pairs are *open*: they matter only in number,
except where a choice breaks a run that a later tractor would ask for. So a legal follow has so many triples, so many
pairs, and the cards of one :class:`Need`.

Rules: annex F8; S1-69, S1-70, S2b-30, S2b-31; Q53, Q54, Q101, Q117.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from chaodipi.engine.cards import Suit
from chaodipi.engine.multiset import doubles, triples
from chaodipi.engine.order import Order
from chaodipi.engine.shapes import Shape, longest_run

__all__ = ["Demands", "Need", "demands_of"]

_Step = tuple[int, int]
"""Copies and length of a led tractor; length 1 is a triple or a pair that is owed before a tractor."""


class Need(NamedTuple):
    """One way to meet the runs that are owed."""

    cards: int
    """The multiset that must be played; two or three copies of each face."""
    triples: int
    """Triples of other faces that must be played too."""

    def met_by(self, played: int) -> bool:
        """Whether *played* holds the cards and the triples."""
        if played & self.cards != self.cards:
            return False
        return not self.triples or (triples(played) & ~doubles(self.cards)).bit_count() >= self.triples

    def contains(self, other: "Need") -> bool:
        """Whether all that meets this need meets *other* too."""
        if self.cards & other.cards != other.cards:
            return False
        return self.triples + (triples(self.cards) & ~doubles(other.cards)).bit_count() >= other.triples


@dataclass(frozen=True, slots=True)
class Demands:
    """
    What one hand owes to one lead, in one class.

    Attributes:
        held: The follower's cards of the class, as a multiset.
        triples: Triples that must be played.
        pairs: Pairs of other faces that must be played.
        steps: Tractors to be met in turn, biggest first, with the triples and pairs that are owed before them.
        spent: Faces that are played as triples whatever is chosen.
    """

    order: Order
    cls: Suit
    held: int
    triples: int
    pairs: int
    steps: tuple[_Step, ...]
    spent: int

    @property
    def doubles(self) -> int:
        """Faces that must be played twice or more."""
        return self.triples + self.pairs

    def met_by(self, played: int) -> bool:
        """Whether *played*, cards of the hand and class, meets everything."""
        if not self.counts_met_by(played):
            return False
        return not self.steps or any(need.met_by(played) for need in self._needs(triples(played), doubles(played)))

    def counts_met_by(self, played: int) -> bool:
        """Whether *played* has the pairs and triples in number."""
        if doubles(played).bit_count() < self.triples + self.pairs:
            return False
        return not self.triples or triples(played).bit_count() >= self.triples

    def needs(self) -> tuple[Need, ...]:
        """Every way to meet the runs, none of which contains another, in a fixed order."""
        every = set(self._needs(triples(self.held), doubles(self.held)))
        found = sorted(every, key=lambda need: (need.cards.bit_count(), need.cards))
        least: list[Need] = []
        for _, alike in groupby(found, key=lambda need: need.cards.bit_count()):
            # Of as many cards none contains another: each is compared with the smaller ones only.
            smaller = tuple(least)
            least += [need for need in alike if not any(need.contains(other) for other in smaller)]
        return tuple(least)

    def runs_met_by(self, played: int) -> bool:
        """Whether *played* holds the runs that are owed, if not all triples and pairs."""
        return any(True for _ in self._needs(triples(played), doubles(played)))

    def one_need(self) -> Need:
        """One way to meet the runs, found without looking for the others."""
        return next(self._needs(triples(self.held), doubles(self.held)))

    def _needs(self, threes: int, twos: int) -> Iterator[Need]:
        """The ways to meet the runs with faces of *threes* as triples and of *twos* as pairs."""
        held3, held2 = triples(self.held), doubles(self.held)
        start = (0, self.steps[0][1] if self.steps else 0, self.spent, 0, 0, 0)
        todo, seen = [start], {start}
        while todo:
            index, owed, used3, used2, open3, open2 = todo.pop()
            if index == len(self.steps):
                yield Need(used3 * 3 + used2 * 2, self.triples - used3.bit_count())
                continue
            copies = self.steps[index][0]
            used = used3 | used2
            left = (held3 if copies == 3 else held2) & ~used
            run = min(longest_run(self.order, self.cls, left), owed) if owed > 1 else owed
            nexts: list[tuple[int, int, int, int, int, int]] = []
            if run < 2:
                # No run is left, or one place is owed: any triple or pair will do for each.
                following = self.steps[index + 1][1] if index + 1 < len(self.steps) else 0
                more = (open3 + owed, open2) if copies == 3 else (open3, open2 + owed)
                nexts.append((index + 1, following, used3, used2, *more))
            else:
                within = (threes if copies == 3 else twos) & ~used
                for kinds, _, _ in self.order.runs(self.cls, run):
                    if within & kinds == kinds:
                        taken = (used3 | kinds, used2) if copies == 3 else (used3, used2 | kinds)
                        nexts.append((index, owed - run, *taken, open3, open2))
                if open3 or open2:
                    held = [kinds for kinds, _, _ in self.order.runs(self.cls, run) if left & kinds == kinds]
                    for broken3, broken2 in _breaking(held, threes & ~used, twos & ~used, open3, open2):
                        left3, left2 = open3 - broken3.bit_count(), open2 - broken2.bit_count()
                        nexts.append((index, owed, used3 | broken3, used2 | broken2, left3, left2))
            for state in nexts:
                if state not in seen:
                    seen.add(state)
                    todo.append(state)


def _breaking(runs: Sequence[int], threes: int, twos: int, open3: int, open2: int) -> Iterator[tuple[int, int]]:
    """
    The ways to spend open choices, *open3* triples and *open2* pairs, so that none of *runs* stays whole.

    Yields faces taken as triples and as pairs; nothing where the choices are too few.
    """
    if not runs:
        yield 0, 0
        return
    apart, taken = 0, 0
    for run in runs:
        if not run & taken:
            apart, taken = apart + 1, taken | run
    if apart > open3 + open2:
        return  # so many runs have no face in common
    rest = runs[0]
    while rest:
        face = rest & -rest
        rest ^= face
        whole = [run for run in runs if not run & face]
        if open3 and threes & face:
            for broken3, broken2 in _breaking(whole, threes, twos, open3 - 1, open2):
                yield broken3 | face, broken2
        if open2 and twos & face:
            for broken3, broken2 in _breaking(whole, threes, twos, open3, open2 - 1):
                yield broken3, broken2 | face


def demands_of(order: Order, lead: Shape, held: int, *, every_run: bool = False) -> Demands:
    """
    What the hand *held*, more cards of the led class than were led, owes to *lead*.

    Where all triples, or all pairs, must be played anyhow, runs ask for nothing more and are left out, unless
    *every_run* asks for them all the same.
    """
    threes = triples(held) if order.ruleset.triples else 0
    twos = doubles(held)
    owed3 = lead.triple_count + sum(length for copies, length in lead.runs if copies == 3)
    owed2 = lead.pair_count + sum(length for copies, length in lead.runs if copies == 2)
    have3 = min(owed3, threes.bit_count())
    missing = owed3 - have3
    have2 = min(missing + owed2, twos.bit_count() - have3)
    steps: tuple[_Step, ...] = ()
    if lead.runs:
        if 0 < have3 < threes.bit_count() + every_run and longest_run(order, lead.cls, threes) > 1:
            steps += tuple(run for run in lead.runs if run[0] == 3)
        if have3 + have2 < twos.bit_count() + every_run and longest_run(order, lead.cls, twos) > 1:
            tractors = tuple(run for run in lead.runs if run[0] == 2)
            if tractors:
                steps += ((3, 1),) * (have3 if not steps else lead.triple_count)
                steps += ((2, 1),) * missing + tractors
    spent = threes if have3 == threes.bit_count() and not every_run else 0
    return Demands(order, lead.cls, held, have3, have2, steps, spent)
