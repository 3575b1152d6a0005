"""What a set of cards of one class is made of: singles, pairs, tractors, 510K (牌型).

Rules: annex F4 to F6; S1-83 to S1-93, S2b-12 to S2b-15; Q14, Q17, Q58, Q62, Q116, Q131, Q132.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from chaodipi.engine.cards import HEART_FIVE, Card, Rank, Suit
from chaodipi.engine.multiset import doubles, faces, kinds_of, pack, triples, unpack
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
    """
    The class of a set of cards and its components, biggest kind first.

    What follows from the components is worked out once, because every play of a trick asks for it.

    Attributes:
        is_throw: Several components led together (甩牌).
        k510: ``510k`` or ``double_510k`` if the whole set is that pattern, else None.
        runs: (copies, length) of the tractors: triple tractors first, the longest of each kind first.
        triple_count: Triples outside triple tractors.
        pair_count: Pairs outside tractors; a double 510K counts as three (F8.3).
    """

    cls: Suit
    components: tuple[Component, ...]
    is_throw: bool = field(init=False, compare=False, repr=False)
    k510: str | None = field(init=False, compare=False, repr=False)
    runs: tuple[tuple[int, int], ...] = field(init=False, compare=False, repr=False)
    triple_count: int = field(init=False, compare=False, repr=False)
    pair_count: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        parts = self.components
        first = parts[0].kind
        runs = [(part.copies, part.length) for part in parts if part.length > 1]
        pairs = 3 if first == "double_510k" else sum([part.kind == "pair" for part in parts])
        put = object.__setattr__
        put(self, "is_throw", len(parts) > 1)
        put(self, "k510", first if first in ("510k", "double_510k") else None)
        put(self, "runs", tuple(sorted(runs, reverse=True)))
        put(self, "triple_count", sum([part.kind == "triple" for part in parts]))
        put(self, "pair_count", pairs)


_KINDS = {1: ("single", "single"), 2: ("pair", "tractor"), 3: ("triple", "triple_tractor")}


def runs_of(
    order: Order, cls: Suit, available: Collection[Card], length: int
) -> Iterator[tuple[int, tuple[Card, ...]]]:
    """
    Yield ``(size, cards)`` of every run of exactly *length* neighbouring places that *available*
    fills, one card a place, highest places first; a run may be part of a longer one.
    """
    kinds = kinds_of(available)
    for run in order.runs(cls, length):
        if kinds & run.kinds == run.kinds:
            yield run.size, run.cards


def longest_run(order: Order, cls: Suit, kinds: int) -> int:
    """Number of places of the longest run that *kinds* fill; 0 or 1 means no tractor."""
    most = kinds.bit_count()
    length = min(most, 1)
    while length < most and any(kinds & run.kinds == run.kinds for run in order.runs(cls, length + 1)):
        length += 1
    return length


def decompose(order: Order, cls: Suit, cards: Iterable[Card]) -> tuple[Component, ...]:
    """
    The components of *cards*, all of class *cls* (F6): longest tractors, then pairs, then singles;
    where triples are a pattern, triple tractors and triples before them.
    """
    left = pack(cards)
    parts: list[Component] = []
    if doubles(left):
        for copies in (3, 2) if order.ruleset.triples else (2,):
            left = _take_alike(order, cls, left, copies, parts)
    for card in order.sort(unpack(left)):
        parts.append(_component(order, (card,), 1, order.strength(card)))
    return tuple(parts)


def _take_alike(order: Order, cls: Suit, left: int, copies: int, parts: list[Component]) -> int:
    """Take the tractors of *copies* identical cards out of *left*, then what else is alike; what remains."""
    while True:
        kinds = triples(left) if copies == 3 else doubles(left)
        length = longest_run(order, cls, kinds)
        if length < 2:
            break
        # Ties go to the higher top, then to the lower suit (Q131): the first best in C D H S order.
        held = [run for run in order.runs(cls, length) if kinds & run.kinds == run.kinds]
        best = min(held, key=lambda run: (-run.size, run.cards))
        parts.append(_component(order, best.cards, copies, best.size))
        left -= best.kinds * copies
    for card in order.sort(faces(kinds)):
        parts.append(_component(order, (card,), copies, order.strength(card)))
    return left - kinds * copies


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
    return _shape(order, tuple(cards))


@lru_cache(maxsize=512)
def _shape(order: Order, cards: tuple[Card, ...]) -> Shape | None:
    # Remembered, because one lead is asked for by its check, by three followers and by the winner.
    pattern = _pattern_510k(order, cards)
    if pattern is not None:
        return pattern
    cls = order.class_of(cards[0])
    if cards.count(cards[0]) == len(cards) <= (3 if order.ruleset.triples else 2):
        strength = order.strength(cards[0])
        return Shape(cls, (_component(order, cards[:1], len(cards), strength),))
    if pack(cards) & ~order.fields[cls]:
        return None
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
