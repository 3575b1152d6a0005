"""Following: what a follower owes, which plays satisfy it, and all of them as a lazy view.

The obligations of a lead are turned into *demands*: a set of pairs that must be played, and a
number of further pairs, free to choose. A play of the led class is legal if it satisfies one demand.

Rules: annex F8; S1-27 to S1-29, S1-68 to S1-70, S1-94 to S1-97, S2b-30, S2b-31; Q53, Q54, Q59, Q63, Q101.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

from chaodipi.engine.cards import Card
from chaodipi.engine.defaults import default_key
from chaodipi.engine.errors import RuleError
from chaodipi.engine.order import TRUMPS, Order
from chaodipi.engine.shapes import class_510k, longest_run, runs_of, shape_of

__all__ = [
    "ChoiceSet",
    "Follows",
    "Obligation",
    "check_follow",
    "count_multisets",
    "default_follow",
    "legal_follows",
    "multisets",
]


@dataclass(frozen=True, slots=True)
class ChoiceSet:
    """
    A factored set of actions: all of *forced*, *choose_pairs* pairs out of *pair_pool*, and then
    *choose_min* to *choose_max* cards of what is left of *pool* (which holds the pair pool too).
    """

    forced: tuple[Card, ...] = ()
    pair_pool: tuple[Card, ...] = ()
    choose_pairs: int = 0
    pool: tuple[Card, ...] = ()
    choose_min: int = 0
    choose_max: int = 0


@dataclass(frozen=True, slots=True)
class Obligation:
    """
    Something a follower owes: *count* cards of *kind* out of *cards*.

    ``kind`` is suit, pair, tractor, 510k or strongest.
    """

    kind: str
    count: int
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class _Demand:
    """Pairs that must be played, and how many more of the hand's other pairs."""

    pairs: frozenset[Card]
    more: int


class Follows:
    """
    All legal follows to *lead* out of *hand*, computed as far as asked: ``count()``, ``in``,
    iteration (each set once, sorted), ``choice_sets()``.

    Args:
        hand: The follower's cards, at least as many as the lead has.
        lead: The cards led, of one class (or an allowed heart 510K).

    Raises:
        ValueError: a lead of several classes, or a hand shorter than it; the caller's mistake.
    """

    def __init__(self, order: Order, hand: Sequence[Card], lead: Sequence[Card]) -> None:
        shape = shape_of(order, lead)
        if shape is None:
            raise ValueError("the lead has cards of several classes")
        if len(hand) < len(lead):
            raise ValueError(f"a hand of {len(hand)} cards cannot follow {len(lead)}")
        self._order = order
        self._shape = shape
        self._n = len(lead)
        self._hand = order.sort(hand)
        self._suit = tuple(order.of_class(self._hand, shape.cls))
        self._suit_counts = Counter(self._suit)
        self._short = len(self._suit) <= self._n

    @cached_property
    def _pairs(self) -> frozenset[Card]:
        return self._order.pairs_of(self._suit)

    @cached_property
    def _strongest(self) -> tuple[Card, ...] | None:
        """For a trump 510K: the cards of which the n strongest must be played, else None (Q59)."""
        if self._short or self._shape.k510 is None or self._shape.cls != TRUMPS or self._own_510k:
            return None
        return self._suit

    @cached_property
    def _own_510k(self) -> tuple[Card, ...]:
        """The follower's own 510K of the led class, which he must play on a single 510K (Q63), or ()."""
        wanted = class_510k(self._order, self._shape.cls)
        if self._short or self._shape.k510 != "510k" or wanted is None:
            return ()
        return self._order.sort(wanted) if all(card in self._suit_counts for card in wanted) else ()

    @cached_property
    def _demands(self) -> tuple[_Demand, ...]:
        """One of these must be satisfied (F8.2); found by walking all choices of runs."""
        tractors = self._shape.tractors()
        if not tractors:
            return (_Demand(frozenset(), min(self._shape.pair_count(), len(self._pairs))),)
        found: set[tuple[frozenset[Card], int]] = set()
        start = (frozenset[Card](), self._pairs, 0, tractors[0])
        todo, seen = [start], {start}
        while todo:
            taken, left, index, owed = todo.pop()
            run = longest_run(self._order, self._shape.cls, left)
            following = tractors[index + 1 :]
            nexts: list[tuple[frozenset[Card], frozenset[Card], int, int]] = []
            if run < 2 or not (owed or following):
                # No tractor is left: everything still owed is owed in pairs.
                more = owed + sum(following) + self._shape.pair_count()
                found.add((taken, min(more, len(left))))
            elif owed >= 2:
                k = min(run, owed)
                for _, cards in runs_of(self._order, self._shape.cls, left, k):
                    nexts.append((taken | set(cards), left - set(cards), index, owed - k))
            elif not following:
                found.add((taken, min(owed + self._shape.pair_count(), len(left))))
            else:
                # One pair is still owed before the next tractor: any, also out of a run.
                for cards in combinations(sorted(left), owed):
                    nexts.append((taken | set(cards), left - set(cards), index + 1, following[0]))
            for state in nexts:
                if state not in seen:
                    seen.add(state)
                    todo.append(state)
        return tuple(_Demand(pairs, more) for pairs, more in sorted(found, key=lambda d: (sorted(d[0]), d[1])))

    def _satisfied(self, pairs: frozenset[Card]) -> bool:
        return any(d.pairs <= pairs and len(pairs) - len(d.pairs) >= d.more for d in self._demands)

    def check(self, cards: Sequence[Card]) -> None:
        """
        Raise RuleError unless *cards*, all of the hand, are a legal follow; the player's breach.

        The error names what was owed and one set of cards that would have satisfied it.
        """
        if len(cards) != self._n:
            raise self._error("WRONG_CARD_COUNT", f"{self._n} cards were led, {len(cards)} played", ("S1-68",))
        played = Counter(cards)
        in_class = self._order.of_class(cards, self._shape.cls)
        if len(in_class) < min(self._n, len(self._suit)):
            owed = min(self._n, len(self._suit))
            raise self._error("MUST_FOLLOW_SUIT", f"{owed} cards of the led class are owed", ("S1-27", "S1-29"))
        if self._short:
            return
        if self._own_510k:
            if any(card not in played for card in self._own_510k):
                raise self._error(
                    "MUST_PLAY_510K", "the 510K of the led class must be played", ("S1-28", "S1-94", "Q63")
                )
        elif self._strongest is not None:
            strengths = sorted((self._order.strength(card) for card in cards), reverse=True)
            owed_strengths = [self._order.strength(card) for card in self._strongest[: self._n]]
            if strengths != owed_strengths:
                raise self._error("MUST_PLAY_STRONGEST", f"the {self._n} strongest trumps are owed", ("S1-94", "S1-95"))
        elif not self._satisfied(self._order.pairs_of(cards)):
            self._refuse_pairs(self._order.pairs_of(cards))

    def _refuse_pairs(self, pairs: frozenset[Card]) -> None:
        owes_run = any(d.pairs for d in self._demands) and bool(self._shape.tractors())
        enough = any(len(pairs) >= len(d.pairs) + d.more for d in self._demands)
        if owes_run and (enough or not any(d.pairs <= pairs for d in self._demands)):
            raise self._error("MUST_PLAY_TRACTOR", "a tractor of the led class is owed", ("S1-70", "S2b-31"))
        clauses = ("S1-97",) if self._shape.k510 else ("S1-69", "S2b-30")
        raise self._error("MUST_PLAY_PAIR", "pairs of the led class are owed", clauses)

    def _error(self, reason: str, message: str, clauses: tuple[str, ...]) -> RuleError:
        return RuleError(reason, message, clauses, self.first())

    def obligations(self) -> tuple[Obligation, ...]:
        """What is owed, as the player would say it: suit, then tractors, pairs, 510K or the strongest."""
        if self._short:
            return (Obligation("suit", len(self._suit), self._suit),) if self._suit else ()
        owed = [Obligation("suit", self._n, self._suit)]
        if self._own_510k:
            owed.append(Obligation("510k", 3, self._own_510k))
        elif self._strongest is not None:
            weakest = self._order.strength(self._strongest[self._n - 1])
            held = tuple(card for card in self._suit if self._order.strength(card) >= weakest)
            owed.append(Obligation("strongest", self._n, held))
        else:
            owed.extend(self._owed_pairs())
        return tuple(owed)

    def _owed_pairs(self) -> Iterator[Obligation]:
        left = self._pairs
        for length in self._shape.tractors():
            k = min(longest_run(self._order, self._shape.cls, left), length)
            if k >= 2:
                runs = {card for _, run in runs_of(self._order, self._shape.cls, left, k) for card in run}
                yield Obligation("tractor", 2 * k, self._doubled(runs))
                break
        demand = self._demands[0]
        pairs = len(demand.pairs) + demand.more
        if pairs:
            yield Obligation("pair", 2 * pairs, self._doubled(self._pairs))

    def _doubled(self, cards: "frozenset[Card] | set[Card]") -> tuple[Card, ...]:
        return self._order.sort([card for card in cards for _ in range(2)])

    def forced(self) -> tuple[Card, ...]:
        """Cards that every legal follow holds, with their copies."""
        common: Counter[Card] | None = None
        for choice in self.choice_sets():
            at_least = Counter(choice.forced)
            pool = Counter(choice.pool)
            spare = len(choice.pool) - choice.choose_max - 2 * choice.choose_pairs
            every_pair = choice.pair_pool if choice.choose_pairs == len(choice.pair_pool) else ()
            for card, count in pool.items():
                # Even leaving out all that can be left out, some copies remain.
                at_least[card] += max(count - spare, 2 if card in every_pair else 0)
            common = at_least if common is None else common & at_least
        return self._order.sort((common or Counter[Card]()).elements())

    def choice_sets(self) -> tuple[ChoiceSet, ...]:
        """The legal follows in factored form; their union is exactly the legal set."""
        if self._short:
            pool = tuple((Counter(self._hand) - self._suit_counts).elements())
            free = self._n - len(self._suit)
            return (ChoiceSet(self._suit, pool=pool, choose_min=free, choose_max=free),)
        if self._own_510k:
            return (self._choice(self._own_510k, (), 0),)
        if self._strongest is not None:
            weakest = self._order.strength(self._strongest[self._n - 1])
            above = tuple(card for card in self._suit if self._order.strength(card) > weakest)
            equal = tuple(card for card in self._suit if self._order.strength(card) == weakest)
            free = self._n - len(above)
            return (ChoiceSet(above, pool=equal, choose_min=free, choose_max=free),)
        return tuple(
            self._choice(self._doubled(d.pairs), self._order.sort(self._pairs - d.pairs), d.more) for d in self._demands
        )

    def _choice(self, forced: tuple[Card, ...], pair_pool: tuple[Card, ...], pairs: int) -> ChoiceSet:
        pool = self._order.sort((self._suit_counts - Counter(forced)).elements())
        free = self._n - len(forced) - 2 * pairs
        return ChoiceSet(forced, pair_pool if pairs else (), pairs, pool, free, free)

    def __contains__(self, cards: Sequence[Card]) -> bool:
        if Counter(cards) - Counter(self._hand):
            return False
        try:
            self.check(cards)
        except RuleError:
            return False
        return True

    def count(self) -> int:
        """Number of legal follows, copies not told apart; counted, not listed."""
        if self._short or self._own_510k or self._strongest is not None:
            choice = self.choice_sets()[0]
            return count_multisets(choice.pool, choice.choose_min)
        kinds, total = len(self._suit_counts), 0
        for pairs in self._pair_sets():
            total += comb(kinds - len(pairs), self._n - 2 * len(pairs))
        return total

    def _pair_sets(self) -> Iterator[frozenset[Card]]:
        """Sets of pairs that a legal follow may hold, exactly these pairs and no others."""
        ordered = self._order.sort(self._pairs)
        for size in range(self._n // 2, -1, -1):
            for chosen in combinations(ordered, size):
                pairs = frozenset(chosen)
                if self._satisfied(pairs):
                    yield pairs

    def __iter__(self) -> Iterator[tuple[Card, ...]]:
        order = self._order
        if self._short or self._own_510k or self._strongest is not None:
            choice = self.choice_sets()[0]
            for cards in multisets(choice.pool, choice.choose_min):
                yield order.sort(choice.forced + cards)
            return
        for pairs in self._pair_sets():
            singles = [card for card in self._suit_counts if card not in pairs]
            for cards in combinations(singles, self._n - 2 * len(pairs)):
                yield order.sort([*self._doubled(pairs), *cards])

    def first(self) -> tuple[Card, ...]:
        """The first legal follow of the iteration; there always is one."""
        return next(iter(self))

    def __repr__(self) -> str:
        return f"<Follows: {self.count()} legal, e.g. {' '.join(card.text for card in self.first())}>"


def legal_follows(order: Order, hand: Sequence[Card], lead: Sequence[Card]) -> Follows:
    """All legal follows to *lead* out of *hand*, as a lazy view."""
    return Follows(order, hand, lead)


def check_follow(order: Order, hand: Sequence[Card], lead: Sequence[Card], cards: Sequence[Card]) -> None:
    """Raise RuleError unless *cards* of *hand* may follow *lead*; the player's breach."""
    Follows(order, hand, lead).check(cards)


def default_follow(order: Order, hand: Sequence[Card], lead: Sequence[Card]) -> tuple[Card, ...]:
    """
    The lowest legal follow, compared card by card in the order of the host's defaults (Q122).

    Every follower has one; it is what the host plays for a seat that does not answer in time.
    """

    def key(card: Card) -> tuple[bool, bool, int, int]:
        return default_key(order.ruleset, order.level, card)

    best: list[Card] | None = None
    for choice in Follows(order, hand, lead).choice_sets():
        for pairs in combinations(choice.pair_pool, choice.choose_pairs):
            taken = [*choice.forced, *pairs, *pairs]
            rest = sorted((Counter(choice.pool) - Counter([*pairs, *pairs])).elements(), key=key)
            play = sorted([*taken, *rest[: choice.choose_min]], key=key)
            if best is None or [key(card) for card in play] < [key(card) for card in best]:
                best = play
    assert best is not None
    return tuple(best)


def multisets(pool: Sequence[Card], size: int) -> Iterator[tuple[Card, ...]]:
    """Every sub-multiset of *pool* with *size* cards, each once, copies not told apart."""
    counts = list(Counter(pool).items())

    def extend(index: int, left: int) -> Iterator[tuple[Card, ...]]:
        if left == 0:
            yield ()
            return
        if index == len(counts):
            return
        card, held = counts[index]
        for taken in range(min(held, left), -1, -1):
            for rest in extend(index + 1, left - taken):
                yield (card,) * taken + rest

    return extend(0, size)


def count_multisets(pool: Sequence[Card], size: int) -> int:
    """Number of sub-multisets of *pool* with *size* cards."""
    ways = [1] + [0] * size
    for held in Counter(pool).values():
        ways = [sum(ways[total - taken] for taken in range(min(held, total) + 1)) for total in range(size + 1)]
    return ways[size]
