"""A host without network: every seat is played by a function of the deal."""

import asyncio
import hashlib
from collections.abc import Callable

from chaodipi.engine.actions import Action, Play
from chaodipi.engine.cards import Seat, Side
from chaodipi.engine.deal import Deal
from chaodipi.engine.events import Phase
from chaodipi.engine.scoring import settle
from chaodipi.service.match.table import DecisionRecord, TableResult, TableSpec

Brain = Callable[[Deal, Seat], Action]


def default_brain(deal: Deal, seat: Seat) -> Action:
    return deal.default_action(seat)


def shower(deal: Deal, seat: Seat) -> Action:
    """Shows whatever it may, else the default."""
    shows = deal.legal_actions(seat).shows
    return shows[0] if shows else deal.default_action(seat)


def late(deal: Deal, seat: Seat) -> Action:
    """Declares with one card only, and keeps its pairs for stirring."""
    shows = [show for show in deal.legal_actions(seat).shows if deal.phase != Phase.DECLARE or len(show.cards) == 1]
    return shows[0] if shows else deal.default_action(seat)


def high(deal: Deal, seat: Seat) -> Action:
    """Shows whatever it may, leads its strongest card, else the default."""
    if deal.phase == Phase.LEAD:
        return Play((max(deal.view.hands[seat], key=lambda card: (card.is_joker, card.rank, card)),))
    return shower(deal, seat)


class StandInHost:
    """Plays tables in process; *stagger* lets tables finish out of order."""

    def __init__(self, brains: dict[str, Brain], stagger: bool = False, host_faults: int = 0) -> None:
        self.brains = brains
        self.stagger = stagger
        self.host_faults = host_faults
        self.played: list[str] = []

    async def play_table(self, spec: TableSpec) -> TableResult:
        if self.host_faults:
            self.host_faults -= 1
            return TableResult(spec.table_id, "host_fault", 0, None, None, (), note="on purpose")
        if self.stagger:
            for _ in range(hashlib.sha256(spec.table_id.encode()).digest()[0] % 7):
                await asyncio.sleep(0)
        self.played.append(spec.table_id)
        return play(spec, self.brains)


def play(spec: TableSpec, brains: dict[str, Brain]) -> TableResult:
    decisions: list[DecisionRecord] = []
    for redeals in range(spec.ruleset.redeal_cap + 1):
        deal = Deal(spec.setup(redeals))
        while not deal.over and not deal.redeals_spent:
            seat = deal.to_act
            assert seat is not None
            action = brains[spec.bots[seat]](deal, seat)
            deal.act(seat, action)
            decisions.append(DecisionRecord(seat, action, redeals))
        if deal.redeals_spent:
            break
        end, view = deal.view.end, deal.view
        assert end is not None
        if end.how == "redeal":
            continue
        dealer = view.dealer
        assert dealer is not None
        levels = deal.setup.levels
        settlement = settle(
            spec.ruleset,
            dealer,
            end.score,
            {side: deal.setup.position(side) for side in Side},
            order=view.order,
            last_winner=None if end.last_winner is None else end.last_winner.side,
            last_play=end.last_play,
        )
        return TableResult(
            spec.table_id, "played", settlement.score, dealer, settlement, tuple(decisions), levels=levels
        )
    return TableResult(spec.table_id, "no_declaration", 0, None, None, tuple(decisions))
