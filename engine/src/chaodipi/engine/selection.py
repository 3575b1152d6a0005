"""
All selections of so many cards out of a hand that meet certain needs: counted, listed, and the least of them.

Faces are decided one after another. What is left of the needs after some faces decides what may follow, so selections
with the same rest are counted together, and no branch is entered that leads to none.
"""

from collections.abc import Iterator, Sequence

from chaodipi.engine.cards import Card
from chaodipi.engine.demands import Need
from chaodipi.engine.multiset import doubles, kinds_of, size, triples

__all__ = ["Selections"]

_WIDTH = 64
"""Bits of one coefficient; no count of selections out of 39 cards is as large."""
_MOST = 64
"""More cards than a hand holds."""
_DOUBLE = _WIDTH * _MOST

_Rest = frozenset[tuple[int, int]]
"""What is left of the needs: cards and triples, as in :class:`~chaodipi.engine.demands.Need`."""
_MET: _Rest = frozenset({(0, 0)})


class Selections:
    """
    Selections of *count* cards of *held* with *least_doubles* faces twice or more, that meet one of *needs*.

    Args:
        faces: The faces of *held*, in the order in which they are decided.
    """

    def __init__(self, held: int, faces: Sequence[Card], count: int, least_doubles: int, needs: Sequence[Need]) -> None:
        self._faces = tuple(faces)
        self._count = count
        self._doubles = least_doubles
        self._needs: _Rest = _MET if (0, 0) in needs else frozenset(needs)
        self._shifts = [kinds_of([face]).bit_length() - 1 for face in self._faces]
        self._held = [held >> shift & 3 for shift in self._shifts]
        after = [held]
        for shift in self._shifts:
            after.append(after[-1] & ~(15 << shift))
        self._after = [(size(rest), doubles(rest), triples(rest)) for rest in after]
        """Cards, pairs and triples among the faces that are not decided yet."""

    def __iter__(self) -> Iterator[tuple[Card, ...]]:
        """Each selection once, many copies of the first faces first."""
        return self._extend(0, self._count, self._doubles, self._needs)

    def _extend(self, index: int, left: int, owed: int, needs: _Rest) -> Iterator[tuple[Card, ...]]:
        if not left:
            yield ()
            return
        for taken in range(min(self._held[index], left), -1, -1):
            state = (index + 1, left - taken, owed - (taken > 1), self._decide(index, taken, needs))
            if self._possible(*state):
                for rest in self._extend(*state):
                    yield (self._faces[index],) * taken + rest

    def first(self) -> tuple[Card, ...]:
        """The first selection of the iteration: as many copies as possible of each face in turn."""
        return next(iter(self))

    def _decide(self, index: int, taken: int, needs: _Rest) -> _Rest:
        """What is left of *needs* once *taken* copies of a face are in the selection."""
        if needs is _MET:
            return _MET
        shift = self._shifts[index]
        found: set[tuple[int, int]] = set()
        for cards, more in needs:
            needed = cards >> shift & 3
            if needed > taken:
                continue
            if needed:
                cards ^= needed << shift
            elif more and taken == 3:
                more -= 1
            if not cards and not more:
                return _MET
            found.add((cards, more))
        return frozenset(found)

    def _possible(self, index: int, left: int, owed: int, needs: _Rest) -> bool:
        """Whether *left* cards of the faces from *index* on can have *owed* pairs and meet one of *needs*."""
        cards_left, twos, threes = self._after[index]
        if left > cards_left:
            return False
        for cards, more in needs:
            named = doubles(cards)
            pairs = max(0, owed - named.bit_count() - more)
            if (
                size(cards) + 3 * more + 2 * pairs <= left
                and (not more or more <= (threes & ~named).bit_count())
                and more + pairs <= (twos & ~named).bit_count()
            ):
                return True
        return False

    def count(self) -> int:
        """
        Number of selections, copies not told apart.

        One integer holds, in fields of 64 bits, the number of selections for each number of cards and pairs.
        """
        free = [1]
        for held in reversed(self._held):
            free.append(sum(free[-1] << _place(taken) for taken in range(held + 1)))
        free.reverse()
        known: dict[tuple[int, _Rest], int] = {}

        def ways(index: int, needs: _Rest) -> int:
            if needs is _MET:
                return free[index]
            if not needs or index == len(self._faces):
                return 0
            found = known.get((index, needs))
            if found is None:
                # None and one copy leave the same.
                rest = ways(index + 1, self._decide(index, 0, needs))
                found = rest + (rest << _place(1))
                for taken in range(2, self._held[index] + 1):
                    found += ways(index + 1, self._decide(index, taken, needs)) << _place(taken)
                known[index, needs] = found
            return found

        total = ways(0, self._needs) >> self._count * _WIDTH
        return sum(
            total >> pairs * _DOUBLE & (1 << _WIDTH) - 1 for pairs in range(max(0, self._doubles), len(self._faces) + 1)
        )


def _place(taken: int) -> int:
    return taken * _WIDTH + (taken > 1) * _DOUBLE
