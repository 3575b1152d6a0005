"""What a seat may do: show cards, bury, play, or pass. Values only; legality is elsewhere."""

from dataclasses import dataclass
from enum import IntEnum

from chaodipi.engine.cards import Card, Suit

__all__ = ["Action", "ActionKind", "Bury", "Pass", "Play", "Show"]


class ActionKind(IntEnum):
    """Kinds of action, as listed in a decision request; the numbers are the wire's."""

    SHOW = 1
    BURY = 2
    PLAY = 3
    PASS = 4


@dataclass(frozen=True, slots=True)
class Show:
    """
    Show cards to declare (亮主), overcall (反主), self-protect (自保) or stir (炒底).

    Attributes:
        cards: All cards of the showing; one that completes an earlier showing lists all its cards.
        named: The trump, where the cards leave a choice (heart-five pair, four or three jokers).
        looking_back: Use the pair as looking back (回头望), not at its ordinary rung.
    """

    cards: tuple[Card, ...]
    named: Suit | None = None
    looking_back: bool = False
    kind = ActionKind.SHOW


@dataclass(frozen=True, slots=True)
class Bury:
    """Lay *cards* down as the bottom (扣底); as many as the ruleset's bottom has."""

    cards: tuple[Card, ...]
    kind = ActionKind.BURY


@dataclass(frozen=True, slots=True)
class Play:
    """Contribute *cards* to the trick: a lead or a follow."""

    cards: tuple[Card, ...]
    kind = ActionKind.PLAY


@dataclass(frozen=True, slots=True)
class Pass:
    """Show nothing now."""

    kind = ActionKind.PASS


Action = Show | Bury | Play | Pass
