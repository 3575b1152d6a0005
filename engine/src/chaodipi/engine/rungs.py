"""The ladder: what a set of shown cards is worth, and which trump it names.

Pure functions of ruleset, level and cards; who may show when is in :mod:`chaodipi.engine.showing`.
"""

from collections.abc import Sequence
from functools import lru_cache

from chaodipi.engine.cards import HEART_FIVE, Card, Rank, Suit
from chaodipi.engine.errors import RuleError
from chaodipi.engine.ruleset import Ruleset

__all__ = ["LOOKING_BACK", "is_higher", "leaves_trump_open", "read_showing", "rung_index", "turned_card"]

LOOKING_BACK = "looking_back"
_FREE = frozenset({"H5", "three_jokers", "four_jokers"})
"""Rungs whose cards leave the trump open (Q28)."""


def leaves_trump_open(rung: str) -> bool:
    """Whether the trump is named with cards of *rung*, because they do not fix it."""
    return rung in _FREE


def read_showing(
    ruleset: Ruleset, level: Rank | None, cards: Sequence[Card], named: Suit | None, looking_back: bool
) -> tuple[str, Suit]:
    """
    The rung (an entry of ``ruleset.ladder``) and the trump that *cards* name (S0-16 to S0-19, Q7, Q127).

    Raises:
        RuleError: the player's: ``NOT_A_SHOWING``, ``LOOKING_BACK_NOT_ALLOWED`` (not on this ladder),
            ``NAMED_TRUMP_MISSING`` or ``NAMED_TRUMP_NOT_ALLOWED``.
    """
    rung = _rung(ruleset, level, tuple(sorted(cards)))
    if looking_back:
        if LOOKING_BACK not in ruleset.ladder:
            raise RuleError("LOOKING_BACK_NOT_ALLOWED", "looking back is not on this ladder", ("S0-47", "Q27"))
        if len(cards) != 2 or cards[0] != cards[1] or not _is_level(cards[0], level):
            raise RuleError(
                "LOOKING_BACK_NOT_ALLOWED", "looking back shows both copies of a level card", ("S0-32", "Q27")
            )
        rung = LOOKING_BACK
    if rung is None or rung not in ruleset.ladder:
        raise RuleError(
            "NOT_A_SHOWING", "no level card, pair or jokers that this ladder knows", ("S0-12", "S0-33", "Q20")
        )
    if rung in _FREE:
        if named is None:
            raise RuleError(
                "NAMED_TRUMP_MISSING", "these cards leave the trump open: name it", ("S0-19", "Q28", "Q127")
            )
        return rung, named
    if named is not None:
        raise RuleError("NAMED_TRUMP_NOT_ALLOWED", "these cards fix the trump", ("S0-16", "S0-17", "Q28"))
    return rung, cards[0].suit


def _is_level(card: Card, level: Rank | None) -> bool:
    return card.rank == level and not card.is_joker


def _rung(ruleset: Ruleset, level: Rank | None, cards: tuple[Card, ...]) -> str | None:
    """The ordinary rung of sorted *cards*, or None; it may be one that the ladder lacks."""
    if not cards:
        return None
    first, count = cards[0], len(cards)
    if first.is_joker:
        if first == cards[-1]:
            return {2: first.text, 3: f"{first.text}3"}.get(count) if _two_or_three(ruleset, count) else "three_jokers"
        return {2: "both_jokers", 3: "three_jokers", 4: "four_jokers"}.get(count) if cards[-1].is_joker else None
    if first != cards[-1]:
        return None
    if first == HEART_FIVE and ruleset.heart_five == "top" and count == 2:
        return "H5"
    if not _is_level(first, level):
        return None
    letter = first.suit.letter
    return {1: "single", 2: letter, 3: f"{letter}3"}.get(count)


def _two_or_three(ruleset: Ruleset, count: int) -> bool:
    """Three equal jokers are a triple rung where the ladder has one, else three jokers of any kind."""
    return count != 3 or "bj3" in ruleset.ladder


@lru_cache(maxsize=64)
def _indices(ladder: tuple[str, ...]) -> dict[str, int]:
    return {rung: index for index, rung in enumerate(ladder)}


def rung_index(ruleset: Ruleset, rung: str) -> int:
    """Height of *rung* on the ladder, 0 the lowest."""
    return _indices(ruleset.ladder)[rung]


def is_higher(ruleset: Ruleset, rung: str, standing: str) -> bool:
    """Whether *rung* beats *standing*: strictly higher only (Q21)."""
    return rung_index(ruleset, rung) > rung_index(ruleset, standing)


def turned_card(bottom: Sequence[Card], level: Rank | None, *, jokers: bool) -> tuple[int, int]:
    """
    Which card of a turned *bottom* decides the trump, counted from 0, and how many are turned for it.

    The first level card, where *jokers* count the first level card or joker (S0-06, S4-33); else
    the highest face, jokers left out, the earliest of equals, after all were turned (S4-34, Q25,
    Q112). The heart five is an ordinary five here.
    """
    for index, card in enumerate(bottom):
        if _is_level(card, level) or (jokers and card.is_joker):
            return index, index + 1
    faces = [0 if card.is_joker else int(card.rank) for card in bottom]
    return faces.index(max(faces)), len(bottom)
