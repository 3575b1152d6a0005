"""What a seat is told does not depend on cards that it cannot see; and this test notices if it did."""

import random
from collections.abc import Callable

import pytest
from chaodipi.engine import Deal, Pass, Phase, Rank, Seat, Setup, Side, deck, preset_names, resolve
from chaodipi.engine.actions import Action
from chaodipi.engine.events import BottomTaken, Buried, CardsDrawn, Event, Passed, Shown, visible

Told = Callable[[Event, Seat], Event | None]
WATCHERS = (Seat.S0, Seat.S3)
"""Their cards are the same in both deals; those of seats 1 and 2 and the bottom are shuffled anew."""


def _act(deal: Deal, seat: Seat) -> Action:
    """Seat 3 shows what it can; everybody else passes, buries and plays by default."""
    legal = deal.legal_actions(seat)
    if seat == Seat.S3 and deal.phase == Phase.DECLARE and legal.shows:
        return legal.shows[0]
    return Pass() if legal.shows else deal.default_action(seat)


def _two_deals(preset: str, rng: random.Random) -> tuple[Deal, Deal]:
    """Two deals up to the first lead that differ only in what seats 0 and 3 cannot see; seat 1 deals."""
    ruleset = resolve(preset)
    cards = list(deck(ruleset.decks))
    rng.shuffle(cards)
    hidden = [i for i in range(len(cards)) if i >= 4 * ruleset.hand or i % 4 in (1, 2)]
    other = list(cards)
    for i, j in zip(hidden, rng.sample(hidden, len(hidden)), strict=True):
        other[i] = cards[j]
    deals = []
    for order in (cards, other):
        levels = (Rank.SEVEN, Rank.SEVEN)
        deal = Deal(Setup(ruleset, tuple(order), Seat.S0, Seat.S1, levels, Side.SIDE_13, False))
        while deal.phase in (Phase.DECLARE, Phase.BURY, Phase.STIR) and (seat := deal.to_act) is not None:
            deal.act(seat, _act(deal, seat))
        deals.append(deal)
    return deals[0], deals[1]


def _differs(a: Deal, b: Deal, told: Told) -> bool:
    """Whether a watching seat was told anything different in the two deals, to the byte."""
    for seat in WATCHERS:
        seen = [repr([event for raw in deal.events if (event := told(raw, seat))]).encode() for deal in (a, b)]
        if seen[0] != seen[1]:
            return True
    return False


def _declared(preset: str) -> tuple[Deal, Deal]:
    """Such a pair of deals in which seat 3 declared, so that no bottom card was turned up."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    while True:
        a, b = _two_deals(preset, rng)
        if not (a.view.undeclared or b.view.undeclared) and a.view.bottom != b.view.bottom:
            return a, b


@pytest.mark.parametrize("preset", preset_names())
def test_hidden_cards_do_not_change_what_a_seat_is_told(preset: str) -> None:
    """Draws, passes while declaring, the bottom and the burying of others leave no trace (Q110 to Q112)."""
    for _ in range(10):
        a, b = _declared(preset)
        assert a.view != b.view
        assert not _differs(a, b, visible)
        for seat in WATCHERS:
            assert a.observation(seat).canonical() == b.observation(seat).canonical()


@pytest.mark.parametrize("leak", [CardsDrawn, BottomTaken, Buried])
def test_a_planted_leak_is_noticed(leak: type[Event]) -> None:
    """If one kind of private event reached everybody whole, the comparison would fail."""

    def leaky(event: Event, seat: Seat) -> Event | None:
        return event if isinstance(event, leak) else visible(event, seat)

    a, b = _declared("ming_chao")

    assert _differs(a, b, leaky)


def test_a_leak_of_who_was_asked_is_noticed() -> None:
    """Passes while declaring tell who could have shown; published, they would differ in some deal."""

    def leaky(event: Event, seat: Seat) -> Event | None:
        return event if isinstance(event, Passed) else visible(event, seat)

    assert any(_differs(*_declared("huanle_2"), leaky) for _ in range(20))


def test_what_is_public_is_told() -> None:
    """Seat 0 is told of seat 3's showing with its cards: the comparison looks at real events."""
    a, _ = _declared("ming_chao")

    shown = [event for event in a.events if isinstance(event, Shown)]
    assert shown
    assert all(visible(event, Seat.S0) == event for event in shown)
