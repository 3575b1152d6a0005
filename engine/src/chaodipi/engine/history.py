"""What a view remembers of a deal: showings, what was played to tricks, and throws that failed."""

from dataclasses import dataclass

from chaodipi.engine.cards import Card, Seat, Suit
from chaodipi.engine.events import Phase, ShowKind
from chaodipi.engine.rungs import leaves_trump_open

__all__ = ["Attempt", "Contribution", "Showing", "Trick"]


@dataclass(frozen=True, slots=True)
class Showing:
    """
    One showing of the deal, oldest first in ``View.shown``.

    ``rung`` and ``trump`` are None, ``cards`` empty, where it is hidden from the viewer.
    ``phase`` is DECLARE or STIR, FOLLOW for a stir during the first trick.
    """

    seat: Seat
    kind: ShowKind
    cards: tuple[Card, ...]
    rung: str | None
    trump: Suit | None
    phase: Phase

    @property
    def named(self) -> Suit | None:
        """The trump that was named with the cards; None where they fix it, or are hidden."""
        return self.trump if self.rung is not None and leaves_trump_open(self.rung) else None


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one seat played to a trick."""

    seat: Seat
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class Trick:
    """A finished trick: four contributions, the leader's first."""

    plays: tuple[Contribution, ...]
    winner: Seat
    points: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """A failed throw: all cards that *seat* meant to lead in trick *trick* (0 the first)."""

    trick: int
    seat: Seat
    cards: tuple[Card, ...]
