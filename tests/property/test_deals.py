"""What holds in every deal of every preset, at every step; and that the checks notice when it does not."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import pytest
from chaodipi.engine import (
    ActionKind,
    Deal,
    Phase,
    Ruleset,
    Seat,
    Setup,
    Show,
    Suit,
    View,
    preset_names,
    resolve,
    visible,
)
from chaodipi.engine.cards import HEART_FIVE, SEATS
from chaodipi.engine.events import CardsDrawn
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.deals import check_partition, check_score, check_turn, played, random_setup

PRESETS = pytest.mark.parametrize("ruleset", [resolve(name) for name in preset_names()], ids=preset_names())
SEEDS = st.integers(0, 2**32 - 1)
DEALS = settings(max_examples=20)


def some_deal(ruleset: Ruleset, seed: int, actions: int = 10**9) -> Deal:
    """A deal after so many of its actions."""
    rng = random.Random(seed)
    deal = None
    for number, (now, _, _) in enumerate(played(random_setup(ruleset, rng), rng)):
        deal = now
        if number == actions:
            break
    assert deal is not None
    return deal


@pytest.mark.clauses(
    "S0-01", "S1-68", "S3-58", "S3-59", "S3-60", "S3-61", "S3-62", "S3-63", "S4-59", "S4-60", "S4-61", "S4-62"
)
@PRESETS
@DEALS
@given(seed=SEEDS)
def test_cards_are_never_lost_and_never_made(ruleset: Ruleset, seed: int):
    """Hands, bottom, table and tricks are the decks; so no hand ever has too many or too few cards."""
    rng = random.Random(seed)
    for deal, _, _ in played(random_setup(ruleset, rng), rng):
        check_partition(deal)
    check_partition(deal)
    if deal.view.phase == Phase.ENDED and deal.view.tricks:
        assert set(deal.view.hand_sizes) == {0}


@pytest.mark.clauses("S4-12", "S4-14")
@PRESETS
@DEALS
@given(seed=SEEDS)
def test_cards_are_dealt_in_turn_until_the_bottom_is_left(ruleset: Ruleset, seed: int):
    """One card each, from the first drawer on in playing order; what the hands leave is the bottom."""
    rng = random.Random(seed)
    setup = random_setup(ruleset, rng)
    deal = some_deal(ruleset, seed)
    drawn = [event for event in deal.events if isinstance(event, CardsDrawn)]
    seats = [event.seat for event in drawn for _ in event.cards]

    assert all(len(event.cards) == 1 for event in drawn)
    assert [card for event in drawn for card in event.cards] == list(setup.cards[: len(drawn)])
    assert seats == [SEATS[(setup.first_drawer + i) % 4] for i in range(len(drawn))]
    assert len(setup.cards) - len(drawn) in (ruleset.bottom, 0)


@pytest.mark.clauses("S0-02", "S0-09", "S0-26")
@PRESETS
@DEALS
@given(seed=SEEDS)
def test_points_add_up(ruleset: Ruleset, seed: int):
    """100 a pack are taken or dug or lie in the bottom, and the final score is what was taken, booked and dug."""
    check_score(some_deal(ruleset, seed))


@pytest.mark.clauses("S1-26", "S0-20")
@PRESETS
@DEALS
@given(seed=SEEDS)
def test_one_seat_may_act_and_no_other(ruleset: Ruleset, seed: int):
    """Until the deal ends somebody always has a legal action, and everybody else is refused everything."""
    rng = random.Random(seed)
    for deal, seat, action in played(random_setup(ruleset, rng), rng):
        check_turn(deal, seat, action)


@PRESETS
@DEALS
@given(seed=SEEDS, part=st.floats(0, 1))
def test_events_are_the_whole_state(ruleset: Ruleset, seed: int, part: float):
    """Folding a deal's events, all or a seat's own, gives its view, in the middle and at the end."""
    whole = len(some_deal(ruleset, seed).events)
    rng = random.Random(seed)
    for deal, _, _ in played(random_setup(ruleset, rng), rng):
        if len(deal.events) >= part * whole:
            break
    assert View(ruleset, None, deal.events) == deal.view
    for seat in SEATS:
        told = [seen for event in deal.events if (seen := visible(event, seat)) is not None]
        assert View(ruleset, seat, told).canonical() == deal.observation(seat).canonical()


@PRESETS
@DEALS
@given(seed=SEEDS)
def test_the_same_actions_give_the_same_events(ruleset: Ruleset, seed: int):
    """A deal is a function of its setup and its actions."""
    rng = random.Random(seed)
    setup = random_setup(ruleset, rng)
    actions = [(seat, action) for _, seat, action in played(setup, rng)]
    first, again = Deal(setup), Deal(setup)
    for seat, action in actions:
        first.act(seat, action)
        again.legal_actions(seat)
        again.observation(Seat.S0)  # looking changes nothing
        again.default_action(seat)
        again.act(seat, action)
    assert first.events == again.events
    assert first.over


def _attempts(deal: Deal, seat: Seat) -> Iterator[Show]:
    """Every set of up to four level cards, jokers and heart fives of the hand, with every name and both ways."""
    level = deal.view.level
    cards = [c for c in deal.view.hand(seat) if c.is_joker or c.rank == level or c == HEART_FIVE]
    for count in range(1, min(4, len(cards)) + 1):
        for chosen in sorted(set(combinations(cards, count))):
            for named in (None, *Suit):
                yield Show(chosen, named)
            yield Show(chosen, looking_back=True)


@pytest.mark.clauses("S0-15", "S0-21")
@PRESETS
@settings(max_examples=6)
@given(seed=SEEDS)
def test_a_showing_is_accepted_if_and_only_if_it_is_listed(ruleset: Ruleset, seed: int):
    """Whatever a seat could lay down, in every state of declaring and stirring."""
    rng = random.Random(seed)
    for deal, seat, _ in played(random_setup(ruleset, rng), rng):
        if ActionKind.SHOW in deal.legal_actions(seat).kinds and rng.random() < 0.3:
            accepted = Counter(show for show in _attempts(deal, seat) if deal.can(seat, show))
            listed = Counter(replace(show, cards=tuple(sorted(show.cards))) for show in deal.legal_actions(seat).shows)
            assert accepted == listed


@PRESETS
@DEALS
@given(seed=SEEDS)
def test_a_follow_is_accepted_if_and_only_if_it_is_listed(ruleset: Ruleset, seed: int):
    """And counted once: of every hand that must follow with few choices, all plays are tried."""
    rng = random.Random(seed)
    for deal, seat, _ in played(random_setup(ruleset, rng), rng):
        follows, lead = deal.legal_actions(seat).follows, deal.view.lead
        hand = sorted(deal.view.hand(seat))
        if follows is None or lead is None or len(hand) > 8 or rng.random() < 0.5:
            continue
        tried = sorted(set(combinations(hand, len(lead))))
        accepted = [cards for cards in tried if deal.can_play(seat, cards)]
        assert accepted == sorted(tuple(sorted(cards)) for cards in follows)
        assert follows.count() == len(accepted) > 0


# ---- the checks notice faults


def in_play(seed: int = 3) -> Deal:
    """A deal in the middle of its tricks."""
    deal = some_deal(resolve("huanle_2"), seed, actions=60)
    assert deal.phase in (Phase.LEAD, Phase.FOLLOW)
    return deal


def test_a_lost_card_is_noticed():
    deal = in_play()
    seat = next(seat for seat in SEATS if deal.view.hands[seat])
    deal.view.hands[seat].pop()

    with pytest.raises(AssertionError):
        check_partition(deal)


def test_a_card_that_changes_is_noticed():
    deal = in_play()
    seat = next(seat for seat in SEATS if len(set(deal.view.hands[seat])) > 1)
    hand = deal.view.hands[seat]
    hand[0] = hand[-1]

    with pytest.raises(AssertionError):
        check_partition(deal)


def test_points_that_are_counted_for_the_wrong_side_are_noticed():
    deal = next(d for s in range(50) if (d := some_deal(resolve("huanle_2"), s)).view.score and d.view.dealer)
    deal.view.dealer = deal.view.dealer.next

    with pytest.raises(AssertionError):
        check_score(deal)


def test_a_second_seat_that_may_act_is_noticed():
    class Open(Deal):
        def check(self, seat, action):
            """Whoever asks may do it."""

    setup = Setup(resolve("huanle_2"), in_play().setup.cards)
    deal = Open(setup)
    seat = deal.to_act

    with pytest.raises(AssertionError):
        check_turn(deal, seat, deal.default_action(seat))


def test_an_event_that_is_forgotten_is_noticed():
    deal = in_play()

    assert all(View(deal.ruleset, None, deal.events[:i] + deal.events[i + 1 :]) != deal.view for i in (110, -1))
