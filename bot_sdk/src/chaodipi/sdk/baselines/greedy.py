"""Takes what it can get: shows at once, leads its highest cards, wins every trick that it can."""

from chaodipi.sdk import Action, Bot, Card, Decision, run

__all__ = ["GreedyBot"]


class GreedyBot(Bot):
    """No memory and no plan; the strongest card that is legal, if the partner is not winning."""

    def declare(self, decision: Decision) -> Action:
        shows = decision.legal_shows
        return shows[0] if shows and not decision.view.shown else decision.pass_()

    def bury(self, decision: Decision) -> Action:
        return decision.bury(sorted(decision.can_bury, key=decision.cost)[: decision.card_count])

    def play(self, decision: Decision) -> Action:
        if decision.is_lead:
            return decision.play(max(decision.lead_options(), key=lambda cards: self._strength(decision, cards)))
        return decision.cheapest_legal() if decision.partner_winning else decision.strongest_legal()

    def _strength(self, decision: Decision, cards: tuple[Card, ...]) -> tuple[int, int]:
        return (len(cards), decision.order.strength(cards[0]))


if __name__ == "__main__":
    run(GreedyBot)
