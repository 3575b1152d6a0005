"""What a bot's handlers get: one question to one seat, with all that the seat knows (:class:`Decision`)."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from chaodipi.engine.actions import Action, ActionKind, Bury, Pass, Play, Show
from chaodipi.engine.cards import SUITS, Card, Rank, Seat, Suit, deck, parse_cards
from chaodipi.engine.defaults import default_bury
from chaodipi.engine.errors import RuleError
from chaodipi.engine.events import Phase
from chaodipi.engine.follow import Follows, default_follow, legal_follows
from chaodipi.engine.history import Contribution
from chaodipi.engine.lead import check_plain_lead, lead_shape
from chaodipi.engine.order import TRUMPS, Order
from chaodipi.engine.ruleset import Ruleset
from chaodipi.engine.shapes import Component, Shape, decompose, runs_of, shape_of
from chaodipi.engine.showing import check_show, legal_shows
from chaodipi.engine.trick import winner_index
from chaodipi.engine.view import View

__all__ = ["Decision", "default_action"]

Cards = tuple[Card, ...]


def default_action(view: View, seat: Seat) -> Action:
    """What the host does for *seat* if it does not answer (Q122): pass, bury, lead or follow the lowest."""
    if view.phase == Phase.BURY:
        return Bury(default_bury(view.ruleset, view.level, view.can_bury(seat), view.ruleset.bottom))
    if view.phase == Phase.LEAD:
        return Play(default_bury(view.ruleset, view.level, view.hands[seat], 1))
    if ActionKind.PLAY in view.allowed_kinds:
        return Play(default_follow(view.order, view.hands[seat], view.trick[0].cards))
    return Pass()


class Decision:
    """
    One question to one seat, with all that the seat knows. Valid until it is answered.

    Attributes:
        view: The deal as this seat knows it.
        seat: The seat that is asked.
        phase: DECLARE, BURY, STIR, LEAD or FOLLOW.
        match: Name of the match.
        deal: Number of the deal in the match, from 1.
        attempt: 1, then one more after each refused answer.
        note: Text kept with the answer in the record; set it to say why.
        bank_left_ms: Milliseconds of the time left that were the time bank when it was asked; 0: none.
        last_charged_ms: Milliseconds that the seat's last answer was charged, the network allowance taken off.
    """

    def __init__(
        self,
        view: View,
        *,
        match: str = "local",
        deal: int = 1,
        attempt: int = 1,
        time_left_ms: int = 0,
        bank_left_ms: int = 0,
        last_charged_ms: int = 0,
    ) -> None:
        if view.seat is None:
            raise ValueError("a decision needs the view of one seat")
        self.view = view
        self.seat: Seat = view.seat
        self.phase = view.phase
        self.match = match
        self.deal = deal
        self.attempt = attempt
        self.note = ""
        self.bank_left_ms = bank_left_ms
        self.last_charged_ms = last_charged_ms
        self._deadline = time.monotonic() + time_left_ms / 1000 if time_left_ms else None

    # ---- the situation

    @property
    def time_left_ms(self) -> int | None:
        """Milliseconds left now, the time bank included; None without a clock."""
        return None if self._deadline is None else max(0, int((self._deadline - time.monotonic()) * 1000))

    @property
    def ruleset(self) -> Ruleset:
        return self.view.ruleset

    @property
    def order(self) -> Order:
        """Order of the cards under the present trump and level."""
        return self.view.order

    @property
    def trump(self) -> Suit | None:
        return self.view.trump

    @property
    def level(self) -> Rank | None:
        return self.view.level

    @cached_property
    def hand(self) -> Cards:
        """The own cards: trumps first, then C D H S, in each the strongest first."""
        return self.order.sort(self.view.hands[self.seat])

    @cached_property
    def can_bury(self) -> Cards:
        """The own cards that may be buried, in the order of :attr:`hand`: all, but for a placed card (Q113)."""
        return self.order.sort(self.view.can_bury(self.seat))

    @property
    def partner(self) -> Seat:
        return self.seat.partner

    @property
    def is_dealer_side(self) -> bool:
        """Whether this seat's side deals; False while that is not known."""
        dealer = self.view.dealer
        return dealer is not None and dealer.side == self.seat.side

    @property
    def allowed(self) -> frozenset[ActionKind]:
        """Kinds of action that may be chosen from; in FOLLOW of a first trick, a stir may be among them."""
        return frozenset(self.view.allowed_kinds)

    @property
    def is_lead(self) -> bool:
        return self.phase == Phase.LEAD

    @property
    def trick(self) -> tuple[Contribution, ...]:
        """What lies on the table, the lead first."""
        return tuple(self.view.trick)

    @property
    def led(self) -> Cards | None:
        """The cards led to this trick; None if this seat leads."""
        return self.view.lead

    @cached_property
    def led_shape(self) -> Shape:
        """Class and components of the lead; ValueError if this seat leads."""
        shape = None if self.led is None else shape_of(self.order, self.led)
        if shape is None:
            raise ValueError("nothing was led")
        return shape

    @property
    def card_count(self) -> int:
        """Cards that the answer must have; 0 where that is free (a lead, a showing)."""
        if self.phase == Phase.BURY:
            return self.view.bottom_size
        return len(self.led) if self.led is not None and ActionKind.PLAY in self.allowed else 0

    @property
    def last_to_play(self) -> bool:
        return len(self.view.trick) == 3

    @cached_property
    def trick_points(self) -> int:
        """Points on the table."""
        return sum(card.points for play in self.view.trick for card in play.cards)

    @cached_property
    def winning(self) -> Contribution | None:
        """The play that would win the trick now; None before the lead."""
        plays = self.view.trick
        return plays[winner_index(self.order, [play.cards for play in plays])] if plays else None

    @property
    def partner_winning(self) -> bool:
        return self.winning is not None and self.winning.seat == self.partner

    @cached_property
    def unseen(self) -> Counter[Card]:
        """Cards that may be in other hands (or the bottom): not held, played, or buried by this seat."""
        view = self.view
        left = Counter(deck(self.ruleset.decks))
        left.subtract(view.hands[self.seat])
        if view.bottom is not None and view.bottom_owner == self.seat:
            left.subtract(view.bottom)
        for trick in view.tricks:
            for play in trick.plays:
                left.subtract(play.cards)
        for play in view.trick:
            left.subtract(play.cards)
        return +left

    @cached_property
    def voids(self) -> dict[Seat, frozenset[Suit]]:
        """Classes that each other seat has shown to be out of."""
        found: dict[Seat, set[Suit]] = {seat: set() for seat in Seat if seat != self.seat}
        for plays in [*(trick.plays for trick in self.view.tricks), tuple(self.view.trick)]:
            if not plays:
                continue
            shape = shape_of(self.order, plays[0].cards)
            for play in plays[1:]:
                if shape is None or play.seat == self.seat:
                    continue
                if any(self.order.class_of(card) != shape.cls for card in play.cards):
                    found[play.seat].add(shape.cls)
        return {seat: frozenset(classes) for seat, classes in found.items()}

    def of_class(self, cls: Suit) -> Cards:
        """The own cards of one class (:data:`TRUMPS` for the trumps), strongest first."""
        return tuple(self.order.of_class(self.hand, cls))

    # ---- what may be done

    @cached_property
    def legal(self) -> Follows:
        """All legal follows, lazily; ValueError if this seat does not follow."""
        if self.led is None or ActionKind.PLAY not in self.allowed:
            raise ValueError("a lead is any play of one class: see lead_options()")
        return legal_follows(self.order, self.view.hand(self.seat), self.led)

    @cached_property
    def legal_shows(self) -> tuple[Show, ...]:
        """Everything that may be shown now."""
        return legal_shows(self.view, self.seat)

    def lead_options(self) -> list[Cards]:
        """Every single pattern that may be led: singles, pairs, triples, tractors, 510Ks; throws are up to you."""
        found: dict[tuple[Card, ...], None] = {}
        for cls in (TRUMPS, *SUITS):
            for part in self.components(cls):
                if part.length == 1 or not self.view.plain_lead:
                    found[part.cards] = None
            held = Counter(self.of_class(cls))
            for card, count in held.items():
                for copies in range(1, min(count, 3 if self.ruleset.triples else 2) + 1):
                    found[(card,) * copies] = None
        return [*found, *self.leads_510k()]

    def leads_510k(self) -> list[Cards]:
        """Every 510K and 55-1010-KK that may be led; empty where the ruleset has no such pattern."""
        if not self.ruleset.k510 or self.view.plain_lead:
            return []
        found: list[Cards] = []
        held = Counter(self.hand)
        for suit in SUITS:
            three = tuple(Card.of(suit, rank) for rank in (Rank.FIVE, Rank.TEN, Rank.KING))
            for copies in (1, 2):
                cards = self.order.sort(three * copies)
                shape = shape_of(self.order, cards) if all(held[card] >= copies for card in three) else None
                if shape is not None and shape.k510:
                    found.append(cards)
        return found

    def components(self, cls: Suit) -> tuple[Component, ...]:
        """The own cards of *cls* taken apart: longest tractors, then pairs, then singles."""
        cards = self.of_class(cls)
        return decompose(self.order, cls, cards) if cards else ()

    def check(self, action: Action) -> None:
        """
        Do nothing if *action* is legal as far as this seat can know.

        Raises:
            RuleError: the rules refuse it. A throw that others can beat is legal and forced down.
        """
        if action.kind not in self.allowed:
            raise RuleError("WRONG_ACTION_KIND", f"now: {', '.join(sorted(k.name for k in self.allowed))}", ("Q122",))
        if isinstance(action, Pass):
            return
        missing = Counter(action.cards) - Counter(self.view.hands[self.seat])
        if missing or not action.cards:
            raise RuleError("NOT_YOUR_CARDS", f"not in the hand: {' '.join(c.text for c in missing)}", ("Q113",))
        if isinstance(action, Show):
            check_show(self.view, self.seat, action)
        elif isinstance(action, Bury):
            if len(action.cards) != self.card_count:
                raise RuleError("BURY_COUNT", f"{self.card_count} cards must be buried", ("S0-01",))
            if Counter(action.cards) - Counter(self.can_bury):
                raise RuleError("BURY_SHOWN", "the placed card lies on the table", ("Q113",))
        elif self.view.plain_lead:
            check_plain_lead(self.order, action.cards)
        elif self.is_lead:
            lead_shape(self.order, action.cards)
        else:
            self.legal.check(action.cards)

    def beats(self, cards: Sequence[Card]) -> bool:
        """Whether *cards*, played now, would be winning the trick."""
        plays = [play.cards for play in self.view.trick]
        return winner_index(self.order, [*plays, tuple(cards)]) == len(plays)

    # ---- answers

    def pass_(self) -> Pass:
        """Show nothing."""
        return Pass()

    def play(self, cards: Iterable[Card] | str) -> Play:
        """Lead or follow *cards* (``"S9 S9"`` or card values)."""
        return Play(_cards(cards))

    def bury(self, cards: Iterable[Card] | str) -> Bury:
        """Lay *cards* down as the bottom."""
        return Bury(_cards(cards))

    def show(self, cards: Iterable[Card] | str, named: Suit | None = None, *, looking_back: bool = False) -> Show:
        """Show *cards* to declare, overcall or stir."""
        return Show(_cards(cards), named, looking_back)

    def default(self) -> Action:
        """The host's default action here; always legal."""
        return default_action(self.view, self.seat)

    # ---- building blocks for follows

    def cost(self, card: Card) -> tuple[bool, int, int]:
        """How dear *card* is: side cards before trumps, then points, then strength. Lower is cheaper."""
        return (self.order.is_trump(card), card.points, self.order.strength(card))

    def compose(self, key: Callable[[Card], Any] | None = None) -> Cards:
        """The legal follow that is lowest card by card under *key* (default: :meth:`cost`)."""
        key = key or self.cost
        best: list[Card] | None = None
        for choice in self.legal.choice_sets():
            triples = sorted(choice.triple_pool, key=key)[: choice.choose_triples]
            others = [card for card in choice.pair_pool if card not in triples]
            pairs = sorted(others, key=key)[: choice.choose_pairs]
            held = Counter(choice.pool)
            held.subtract(alike := [*triples * 3, *pairs * 2])
            rest = sorted(held.elements(), key=key)[: choice.choose_min]
            cards = sorted([*choice.forced, *alike, *rest], key=key, reverse=True)
            if best is None or [key(c) for c in cards] < [key(c) for c in best]:
                best = cards
        assert best is not None
        return self.order.sort(best)

    def cheapest_legal(self) -> Play:
        """Follow with as little as possible: no points, no trumps, low cards."""
        return Play(self.compose())

    def richest_legal(self) -> Play:
        """Follow with as many points as possible, else cheaply; for a trick that the partner wins."""

        def key(card: Card) -> tuple[int, bool, int]:
            return (-card.points, self.order.is_trump(card), self.order.strength(card))

        return Play(self.compose(key))

    def winners(self) -> Iterator[Cards]:
        """Legal follows that would be winning now, the weakest first; not every one, but one of each height."""
        shape = self.led_shape
        suit = self.of_class(shape.cls)
        seen: set[Cards] = set()
        if suit:
            cls = shape.cls
            if len(suit) < len(self.led or ()) or shape.is_throw:
                return
        else:
            cls = TRUMPS
            suit = self.of_class(TRUMPS)
            if len(suit) < len(self.led or ()):
                return
        for cards in self._covers(shape, cls, suit):
            whole = self.order.sort(cards)
            if whole not in seen:
                seen.add(whole)
                if whole in self.legal and self.beats(whole):
                    yield whole

    def _covers(self, shape: Shape, cls: Suit, suit: Cards) -> Iterator[list[Card]]:
        """Plays out of *suit* with the components of *shape*, the first component rising."""
        order = self.order
        first = shape.components[0]
        if shape.k510 is not None:
            if shape.k510 == "double_510k" and self.ruleset.double_510k_ruff == "pairs":
                pairs = sorted(order.pairs_of(suit), key=order.strength)
                for top in pairs[2:] if cls == TRUMPS else ():
                    yield [*pairs[:2], *pairs[:2], top, top]
                return
            trump = self.trump
            if trump is None or trump == Suit.NO_TRUMP:
                return
            wanted = [Card.of(trump, rank) for rank in (Rank.FIVE, Rank.TEN, Rank.KING)] * first.copies
            if not Counter(wanted) - Counter(suit):
                yield wanted
            return
        available = order.pairs_of(suit, first.copies)
        heads: list[tuple[Card, ...]] = []
        if first.length > 1:
            runs = sorted(runs_of(order, cls, available, first.length), key=lambda run: run[0])
            heads = [cards for _, cards in runs]
        else:
            heads = [(card,) for card in sorted(available, key=order.strength)]
        for head in heads:
            cards = [card for card in head for _ in range(first.copies)]
            left = Counter(suit)
            left.subtract(cards)
            for part in shape.components[1:]:
                taken = self._cheapest_part(cls, part, left)
                if taken is None:
                    break
                cards += taken
                left.subtract(taken)
            else:
                yield cards

    def _cheapest_part(self, cls: Suit, part: Component, left: Counter[Card]) -> list[Card] | None:
        available = frozenset(card for card, count in left.items() if count >= part.copies)
        if part.length > 1:
            runs = sorted(runs_of(self.order, cls, available, part.length), key=lambda run: run[0])
            return [card for card in runs[0][1] for _ in range(part.copies)] if runs else None
        if not available:
            return None
        # Single cards are taken out of pairs only if nothing else is left.
        card = min(available, key=lambda c: (part.copies == 1 and left[c] > 1, self.order.strength(c)))
        return [card] * part.copies

    def cheapest_winner(self) -> Play | None:
        """The weakest follow that would be winning now, None if there is none."""
        cards = next(self.winners(), None)
        return None if cards is None else Play(cards)

    def strongest_legal(self) -> Play:
        """The highest follow that would be winning now, else :meth:`cheapest_legal`."""
        best: Cards | None = None
        for cards in self.winners():
            best = cards
        return self.cheapest_legal() if best is None else Play(best)

    def __repr__(self) -> str:
        return f"<Decision {self.phase.name} seat {self.seat}: {' '.join(card.text for card in self.hand)}>"


def _cards(cards: Iterable[Card] | str) -> Cards:
    return parse_cards(cards) if isinstance(cards, str) else tuple(cards)
