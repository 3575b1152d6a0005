"""Following: what a follower owes, which plays satisfy it, and all of them as a lazy view.

The obligations of a lead become :class:`~chaodipi.engine.demands.Demands`: so many triples and pairs, and runs where
tractors were led. A play of the led class is legal if it meets them.

Rules: annex F8; S1-27 to S1-29, S1-68 to S1-70, S1-94 to S1-97, S2b-30, S2b-31; Q53, Q54, Q59, Q63, Q101, Q117.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from chaodipi.engine.cards import Card
from chaodipi.engine.defaults import default_key
from chaodipi.engine.demands import Demands, Need, demands_of
from chaodipi.engine.errors import RuleError
from chaodipi.engine.multiset import doubles, faces, pack, size, triples, unpack
from chaodipi.engine.order import TRUMPS, Order
from chaodipi.engine.selection import Selections
from chaodipi.engine.shapes import class_510k, longest_run, shape_of

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
    A factored set of actions: all of *forced*, *choose_triples* triples out of *triple_pool* and *choose_pairs* pairs
    of other faces out of *pair_pool*, and then *choose_min* to *choose_max* cards of what is left of *pool* (which
    holds the cards of both other pools too).
    """

    forced: tuple[Card, ...] = ()
    pair_pool: tuple[Card, ...] = ()
    choose_pairs: int = 0
    pool: tuple[Card, ...] = ()
    choose_min: int = 0
    choose_max: int = 0
    triple_pool: tuple[Card, ...] = ()
    choose_triples: int = 0


@dataclass(frozen=True, slots=True)
class Obligation:
    """
    Something a follower owes: *count* cards of *kind* out of *cards*.

    ``kind`` is suit, triple_tractor, triple, tractor, pair, 510k or strongest.
    """

    kind: str
    count: int
    cards: tuple[Card, ...]


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
        self._given = hand
        self._own = pack(hand) & order.fields[shape.cls]
        """The hand's cards of the led class."""
        self._short = size(self._own) <= self._n

    @cached_property
    def _hand(self) -> tuple[Card, ...]:
        return self._order.sort(self._given)

    @cached_property
    def _suit(self) -> tuple[Card, ...]:
        return self._order.sort(unpack(self._own))

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
        return self._order.sort(wanted) if all(card in self._suit for card in wanted) else ()

    @cached_property
    def _demands(self) -> Demands:
        """What is owed in pairs, triples and tractors, where the class is longer than the lead."""
        return demands_of(self._order, self._shape, self._own)

    @cached_property
    def _needs(self) -> tuple[Need, ...]:
        # A run may take the faces that the triples beside it would need: no play meets that.
        threes = triples(self._own)
        return tuple(n for n in self._demands.needs() if (threes & ~doubles(n.cards)).bit_count() >= n.triples)

    def _select(self, in_turn: Iterable[Card], needs: Sequence[Need]) -> Selections:
        return Selections(self._own, tuple(in_turn), self._n, self._demands.doubles, needs)

    def check(self, cards: Sequence[Card]) -> None:
        """
        Raise RuleError unless *cards*, all of the hand, are a legal follow; the player's breach.

        The error names what was owed and one set of cards that would have satisfied it.
        """
        n = self._n
        if len(cards) != n:
            raise self._error("WRONG_CARD_COUNT", f"{n} cards were led, {len(cards)} played", ("S1-68",))
        played = pack(cards) & self._order.fields[self._shape.cls]
        if self._short:
            if played != self._own:
                raise self._must_follow(size(self._own))
            return
        if size(played) < n:
            raise self._must_follow(n)
        if n == 1:
            return
        shape = self._shape
        if shape.k510 is not None and self._checked_510k(cards):
            return
        if shape.runs or shape.triple_count:
            met = self._demands.met_by(played)
        else:
            met = doubles(played).bit_count() >= min(shape.pair_count, doubles(self._own).bit_count())
        if not met:
            raise self._unmet(played)

    def _must_follow(self, owed: int) -> RuleError:
        return self._error("MUST_FOLLOW_SUIT", f"{owed} cards of the led class are owed", ("S1-27", "S1-29"))

    def _checked_510k(self, cards: Sequence[Card]) -> bool:
        """Raise RuleError unless *cards* may follow a 510K; False where it asks for pairs like any lead."""
        if self._own_510k:
            if any(card not in cards for card in self._own_510k):
                raise self._error(
                    "MUST_PLAY_510K", "the 510K of the led class must be played", ("S1-28", "S1-94", "Q63")
                )
            return True
        if self._strongest is None:
            return False
        strengths = sorted((self._order.strength(card) for card in cards), reverse=True)
        owed = [self._order.strength(card) for card in self._strongest[: self._n]]
        if strengths != owed:
            raise self._error("MUST_PLAY_STRONGEST", f"the {self._n} strongest trumps are owed", ("S1-94", "S1-95"))
        return True

    def _unmet(self, played: int) -> RuleError:
        """Which of the obligations *played* breaks, the biggest first."""
        demands = demands_of(self._order, self._shape, self._own, every_run=True)
        if not demands.runs_met_by(played):
            return self._error("MUST_PLAY_TRACTOR", "a tractor of the led class is owed", ("S1-70", "S2b-31"))
        if triples(played).bit_count() < demands.triples:
            return self._error("MUST_PLAY_TRIPLE", "triples of the led class are owed", ("Q17", "Q117"))
        clauses = ("S1-97",) if self._shape.k510 else ("S1-69", "S2b-30")
        return self._error("MUST_PLAY_PAIR", "pairs of the led class are owed", clauses)

    def _error(self, reason: str, message: str, clauses: tuple[str, ...]) -> RuleError:
        return RuleError(reason, message, clauses, self.first())

    def obligations(self) -> tuple[Obligation, ...]:
        """What is owed, as the player would say it: suit, then tractors, triples, pairs, 510K or the strongest."""
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
            owed.extend(self._owed_alike())
        return tuple(owed)

    def _owed_alike(self) -> Iterator[Obligation]:
        demands, kinds = self._demands, {3: triples(self._own), 2: doubles(self._own)}
        names = {3: ("triple_tractor", "triple"), 2: ("tractor", "pair")}
        counts = demands.triples, demands.pairs
        if demands.triples == kinds[3].bit_count():
            kinds[2] &= ~kinds[3]  # all triples go as triples
        for copies, count in zip((3, 2), counts, strict=True):
            lengths = [length for of, length in self._shape.runs if of == copies]
            run = min(longest_run(self._order, self._shape.cls, kinds[copies]), max(lengths, default=0))
            if run > 1 and count > 1:
                held = (r.kinds for r in self._order.runs(self._shape.cls, run) if kinds[copies] & r.kinds == r.kinds)
                runs = 0
                for one in held:
                    runs |= one
                yield Obligation(names[copies][0], copies * run, self._sorted(runs * copies))
            if count:
                yield Obligation(names[copies][1], copies * count, self._sorted(kinds[copies] * copies))

    def _sorted(self, packed: int) -> tuple[Card, ...]:
        return self._order.sort(unpack(packed))

    def forced(self) -> tuple[Card, ...]:
        """Cards that every legal follow holds, with their copies."""
        if self._simple is not None:
            forced, pool, chosen = self._simple.forced, self._simple.pool, self._simple.choose_max
        else:
            forced, pool, chosen = (), self._suit, self._n
        least, spare = Counter(forced), len(pool) - chosen
        for card, held in Counter(pool).items():
            # Even leaving out all that can be left out, some copies remain.
            least[card] += max(0, held - spare)
        if self._simple is None:
            for card, copies in self._owed_copies():
                least[card] = max(least[card], copies)
        return self._order.sort(least.elements())

    def _owed_copies(self) -> Iterator[tuple[Card, int]]:
        """The copies of each face that all ways of meeting the demands have in common."""
        twos, threes = doubles(self._own), triples(self._own)
        every_pair = self._demands.doubles == twos.bit_count()
        for card in faces(twos):
            face = pack((card,))
            least = 3
            for need in self._needs:
                asked = need.cards // face & 3
                if not asked and need.triples and face & threes:
                    others = threes & ~doubles(need.cards) & ~face
                    asked = 3 if others.bit_count() < need.triples else 0
                least = min(least, max(asked, 2 if every_pair else 0))
            yield card, least

    def choice_sets(self) -> tuple[ChoiceSet, ...]:
        """The legal follows in factored form; their union is exactly the legal set."""
        return (self._simple,) if self._simple is not None else tuple(map(self._choice, self._needs))

    @cached_property
    def _simple(self) -> ChoiceSet | None:
        """The legal follows where they are forced cards and any of a pool; None where pairs may be owed."""
        if self._short:
            free = self._n - len(self._suit)
            pool = tuple(card for card in self._hand if self._order.class_of(card) != self._shape.cls)
            return ChoiceSet(self._suit, pool=pool, choose_min=free, choose_max=free)
        if self._own_510k:
            pool = self._sorted(self._own - pack(self._own_510k))
            free = self._n - 3
            return ChoiceSet(self._own_510k, pool=pool, choose_min=free, choose_max=free)
        if self._strongest is not None:
            weakest = self._order.strength(self._strongest[self._n - 1])
            above = tuple(card for card in self._suit if self._order.strength(card) > weakest)
            equal = tuple(card for card in self._suit if self._order.strength(card) == weakest)
            free = self._n - len(above)
            return ChoiceSet(above, pool=equal, choose_min=free, choose_max=free)
        return None

    def _choice(self, need: Need) -> ChoiceSet:
        other = ~doubles(need.cards)
        pairs = self._demands.doubles - doubles(need.cards).bit_count() - need.triples
        free = self._n - size(need.cards) - 3 * need.triples - 2 * pairs
        return ChoiceSet(
            self._sorted(need.cards),
            self._sorted(doubles(self._own) & other) if pairs else (),
            pairs,
            self._sorted(self._own - need.cards),
            free,
            free,
            self._sorted(triples(self._own) & other) if need.triples else (),
            need.triples,
        )

    def __contains__(self, cards: Sequence[Card]) -> bool:
        if Counter(cards) - Counter(self._given):
            return False
        try:
            self.check(cards)
        except RuleError:
            return False
        return True

    def count(self) -> int:
        """Number of legal follows, copies not told apart; counted, not listed."""
        if self._simple is not None:
            return count_multisets(self._simple.pool, self._simple.choose_min)
        return self._select(dict.fromkeys(self._suit), self._needs).count()

    def __iter__(self) -> Iterator[tuple[Card, ...]]:
        order, simple = self._order, self._simple
        if simple is not None:
            for cards in multisets(simple.pool, simple.choose_min):
                yield order.sort(simple.forced + cards)
            return
        yield from self._select(dict.fromkeys(self._suit), self._needs)

    def first(self) -> tuple[Card, ...]:
        """One legal follow; there always is one."""
        if self._simple is not None:
            return next(iter(self))
        return self._select(dict.fromkeys(self._suit), (self._demands.one_need(),)).first()

    def lowest(self, key: Callable[[Card], Any]) -> tuple[Card, ...]:
        """The legal follow that is lowest compared card by card under *key*, the lowest cards first."""
        simple = self._simple
        if simple is not None:
            free = sorted(simple.pool, key=key)[: simple.choose_min]
            return tuple(sorted((*simple.forced, *free), key=key))
        return self._select(sorted(dict.fromkeys(self._suit), key=key), self._needs).first()

    def __repr__(self) -> str:
        return f"<Follows: {self.count()} legal, e.g. {' '.join(card.text for card in self.first())}>"


def legal_follows(order: Order, hand: Sequence[Card], lead: Sequence[Card]) -> Follows:
    """All legal follows to *lead* out of *hand*, as a lazy view."""
    return Follows(order, hand, lead)


def check_follow(order: Order, hand: Sequence[Card], lead: Sequence[Card], cards: Sequence[Card]) -> None:
    """Raise RuleError unless *cards* of *hand* may follow *lead*; the player's breach."""
    if len(lead) == len(cards) == 1 and order.class_of(cards[0]) == order.class_of(lead[0]):
        return
    Follows(order, hand, lead).check(cards)


def default_follow(order: Order, hand: Sequence[Card], lead: Sequence[Card]) -> tuple[Card, ...]:
    """
    The lowest legal follow, compared card by card in the order of the host's defaults (Q122).

    Every follower has one; it is what the host plays for a seat that does not answer in time.
    """
    return Follows(order, hand, lead).lowest(partial(default_key, order.ruleset, order.level))


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
