"""Deals that differ in cards which one seat cannot see, and what the rules let that seat know of each.

A deal is played at random and kept as a script. Then cards that one seat, the watcher, does not hold are exchanged,
and everybody acts as before; buried and darkly shown cards, which nobody else sees, are those that lie there now. As
long as everything that the watcher may know (:func:`facts`) is the same in both deals, it must be told the same.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from chaodipi.engine import Action, Bury, Card, Deal, Pass, Phase, Play, RuleError, Seat, Setup, Show
from chaodipi.engine.cards import SEATS

from tests.support.deals import played

Script = list[tuple[int, Seat, Action]]
"""Cards drawn so far, seat, action: of everything but passes while declaring."""
Swap = dict[Card, Card]
WORLDS = 4
"""Other worlds that are tried for each deal."""


def _nothing(_deal: Deal, _seat: Seat, _action: Action) -> None:
    return None


def record(setup: Setup, rng: random.Random) -> Script:
    """A deal of chance as a script."""
    script: Script = []
    for deal, seat, action in played(setup, rng, shows=0.7):
        if deal.phase != Phase.DECLARE or not isinstance(action, Pass):
            script.append((sum(deal.view.hand_sizes), seat, action))
    return script


def replayed(
    setup: Setup, script: Script, watcher: Seat, swap: Swap, acted: Callable[[Deal, Seat, Action], None] = _nothing
) -> Iterator[Deal]:
    """
    The deal after each action of the script; ends where an action is not possible with these cards.

    *acted* is told every action, passes too, with the deal as it was before it.
    """
    deal = Deal(setup)

    def act(seat: Seat, action: Action) -> None:
        deal.check(seat, action)
        acted(deal, seat, action)
        deal.act(seat, action)

    for drawn, seat, action in script:
        while deal.phase == Phase.DECLARE and (asked := deal.to_act) is not None:
            now = sum(deal.view.hand_sizes)
            if now > drawn:
                return
            if now == drawn and asked == seat and isinstance(action, Show):
                break
            act(asked, Pass())
        try:
            act(seat, action if seat == watcher else in_secret(deal, seat, action, swap))
        except RuleError:
            return
        yield deal
    while (asked := deal.to_act) is not None:  # nobody declared: the passes up to the redeal
        act(asked, Pass())
    yield deal


def in_secret(deal: Deal, seat: Seat, action: Action, swap: Swap) -> Action:
    """The action with cards that the seat holds in this world, where nobody sees the difference."""
    if isinstance(action, Bury) or (isinstance(action, Show) and deal.ruleset.dark):
        held = Counter(deal.view.hands[seat])
        cards = []
        for card in action.cards:
            use = card if held[card] else swap.get(card, card)
            held[use] -= 1
            cards.append(use)
        return replace(action, cards=tuple(cards))
    return action


def facts(deal: Deal, watcher: Seat) -> Any:
    """Everything that the rules let *watcher* know by now, gathered from the host's view and not from its own."""
    view = deal.view
    open_shows = not deal.ruleset.dark or view.phase not in (Phase.DECLARE, Phase.BURY, Phase.STIR)
    return (
        sorted(view.hands[watcher]),
        list(view.hand_sizes) if view.phase != Phase.DECLARE else None,
        view.phase,
        deal.to_act if view.phase != Phase.DECLARE else None,
        [(play.seat, play.cards) for trick in [*(t.plays for t in view.tricks), view.trick] for play in trick],
        list(view.attempts),
        [
            (s.seat, s.kind if open_shows else None, s.cards if open_shows or s.seat == watcher else ())
            for s in view.shown
        ],
        view.trump if open_shows else None,
        # Whose showing stands is known by who is passed over in the stirring (Q102).
        (view.dealer, view.caller, view.turned, list(view.asked), view.stake),
        (view.score, list(view.adjustments)),
        view.bottom if view.bottom_owner == watcher or view.phase == Phase.ENDED else None,
        view.end,
    )


def worlds(
    setup: Setup, script: Script, watcher: Seat, rng: random.Random, count: int = WORLDS
) -> Iterator[tuple[Setup, Swap]]:
    """The deal with two cards exchanged that the watcher does not hold, those first that nobody plays for long."""
    last: dict[tuple[Seat, Card], int] = {}
    for step, (_, seat, action) in enumerate(script):
        if isinstance(action, Play | Show):
            last.update(((seat, card), step) for card in action.cards)
    hand = len(setup.cards) - len(setup.cards) % 4 if setup.ruleset.bottom == 0 else 4 * setup.ruleset.hand

    def hidden_until(place: int) -> int:
        holder = SEATS[(setup.first_drawer + place) % 4]
        return len(script) if place >= hand else last.get((holder, setup.cards[place]), len(script))

    places = [i for i in range(len(setup.cards)) if i >= hand or SEATS[(setup.first_drawer + i) % 4] != watcher]
    pairs = [(i, j) for i, j in (rng.sample(places, 2) for _ in range(60)) if setup.cards[i] != setup.cards[j]]
    pairs = [(i, j) for i, j in pairs if i < hand or j < hand]  # who takes the bottom may know its order
    pairs.sort(key=lambda pair: -min(map(hidden_until, pair)))
    for i, j in [*pairs[: count - 1], *rng.sample(pairs, 1)]:
        cards = list(setup.cards)
        cards[i], cards[j] = cards[j], cards[i]
        yield replace(setup, cards=tuple(cards)), {cards[i]: cards[j], cards[j]: cards[i]}


def shown_otherwise(setup: Setup, script: Script, watcher: Seat) -> Iterator[tuple[Setup, Swap]]:
    """Where showings are dark: all copies of the shown card exchanged with those of another that the watcher lacks."""
    mine = {c for i, c in enumerate(setup.cards[: 4 * setup.ruleset.hand]) if (setup.first_drawer + i) % 4 == watcher}
    bottom = set(setup.cards[4 * setup.ruleset.hand :])
    for _, seat, action in script:
        if isinstance(action, Show) and seat != watcher and setup.ruleset.dark:
            for other in Card:
                if (
                    other.rank == action.cards[0].rank
                    and not {other, action.cards[0]} & mine
                    and other != action.cards[0]
                    and not {other, action.cards[0]} <= bottom  # who takes the bottom may know its order
                ):
                    swap = {other: action.cards[0], action.cards[0]: other}
                    yield replace(setup, cards=tuple(swap.get(c, c) for c in setup.cards)), swap
