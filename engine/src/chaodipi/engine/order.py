"""The order of the cards under one level and trump: class, strength, and which pairs are neighbours.

An :class:`Order` is made once a deal (and once more after each stir) and answers from tables.

*Class* is a card's effective suit: one of the four suits, or ``Suit.NO_TRUMP`` for the trumps.
*Strength* compares cards of one class. A *track* is a row of slots, high to low; pairs in
neighbouring slots of one track form tractors. A slot holds the cards that may stand there (all
other level cards share one); an empty slot is a gap that no tractor crosses.

Rules: annex F1, F2, F4, F5; S0-18, S2b-08 to S2b-15, S1-83 to S1-91, S4-47, S4-48.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from chaodipi.engine.cards import HEART_FIVE, SUITS, Card, Rank, Suit
from chaodipi.engine.multiset import fields_of, kinds_of
from chaodipi.engine.ruleset import Ruleset

__all__ = ["TRUMPS", "Order", "Run", "Slot", "order_for"]

TRUMPS = Suit.NO_TRUMP
"""The class of the trumps, whatever the trump suit is."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One place of a track: the cards that may stand here, and the tractor's size when it leads."""

    cards: tuple[Card, ...]
    size: int


Track = tuple[Slot, ...]


class Run(NamedTuple):
    """Neighbouring places of one track with one card on each: what a tractor may be made of."""

    kinds: int
    """Its faces, as :mod:`chaodipi.engine.multiset` writes them."""
    size: int
    """What a tractor of these cards is compared by (F5)."""
    cards: tuple[Card, ...]
    """Highest place first."""


class Order:
    """
    The order of all cards for *ruleset* at *level* with *trump*.

    Args:
        level: The deal's level, or None in a deal without one (flag deal).
        trump: The trump suit, NO_TRUMP for no trump.
    """

    def __init__(self, ruleset: Ruleset, level: Rank | None, trump: Suit) -> None:
        self.ruleset = ruleset
        self.level = level
        self.trump = trump
        self._classes = {card: self._class_of(card) for card in Card}
        self._strengths = {card: self._strength_of(card) for card in Card}
        self._keys = {card: self._key_of(card) for card in Card}
        members = {cls: [card for card in Card if self._classes[card] == cls] for cls in (*SUITS, TRUMPS)}
        self.fields = {cls: fields_of(cards) for cls, cards in members.items()}
        """Mask of each class: ``packed & fields[cls]`` are the cards of that class."""
        self.above = {
            card: fields_of(other for other in members[self._classes[card]] if self._strengths[other] > strength)
            for card, strength in self._strengths.items()
        }
        """Mask of the cards of a card's class that are stronger than it."""
        self.beaten_by = {
            card: above if self._classes[card] == TRUMPS else above | self.fields[TRUMPS]
            for card, above in self.above.items()
        }
        """Mask of the cards that take a trick from a card: stronger ones of its class, and trumps."""
        self._runs: dict[tuple[Suit, int], tuple[Run, ...]] = {}
        self.tracks: dict[Suit, tuple[Track, ...]] = {cls: self._tracks_of(cls) for cls in (*SUITS, TRUMPS)}

    def class_of(self, card: Card) -> Suit:
        """The card's class: its printed suit, or :data:`TRUMPS`."""
        return self._classes[card]

    def strength(self, card: Card) -> int:
        """Strength inside the card's class, 2…100; equal strengths: the first played is higher."""
        return self._strengths[card]

    def is_trump(self, card: Card) -> bool:
        return self._classes[card] == TRUMPS

    def sort(self, cards: Iterable[Card]) -> tuple[Card, ...]:
        """*cards*, trumps first, then C D H S; in a class the strongest first, equals C D H S."""
        return tuple(sorted(cards, key=self._keys.__getitem__))

    def sort_key(self, card: Card) -> tuple[int, int, int]:
        """What :meth:`sort` sorts by."""
        return self._keys[card]

    def of_class(self, cards: Iterable[Card], cls: Suit) -> list[Card]:
        """Those of *cards* that belong to class *cls*, in the order given."""
        classes = self._classes
        return [card for card in cards if classes[card] == cls]

    def runs(self, cls: Suit, length: int) -> tuple[Run, ...]:
        """Every run of exactly *length* places in class *cls*, the highest of each track first."""
        runs = self._runs.get((cls, length))
        if runs is None:
            runs = self._runs[cls, length] = tuple(self._runs_of(cls, length))
        return runs

    def pairs_of(self, cards: Iterable[Card], copies: int = 2) -> frozenset[Card]:
        """Cards of which *cards* hold at least *copies* identical copies (F3)."""
        return frozenset(card for card, count in Counter(cards).items() if count >= copies)

    def _runs_of(self, cls: Suit, length: int) -> Iterator[Run]:
        for track in self.tracks[cls]:
            for start in range(len(track) - length + 1):
                for cards in product(*(slot.cards for slot in track[start : start + length])):
                    if len(set(cards)) == length:  # no ace both high and low (S1-87)
                        yield Run(kinds_of(cards), track[start].size, cards)

    # -- tables ------------------------------------------------------------------------------------

    def _key_of(self, card: Card) -> tuple[int, int, int]:
        cls = self._classes[card]
        return (0 if cls == TRUMPS else int(cls), -self._strengths[card], int(card))

    def _class_of(self, card: Card) -> Suit:
        r = self.ruleset
        if card.is_joker or card.suit == self.trump:
            return TRUMPS
        if r.heart_five == "top" and card == HEART_FIVE:
            return TRUMPS
        if self.level is not None and card.rank == self.level:
            return TRUMPS
        if r.two_permanent and card.rank == Rank.TWO:
            return TRUMPS
        return card.suit

    def _strength_of(self, card: Card) -> int:
        r = self.ruleset
        if r.heart_five == "top" and card == HEART_FIVE:
            return 100
        if card.is_joker:
            return 99 if card == Card.BIG_JOKER else 98
        if self.level is not None and card.rank == self.level:
            return 97 if card.suit == self.trump else 96
        if r.two_permanent and card.rank == Rank.TWO:
            return 95 if card.suit == self.trump else 94
        return card.rank

    def _tracks_of(self, cls: Suit) -> tuple[Track, ...]:
        members = [card for card in Card if self._classes[card] == cls and not self._is_top_heart(card)]
        if self.ruleset.adjacency == "order":
            return (self._by_strength(members),)
        if self.ruleset.adjacency == "unique":
            return self._unique_tracks(cls, members)
        return self._face_tracks(cls, set(members))

    def _is_top_heart(self, card: Card) -> bool:
        # The heart-five pair never stands in a tractor (S1-85).
        return self.ruleset.heart_five == "top" and card == HEART_FIVE

    def _by_strength(self, members: Sequence[Card]) -> Track:
        strengths = sorted({self._strengths[card] for card in members}, reverse=True)
        return tuple(Slot(tuple(card for card in members if self._strengths[card] == s), s) for s in strengths)

    def _unique_tracks(self, cls: Suit, members: Sequence[Card]) -> tuple[Track, ...]:
        # A step counts only if exactly one pair can stand on it (Q15): jokers, main level; faces.
        faces = self._by_strength([card for card in members if self._strengths[card] <= Rank.ACE])
        if cls != TRUMPS:
            return (faces,)
        high = self._by_strength([card for card in members if self._strengths[card] >= 97])
        return (high, faces)

    def _face_tracks(self, cls: Suit, members: set[Card]) -> tuple[Track, ...]:
        tracks: list[Track] = []
        if cls == TRUMPS:
            tracks.append((Slot((Card.BIG_JOKER,), 16), Slot((Card.SMALL_JOKER,), 15)))
            if self.trump == Suit.NO_TRUMP:
                return tuple(tracks)
        suit = self.trump if cls == TRUMPS else cls
        closes = self.ruleset.level_gap == "all" or (self.ruleset.level_gap == "side" and cls != TRUMPS)
        slots: list[Slot] = []
        lowest = 1 if self.ruleset.ace_low else 2
        for place in range(Rank.ACE, lowest - 1, -1):
            card = Card.of(suit, place if place > 1 else Rank.ACE)
            if card in members:
                slots.append(Slot((card,), place))
            elif not (closes and card.rank == self.level):
                slots.append(Slot((), place))
        tracks.append(tuple(slots))
        return tuple(tracks)


@lru_cache(maxsize=4096)
def order_for(ruleset: Ruleset, level: Rank | None, trump: Suit) -> Order:
    """The :class:`Order` of these values, made once."""
    return Order(ruleset, level, trump)
