"""Plays by the usual advice: count, draw trumps, feed the partner, duck cheaply, keep control for the end.

Every answer is the best of a few candidates under one estimate: points on the table times the
chance of the own side to take them, less what the cards would have been worth later.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import combinations

from chaodipi.engine.shapes import decompose
from chaodipi.sdk import (
    SUITS,
    TRUMPS,
    Action,
    Bot,
    Card,
    Component,
    Decision,
    Order,
    Seat,
    Show,
    Suit,
    order_for,
    run,
    runs_of,
)
from chaodipi.sdk.baselines.blind import fail_chance

__all__ = ["RulesBot"]

Cards = tuple[Card, ...]


class _Count:
    """What is still out, seen from one decision."""

    def __init__(self, decision: Decision) -> None:
        self.d = decision
        self.order = decision.order
        self.held = Counter(decision.hand)
        self.out: dict[Suit, list[int]] = {cls: [] for cls in (TRUMPS, *SUITS)}
        """Strengths of the unseen cards of each class."""
        self.pairs: dict[Suit, list[Card]] = {cls: [] for cls in (TRUMPS, *SUITS)}
        """Cards of which two may be in one other hand."""
        for card, count in decision.unseen.items():
            cls = self.order.class_of(card)
            self.out[cls] += [self.order.strength(card)] * count
            if count >= 2:
                self.pairs[cls].append(card)

    @cached_property
    def rivals(self) -> tuple[Seat, ...]:
        """Opponents who have yet to play to this trick."""
        played = {play.seat for play in self.d.view.trick}
        return tuple(seat for seat in (self.d.seat.next, self.d.seat.next.partner) if seat not in played)

    def higher(self, card: Card) -> int:
        """Unseen cards of the card's class that are higher."""
        strength = self.order.strength(card)
        return sum(other > strength for other in self.out[self.order.class_of(card)])

    def higher_pairs(self, card: Card) -> int:
        strength = self.order.strength(card)
        return sum(self.order.strength(other) > strength for other in self.pairs[self.order.class_of(card)])

    def beaters(self, cls: Suit, part: Component) -> int:
        """Unseen plays of the same kind in class *cls* that are higher."""
        if part.kind in ("510k", "double_510k"):
            return 0
        if part.length > 1:
            return sum(size > part.size for size, _ in runs_of(self.order, cls, self.pairs[cls], part.length))
        if part.copies > 1:
            return sum(self.order.strength(card) > part.top for card in self.pairs[cls])
        return sum(strength > part.top for strength in self.out[cls])

    def void_chance(self, seat: Seat, cls: Suit) -> float:
        if cls in self.d.voids[seat]:
            return 1.0
        return float(0.68 ** len(self.out[cls]))

    def loses_to(self, seat: Seat, cls: Suit, part: Component) -> float:
        """Chance that *seat* beats *part*, the component of a play in class *cls* that matters."""
        size = len(part.cards)
        void = self.void_chance(seat, cls)
        n = self.beaters(cls, part)
        each = 0.3 if size == 1 else 0.13 if part.length == 1 else 0.04
        over = 1 - (1 - each) ** n
        ruff = 0.0
        if cls != TRUMPS and TRUMPS not in self.d.voids[seat] and self.out[TRUMPS]:
            ruff = void * (0.75 if size == 1 else 0.35 if part.length == 1 and size == 2 else 0.04)
        return (1 - void) * over + ruff

    def holds(self, cls: Suit, parts: Sequence[Component], seats: Sequence[Seat]) -> float:
        """Chance that a play with *parts* in class *cls* is not beaten by any of *seats*."""
        chance = 1.0
        for seat in seats:
            chance *= 1 - min(0.97, max(self.loses_to(seat, cls, part) for part in parts))
        return chance


class RulesBot(Bot):
    """
    Rules of thumb with numbers.

    The attributes are what was tuned in local duels; a subclass may change them.
    """

    declare_share = 0.33
    """Trumps among the own cards that are enough to declare a suit."""
    overcall_lead = 2
    """Trumps that a new suit must have more than the present one."""
    stir_trumps = 9
    stir_lead = 1
    stir_risk = 0.15
    """Greatest chance of failing that a blind stir may have."""
    side_power, side_fall = 5.0, 0.55
    trump_base, trump_power, trump_fall = 1.5, 7.0, 0.88
    pair_power = 2.5
    lead_bonus = 2.0
    draw_bonus = 1.0
    future_points = 3.0
    partner_saves = 0.35
    low_lead = 0.42
    end_factor = 1.6
    sure_510k = 0.9
    """What a point of a led 510K is worth: it is hardly ever beaten."""

    # ---- showing

    def declare(self, decision: Decision) -> Action:
        view = decision.view
        hand = decision.hand
        best: tuple[float, Show] | None = None
        for show in decision.legal_shows:
            trump = show.named or show.cards[0].suit
            trumps = self._trumps(decision, hand, trump)
            if not view.shown:
                good = trumps / len(hand) >= self.declare_share and (len(hand) >= 6 or trumps >= 2)
                if trump == Suit.NO_TRUMP:
                    good = trumps >= 6
            else:
                last = view.standing or view.shown[-1]
                mine = last.seat.side == self.seat.side
                now = self._trumps_now(decision)
                good = trumps >= now + self.overcall_lead + (2 if mine else 0) and trumps / len(hand) >= 0.3
                if last.seat == self.seat and show.cards[0].suit == view.trump:
                    good = True
            value = trumps - len(show.cards) * 0.1
            if good and (best is None or value > best[0]):
                best = (value, show)
        return decision.pass_() if best is None else best[1]

    def _trumps(self, decision: Decision, hand: Cards, trump: Suit) -> int:
        order = order_for(decision.ruleset, decision.level, trump)
        return sum(order.is_trump(card) for card in hand)

    def _trumps_now(self, decision: Decision) -> float:
        """Own trumps under the present trump; where that is hidden, under any suit on average."""
        trump = self._expected_trump(decision)
        if trump is not None or not decision.view.shown:
            return self._trumps(decision, decision.hand, trump or Suit.NO_TRUMP)
        return sum(self._trumps(decision, decision.hand, suit) for suit in SUITS) / len(SUITS)

    def _expected_trump(self, decision: Decision) -> Suit | None:
        """The trump; in the dark the one of the own last showing, None if there is none."""
        if decision.trump is not None:
            return decision.trump
        own = [showing.trump for showing in decision.view.shown if showing.seat == self.seat]
        return own[-1] if own else None

    def stir(self, decision: Decision) -> Action:
        view = decision.view
        now = self._trumps_now(decision)
        mine = view.bottom_owner is not None and view.bottom_owner.side == self.seat.side
        best: tuple[float, Show] | None = None
        for show in decision.legal_shows:
            if decision.ruleset.stir_strength == "blind" and (fail_chance(view, decision.hand, show) > self.stir_risk):
                continue
            trumps = self._trumps(decision, decision.hand, show.named or show.cards[0].suit)
            need = max(self.stir_trumps, now + self.stir_lead) + (2 if mine else 0)
            if trumps >= need and (best is None or trumps > best[0]):
                best = (trumps, show)
        return decision.pass_() if best is None else best[1]

    # ---- burying

    def bury(self, decision: Decision) -> Action:
        """Empty short side suits; no points, winners or pairs; trumps last."""
        count = decision.card_count
        order = order_for(decision.ruleset, decision.level, self._expected_trump(decision) or Suit.NO_TRUMP)
        costs = self._bury_costs(decision, order)
        suits = [list(order.of_class(decision.can_bury, cls)) for cls in SUITS]
        best: tuple[float, list[Card]] | None = None
        for size in range(4):
            for emptied in combinations([cards for cards in suits if 0 < len(cards) <= count], size):
                chosen = [card for cards in emptied for card in cards]
                if len(chosen) > count:
                    continue
                rest = Counter(decision.can_bury)
                rest.subtract(chosen)
                fill = sorted(rest.elements(), key=lambda card: (costs[card], card))[: count - len(chosen)]
                whole = chosen + fill
                value = sum(costs[card] for card in whole) - 6.0 * size
                if best is None or value < best[0]:
                    best = (value, whole)
        assert best is not None
        return decision.bury(order.sort(best[1]))

    def _bury_costs(self, decision: Decision, order: Order) -> dict[Card, float]:
        held = Counter(decision.hand)
        strong = len(order.of_class(decision.hand, TRUMPS)) >= 14
        costs: dict[Card, float] = {}
        for cls in (TRUMPS, *SUITS):
            cards = order.of_class(decision.hand, cls)
            parts = decompose(order, cls, cards) if cards else ()
            runs = {card for part in parts if part.length > 1 for card in part.cards}
            for card in cards:
                cost = 0.3 * order.strength(card) / 3
                if cls == TRUMPS:
                    cost += 25
                else:
                    cost += 8 if card.rank == 14 else 3 if card.rank == 13 else 0
                    cost += (3 + (card.rank > 10) * 3) if held[card] >= 2 else 0
                    cost += 8 if card in runs else 0
                cost += card.points * (0.3 if strong else 0.8)
                costs[card] = cost
        return costs

    # ---- play

    def play(self, decision: Decision) -> Action:
        count = _Count(decision)
        power = self._powers(count)
        cards = self._lead(decision, count, power) if decision.is_lead else self._follow(decision, count, power)
        return decision.play(cards)

    def _powers(self, count: _Count) -> dict[Card, float]:
        """What each held card is worth if it is kept, in points."""
        powers: dict[Card, float] = {}
        late = self.end_factor if len(count.d.hand) <= 5 else 1.0
        for card, held in count.held.items():
            higher = count.higher(card)
            if count.order.is_trump(card):
                value = (self.trump_base + self.trump_power * self.trump_fall**higher) * late
            else:
                value = self.side_power * self.side_fall**higher
            if held >= 2:
                value += self.pair_power * 0.7 ** count.higher_pairs(card)
            powers[card] = value + 0.01 * count.order.strength(card)
        return powers

    def _lead(self, d: Decision, count: _Count, power: dict[Card, float]) -> Cards:
        best: tuple[float, Cards] | None = None
        for cls in (TRUMPS, *SUITS):
            for cards, parts in self._lead_candidates(d, count, cls):
                if d.view.plain_lead and len(set(cards)) > 1:
                    continue
                value = self._lead_value(d, count, cls, cards, parts, power)
                if best is None or value > best[0]:
                    best = (value, cards)
        for cards in d.leads_510k():
            # Nothing but a trump 510K beats it, so its 25 points or more are as good as won.
            points = sum(card.points for card in cards) + self.future_points * len(cards)
            value = self.sure_510k * points + self.lead_bonus - 0.35 * sum(power[card] for card in cards)
            if best is None or value > best[0]:
                best = (value, cards)
        assert best is not None
        return best[1]

    def _lead_candidates(self, d: Decision, count: _Count, cls: Suit) -> list[tuple[Cards, list[Component]]]:
        found: list[tuple[Cards, list[Component]]] = []
        whole = d.components(cls)
        sure = [part for part in whole if count.beaters(cls, part) == 0]
        if len(sure) > 1:
            found.append((tuple(card for part in sure for card in part.cards), sure))
        found += [(part.cards, [part]) for part in whole]
        for card, held in Counter(d.of_class(cls)).items():
            top = d.order.strength(card)
            if held >= 2:
                found.append(((card, card), [Component("pair", (card, card), 2, 1, top, top)]))
            found.append(((card,), [Component("single", (card,), 1, 1, top, top)]))
        return found

    def _lead_value(
        self, d: Decision, count: _Count, cls: Suit, cards: Cards, parts: list[Component], power: dict[Card, float]
    ) -> float:
        chance = count.holds(cls, parts, count.rivals)
        n = len(cards)
        partner = 0.0
        if chance < 0.95:
            # The partner may win instead: with a higher card, or by a ruff.
            void = count.void_chance(d.partner, cls) if cls != TRUMPS else 0.0
            clear = all(cls not in d.voids[seat] for seat in count.rivals)
            partner = self.low_lead if n == 1 else 0.25
            if void == 1.0 and TRUMPS not in d.voids[d.partner]:
                partner = 0.65 if clear else 0.5
        wins = chance + (1 - chance) * partner
        points = sum(card.points for card in cards) + self.future_points * n
        value = (2 * wins - 1) * points + self.lead_bonus * chance
        value -= sum(power[card] for card in cards) * (1.0 if chance < 0.8 else 0.35)
        if cls == TRUMPS and count.out[TRUMPS]:
            mine = len(d.of_class(TRUMPS))
            others = len(count.out[TRUMPS]) / 3
            value += self.draw_bonus * n * max(-2.0, min(3.0, mine - others))
        return value

    def _follow(self, d: Decision, count: _Count, power: dict[Card, float]) -> Cards:
        candidates: dict[Cards, bool] = {}
        for weight in (1.0, -1.0):

            def key(card: Card, weight: float = weight) -> tuple[float, int]:
                return (weight * card.points + power[card], int(card))

            candidates[d.compose(key)] = False
        for index, cards in enumerate(d.winners()):
            if index == 12:
                break
            candidates[cards] = True
        strongest = d.strongest_legal().cards
        candidates[strongest] = True
        return max(candidates, key=lambda cards: self._follow_value(d, count, cards, power))

    def _follow_value(self, d: Decision, count: _Count, cards: Cards, power: dict[Card, float]) -> float:
        shape = d.led_shape
        takes = d.beats(cards)
        winning = d.winning
        assert winning is not None
        if takes:
            chance = self._standing(d, count, cards)
            if not d.last_to_play and len(d.view.trick) == 1:
                chance += (1 - chance) * self.partner_saves
        elif winning.seat == d.partner:
            chance = self._standing(d, count, winning.cards)
        else:
            chance = self.partner_saves if len(d.view.trick) == 1 else 0.0
            if len(shape.components[0].cards) > 1 or shape.is_throw:
                chance *= 0.5
        left = 3 - len(d.view.trick)
        points = d.trick_points + sum(card.points for card in cards) + left * self.future_points * len(cards) * 0.5
        value = (2 * chance - 1) * points - sum(power[card] for card in cards)
        if takes:
            value += self.lead_bonus * chance
        if len(d.hand) == len(cards):
            # The last trick decides about the bottom too.
            value += 40 * chance
        return value

    def _standing(self, d: Decision, count: _Count, cards: Cards) -> float:
        """Chance that *cards*, winning the trick now, still win it at the end."""
        if not count.rivals:
            return 1.0
        shape = d.led_shape
        cls = count.order.class_of(cards[0])
        first = shape.components[0]
        top = self._top(count.order, cards, first)
        part = Component(first.kind, cards[: len(first.cards)], first.copies, first.length, top, top)
        chance = 1.0
        for seat in count.rivals:
            if cls == shape.cls:
                chance *= 1 - min(0.97, count.loses_to(seat, cls, part))
            else:
                # Over-ruffed only by one who is out of the suit led.
                over = 1 - (1 - (0.3 if len(cards) == 1 else 0.1)) ** count.beaters(TRUMPS, part)
                chance *= 1 - count.void_chance(seat, shape.cls) * over
        return chance

    def _top(self, order: Order, cards: Cards, first: Component) -> int:
        pairs = order.pairs_of(cards, first.copies)
        return max((order.strength(card) for card in pairs), default=0)


if __name__ == "__main__":
    run(RulesBot)
