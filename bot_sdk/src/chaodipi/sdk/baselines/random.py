"""Plays legally at random. Its choices follow from seed, match, seat and situation alone."""

import random
from collections import Counter

from chaodipi.sdk import Action, Bot, Card, Decision, run

__all__ = ["RandomBot"]


class RandomBot(Bot):
    """Any legal action; two in three chances to show are passed, one lead in eight is a throw as it comes."""

    def _rng(self, decision: Decision, purpose: str = "") -> random.Random:
        # One generator a decision, not one an instance: a bot that was restarted goes on in the same way.
        view = decision.view
        where = (len(view.shown), len(view.asked), len(view.tricks), len(decision.hand), view.redeals)
        return random.Random(f"{self.seed}/{self.match}/{self.seat}/{decision.deal}/{decision.phase}/{where}{purpose}")

    def declare(self, decision: Decision) -> Action:
        return self._show(decision)

    def stir(self, decision: Decision) -> Action:
        # A stir and the follow instead of it may be chosen in one decision: two generators.
        return self._show(decision, "/stir" if decision.led else "")

    def _show(self, decision: Decision, purpose: str = "") -> Action:
        rng = self._rng(decision, purpose)
        shows = decision.legal_shows
        return rng.choice(shows) if shows and rng.random() < 1 / 3 else decision.pass_()

    def bury(self, decision: Decision) -> Action:
        return decision.bury(self._rng(decision).sample(decision.can_bury, decision.card_count))

    def play(self, decision: Decision) -> Action:
        rng = self._rng(decision)
        if decision.is_lead:
            return decision.play(self._throw(decision, rng) or rng.choice(decision.lead_options()))
        choice = rng.choice(decision.legal.choice_sets())
        triples = rng.sample(choice.triple_pool, choice.choose_triples)
        others = [card for card in choice.pair_pool if card not in triples]
        alike = [*triples * 3, *rng.sample(others, choice.choose_pairs) * 2]
        left: Counter[Card] = Counter(choice.pool)
        left.subtract(alike)
        rest = rng.sample(sorted(left.elements()), choice.choose_min)
        return decision.play([*choice.forced, *alike, *rest])

    def _throw(self, decision: Decision, rng: random.Random) -> tuple[Card, ...]:
        """Some cards of one class, or none."""
        if decision.view.plain_lead or rng.random() > 1 / 8:
            return ()
        cards = decision.order.of_class(decision.hand, decision.order.class_of(rng.choice(decision.hand)))
        return tuple(rng.sample(cards, min(len(cards), rng.randint(2, 4))))


if __name__ == "__main__":
    run(RandomBot)
