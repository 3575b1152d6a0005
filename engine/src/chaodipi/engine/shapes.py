"""What a set of cards of one class is made of: singles, pairs, tractors, 510K (牌型).

Rules: annex F4 to F6; S1-83 to S1-93, S2b-12 to S2b-15; Q14, Q58, Q62, Q116, Q131, Q132.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from chaodipi.engine.cards import HEART_FIVE, Card, Rank, Suit
from chaodipi.engine.order import TRUMPS, Order

__all__ = ["Component", "Shape", "decompose", "longest_run", "runs_of", "shape_of", "take_510k"]


@dataclass(frozen=True, slots=True)
class Component:
    """
    One part of a play.

    Attributes:
        kind: single, pair, triple, tractor, triple_tractor, 510k or double_510k.
        cards: Its cards, strongest first.
        copies: Identical copies of each card, 1…3 (1 for a 510K, 2 for a double).
        length: Pairs or triples of a tractor, else 1.
        top: Strength of the card that leads it (Q130); compares components of a throw.
        size: What a tractor is compared by (F5); else equal to *top*.
    """

    kind: str
    cards: tuple[Card, ...]
    copies: int
    length: int
    top: int
    size: int


@dataclass(frozen=True, slots=True)
class Shape:
    """The class of a set of cards and its components, biggest kind first."""

    cls: Suit
    components: tuple[Component, ...]

    @property
    def is_throw(self) -> bool:
        """Several components led together (甩牌)."""
        return len(self.components) > 1

    @property
    def k510(self) -> str | None:
        """``510k`` or ``double_510k`` if the whole set is that pattern, else None."""
        kind = self.components[0].kind
        return kind if kind in ("510k", "double_510k") else None

    def tractors(self) -> list[int]:
        """Lengths of the led pair tractors, longest first."""
        return sorted((c.length for c in self.components if c.kind == "tractor"), reverse=True)

    def pair_count(self) -> int:
        """Pairs outside tractors; a double 510K counts as three (F8.3)."""
        return sum(1 if c.kind == "pair" else 3 if c.kind == "double_510k" else 0 for c in self.components)


_KINDS = {1: ("single", "single"), 2: ("pair", "tractor"), 3: ("triple", "triple_tractor")}


def runs_of(
    order: Order, cls: Suit, available: Collection[Card], length: int
) -> Iterator[tuple[int, tuple[Card, ...]]]:
    """
    Yield ``(size, cards)`` of every run of exactly *length* neighbouring places that *available*
    fills, one card a place, highest places first; a run may be part of a longer one.
    """
    for track in order.tracks[cls]:
        filled = [tuple(card for card in slot.cards if card in available) for slot in track]
        for start in range(len(track) - length + 1):
            window = filled[start : start + length]
            if all(window):
                for cards in product(*window):
                    if len(set(cards)) == length:  # no ace both high and low (S1-87)
                        yield track[start].size, cards


def longest_run(order: Order, cls: Suit, available: Collection[Card]) -> int:
    """Number of places of the longest run that *available* fills; 0 or 1 means no tractor."""
    if len(available) < 2:
        return len(available)
    best = 0
    for track in order.tracks[cls]:
        run: list[Card] = []
        for slot in track:
            cards = [card for card in slot.cards if card in available and card not in run]
            run = [*run, cards[0]] if cards else []
            best = max(best, len(run))
    return best


def decompose(order: Order, cls: Suit, cards: Iterable[Card]) -> tuple[Component, ...]:
    """The components of *cards*, all of class *cls*: longest tractors, then pairs, then singles (F6)."""
    counts = Counter(cards)
    parts: list[Component] = []
    for copies in (3, 2) if order.ruleset.triples else (2,):
        while True:
            available = {card for card, count in counts.items() if count >= copies}
            if not available:
                break
            length = longest_run(order, cls, available)
            if length < 2:
                break
            # Ties go to the higher top, then to the lower suit (Q131): the first best in C D H S order.
            size, run = min(runs_of(order, cls, available, length), key=lambda r: (-r[0], [int(c) for c in r[1]]))
            parts.append(_component(order, run, copies, size))
            for card in run:
                counts[card] -= copies
        for card in order.sort(available):
            parts.append(_component(order, (card,), copies, order.strength(card)))
            counts[card] -= copies
    for card in order.sort(counts.elements()):
        parts.append(_component(order, (card,), 1, order.strength(card)))
    return tuple(parts)


def _component(order: Order, run: Sequence[Card], copies: int, size: int) -> Component:
    kind = _KINDS[copies][len(run) > 1]
    cards = tuple(card for card in run for _ in range(copies))
    return Component(kind, cards, copies, len(run), order.strength(run[0]), size)


def shape_of(order: Order, cards: Sequence[Card]) -> Shape | None:
    """
    The shape of *cards* (at least one), or None if they are of several classes.

    A 5, 10, K of one suit and class, or two of each, are one component where the ruleset plays
    510K; so is the heart five with side heart 10 and K where that is allowed (Q62, Q132).
    """
    pattern = _pattern_510k(order, cards)
    if pattern is not None:
        return pattern
    classes = {order.class_of(card) for card in cards}
    if len(classes) != 1:
        return None
    cls = classes.pop()
    return Shape(cls, decompose(order, cls, cards))


def _pattern_510k(order: Order, cards: Sequence[Card]) -> Shape | None:
    if not order.ruleset.k510 or len(cards) not in (3, 6):
        return None
    counts = Counter(cards)
    suit = cards[0].suit
    copies = len(cards) // 3
    if suit == Suit.NO_TRUMP or counts != Counter(dict.fromkeys(_510k(suit), copies)):
        return None
    classes = {order.class_of(card) for card in counts}
    if len(classes) == 1:
        cls = classes.pop()
    elif (
        order.ruleset.heart_510k_side
        and suit == Suit.HEARTS
        and all(order.class_of(card) == Suit.HEARTS for card in counts if card != HEART_FIVE)
    ):
        cls = Suit.HEARTS
    else:
        return None
    kind = "510k" if copies == 1 else "double_510k"
    ordered = order.sort(cards)
    top = max(order.strength(card) for card in cards)
    return Shape(cls, (Component(kind, ordered, copies, 1, top, top),))


def _510k(suit: Suit) -> tuple[Card, Card, Card]:
    return (Card.of(suit, Rank.FIVE), Card.of(suit, Rank.TEN), Card.of(suit, Rank.KING))


def class_510k(order: Order, cls: Suit) -> tuple[Card, Card, Card] | None:
    """The 5, 10, K that form a 510K of class *cls*, or None where there is none (Q58, Q61)."""
    suit = order.trump if cls == TRUMPS else cls
    if not order.ruleset.k510 or suit == Suit.NO_TRUMP:
        return None
    cards = _510k(suit)
    return cards if all(order.class_of(card) == cls for card in cards) else None


def take_510k(order: Order, cls: Suit, cards: Sequence[Card]) -> list[Card] | None:
    """*cards* without one 510K of class *cls*, or None if they hold none or it would use a heart five (Q116.3)."""
    wanted = class_510k(order, cls)
    if wanted is None or (order.ruleset.heart_five == "top" and HEART_FIVE in wanted):
        return None
    rest = list(cards)
    for card in wanted:
        if card not in rest:
            return None
        rest.remove(card)
    return rest
