"""What can go wrong in the engine, and whose fault it is.

::

    EngineError
    ├── RuleError       an action the rules refuse; the player's breach. Carries reason, clauses, satisfying cards
    ├── MalformedError  data that is no question at all: unknown card, level, key; the sender's mistake
    └── RulesetError    a ruleset value that does not exist or does not fit the others; the organiser's mistake

Any other exception out of the engine is a bug of ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaodipi.engine.cards import Card

__all__ = ["EngineError", "MalformedError", "RuleError", "RulesetError"]


class EngineError(ValueError):
    """Base of all errors that the engine raises on purpose. ``reason`` is stable, the text is not."""

    reason: str

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class RuleError(EngineError):
    """
    The rules refuse this action in this state; nothing changed.

    Attributes:
        reason: A stable name of the protocol, see :mod:`chaodipi.engine.reasons`.
        clauses: Ids of the clauses that the action breaks, at least one.
        satisfying: One set of cards that would have satisfied the rule, empty where none is named.
    """

    def __init__(self, reason: str, message: str, clauses: Sequence[str], satisfying: Sequence[Card] = ()) -> None:
        super().__init__(reason, message)
        self.clauses = tuple(clauses)
        self.satisfying = tuple(satisfying)


class MalformedError(EngineError):
    """The data cannot be read as an action or a question; ``field`` names the part."""

    def __init__(self, reason: str, message: str, field: str) -> None:
        super().__init__(reason, message)
        self.field = field


class RulesetError(EngineError):
    """An unknown key, a value that is not allowed, or a combination that cannot be played."""

    def __init__(self, message: str, key: str) -> None:
        super().__init__("RULESET_INVALID", message)
        self.key = key
