"""Cards that a seat cannot see change nothing that it is told, at any step of any deal of any preset.

The deals and their other worlds are those of :mod:`tests.support.worlds`: as long as everything that the watching
seat may know is the same in both, it must be told the same, to the byte: each event, and its observation after each
action. What a session receives over the wire is compared in the same way by ``tests/integration/test_no_leak.py``.
"""

import random
from collections.abc import Callable

import pytest
from chaodipi.engine import Deal, Event, Seat, preset_names, resolve, visible
from chaodipi.engine.cards import SEATS
from chaodipi.engine.events import BottomTaken, Buried, CardsDrawn, Passed, Shown

from tests.support.deals import random_setup
from tests.support.worlds import facts, record, replayed, shown_otherwise, worlds

Told = Callable[[Event, Seat], Event | None]
DEALS = 12
"""Deals of chance for each preset."""


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
