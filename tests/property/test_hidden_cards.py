"""Cards that a seat cannot see change nothing that it is told, at any step of any deal of any preset.

A deal is played at random. Then cards that one seat, the watcher, does not hold are exchanged, and everybody acts as
before; buried and darkly shown cards, which nobody else sees, are those that lie there now. As long as everything
that the watcher may know (:func:`facts`) is the same in both deals, it must be told the same, to the byte: each
event, and its observation after each action.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from chaodipi.engine import (
    Action,
    Bury,
    Card,
    Deal,
    Event,
    Pass,
    Phase,
    Play,
    RuleError,
    Seat,
    Setup,
    Show,
    preset_names,
    resolve,
    visible,
)
from chaodipi.engine.cards import SEATS
from chaodipi.engine.events import BottomTaken, Buried, CardsDrawn, Passed, Shown

from tests.support.deals import played, random_setup

Told = Callable[[Event, Seat], Event | None]
Script = list[tuple[int, Seat, Action]]
"""Cards drawn so far, seat, action: of everything but passes while declaring."""
Swap = dict[Card, Card]
DEALS = 12
WORLDS = 4
"""Deals of chance for each preset, and other worlds that are tried for each."""


def record(setup: Setup, rng: random.Random) -> Script:
    """A deal of chance as a script."""
    script: Script = []
    for deal, seat, action in played(setup, rng, shows=0.7):
        if deal.phase != Phase.DECLARE or not isinstance(action, Pass):
            script.append((sum(deal.view.hand_sizes), seat, action))
    return script


def replayed(setup: Setup, script: Script, watcher: Seat, swap: Swap) -> Iterator[Deal]:
    """The deal after each action of the script; ends where an action is not possible with these cards."""
    deal = Deal(setup)
    for drawn, seat, action in script:
        while deal.phase == Phase.DECLARE and (asked := deal.to_act) is not None:
            now = sum(deal.view.hand_sizes)
            if now > drawn:
                return
            if now == drawn and asked == seat and isinstance(action, Show):
                break
            deal.act(asked, Pass())
        try:
            deal.act(seat, action if seat == watcher else in_secret(deal, seat, action, swap))
        except RuleError:
            return
        yield deal
    while (asked := deal.to_act) is not None:  # nobody declared: the passes up to the redeal
        deal.act(asked, Pass())
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


def worlds(setup: Setup, script: Script, watcher: Seat, rng: random.Random) -> Iterator[tuple[Setup, Swap]]:
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
    for i, j in [*pairs[: WORLDS - 1], *rng.sample(pairs, 1)]:
        cards = list(setup.cards)
        cards[i], cards[j] = cards[j], cards[i]
        yield replace(setup, cards=tuple(cards)), {cards[i]: cards[j], cards[j]: cards[i]}


def shown_otherwise(setup: Setup, script: Script, watcher: Seat) -> Iterator[tuple[Setup, Swap]]:
    """Where showings are dark: all copies of the shown card exchanged with those of another that the watcher lacks."""
    mine = {c for i, c in enumerate(setup.cards[: 4 * setup.ruleset.hand]) if (setup.first_drawer + i) % 4 == watcher}
    for _, seat, action in script:
        if isinstance(action, Show) and seat != watcher and setup.ruleset.dark:
            for other in Card:
                if (
                    other.rank == action.cards[0].rank
                    and not {other, action.cards[0]} & mine
                    and other != action.cards[0]
                ):
                    swap = {other: action.cards[0], action.cards[0]: other}
                    yield replace(setup, cards=tuple(swap.get(c, c) for c in setup.cards)), swap


class Watcher:
    """What one seat is told of one deal, step by step."""

    def __init__(self, seat: Seat, told: Told) -> None:
        self.seat, self.told, self.done = seat, told, 0

    def news(self, deal: Deal) -> list[str]:
        """Everything that it was told since the last step, and its observation now."""
        events = deal.events[self.done :]
        self.done = len(deal.events)
        said = [repr(seen) for event in events if (seen := self.told(event, self.seat)) is not None]
        return [*said, repr(deal.observation(self.seat).canonical())]


def leaks(name: str, rng: random.Random, told: Told = visible) -> tuple[int, list[str]]:
    """Steps compared in one deal of chance and its other worlds, and what the watcher was told too much."""
    setup = random_setup(resolve(name), rng)
    script, watcher = record(setup, rng), rng.choice(SEATS)
    steps, found = 0, []
    for world, swap in [*worlds(setup, script, watcher, rng), *shown_otherwise(setup, script, watcher)]:
        mine, others = Watcher(watcher, told), Watcher(watcher, told)
        here, there = replayed(setup, script, watcher, {}), replayed(world, script, watcher, swap)
        for one, other in zip(here, there, strict=False):
            if facts(one, watcher) != facts(other, watcher):
                break
            steps += 1
            said = mine.news(one), others.news(other)
            if said[0] != said[1]:
                found.append(" / ".join(next((pair for pair in zip(*said, strict=False) if len(set(pair)) > 1), ())))
                break
    return steps, found


@pytest.mark.clauses("S0-34", "S2a-37", "S3-01", "S3-65", "S4-24", "Q110", "Q111", "Q112")
@pytest.mark.parametrize("name", preset_names())
def test_hidden_cards_change_nothing_that_a_seat_is_told(name: str):
    """From the first card to the last trick."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    steps = 0
    for _ in range(DEALS):
        compared, found = leaks(name, rng)
        steps += compared
        assert not found, "\n".join(found)
    assert steps > 20 * DEALS, "the other worlds end too soon to show anything"


@pytest.mark.parametrize("kind", [CardsDrawn, BottomTaken, Buried, Passed])
def test_a_planted_leak_is_noticed(kind: type[Event]):
    """If one kind of private event reached everybody whole, some deal would show it."""

    def leaky(event: Event, seat: Seat) -> Event | None:
        return event if isinstance(event, kind) else visible(event, seat)

    rng = random.Random(1)
    assert any(leaks("ming_chao", rng, leaky)[1] for _ in range(60))


@pytest.mark.parametrize("name", [name for name in preset_names() if resolve(name).dark])
def test_a_dark_showing_that_is_told_is_noticed(name: str):
    """If a dark showing were told with its cards, some deal would show it."""

    def leaky(event: Event, seat: Seat) -> Event | None:
        return event if isinstance(event, Shown) else visible(event, seat)

    rng = random.Random(1)
    assert any(leaks(name, rng, leaky)[1] for _ in range(60))
