"""Facts that hold for every hand and lead, whatever the cards."""

from itertools import islice

import pytest
from chaodipi.engine.cards import Card, Rank, Suit, deck
from chaodipi.engine.defaults import default_key
from chaodipi.engine.follow import Follows, default_follow, multisets
from chaodipi.engine.lead import check_lead
from chaodipi.engine.order import Order, order_for
from chaodipi.engine.ruleset import resolve
from chaodipi.engine.shapes import shape_of
from chaodipi.engine.trick import winner_index
from hypothesis import given
from hypothesis import strategies as st

PRESETS = ("ming_chao", "kang_qi", "huanle_1", "huanle_2", "huanle_3")


@st.composite
def positions(draw: st.DrawFn) -> tuple[Order, list[Card], list[Card]]:
    """An order, a hand that is rich in one class, and a lead of that class."""
    preset = draw(st.sampled_from(PRESETS))
    order = order_for(resolve(preset), draw(st.sampled_from(Rank)), draw(st.sampled_from(Suit)))
    cards = draw(st.permutations(deck(order.ruleset.decks)))
    cls = order.class_of(cards[0])
    of_class, others = order.of_class(cards, cls), [card for card in cards if order.class_of(card) != cls]
    size = draw(st.integers(1, 6))
    lead, rest = of_class[:size], of_class[size:]
    held = draw(st.integers(0, min(12, len(rest))))
    hand = rest[:held] + others[: max(0, len(lead) - held) + draw(st.integers(0, 3))]
    return order, hand, lead


@given(positions())
def test_counted_listed_and_checked_agree(position: tuple[Order, list[Card], list[Card]]) -> None:
    """The number of legal follows is the number listed, each once, each accepted by the check."""
    order, hand, lead = position
    follows = Follows(order, hand, lead)

    listed = list(islice(follows, 3_000))

    assert len(set(listed)) == len(listed)
    assert follows.count() == len(listed) or len(listed) == 3_000
    assert all(cards in follows for cards in listed[:200])


@given(positions())
def test_every_refused_play_is_missing_from_the_list(position: tuple[Order, list[Card], list[Card]]) -> None:
    """Accepted and listed are the same set, over all plays of the right number of cards."""
    order, hand, lead = position
    follows = Follows(order, hand, lead)
    plays = [order.sort(cards) for cards in islice(multisets(hand, len(lead)), 1_500)]

    listed = set(islice(follows, 5_000))

    if len(listed) < 5_000:
        assert [cards for cards in plays if (cards in follows) != (cards in listed)] == []


@given(positions())
def test_default_follow_is_the_lowest_legal_one(position: tuple[Order, list[Card], list[Card]]) -> None:
    """The host's default is legal, and no legal follow is lower card by card (Q122)."""
    order, hand, lead = position

    def key(cards: tuple[Card, ...]) -> list[tuple[bool, bool, int, int]]:
        return sorted(default_key(order.ruleset, order.level, card) for card in cards)

    default = default_follow(order, hand, lead)
    follows = Follows(order, hand, lead)

    assert order.sort(default) in follows
    assert key(default) <= min(key(cards) for cards in islice(follows, 3_000))


@given(positions())
def test_forced_cards_are_in_every_follow(position: tuple[Order, list[Card], list[Card]]) -> None:
    """Forced cards are exactly what all legal follows have in common."""
    order, hand, lead = position
    follows = Follows(order, hand, lead)
    listed = list(islice(follows, 3_000))

    if len(listed) < 3_000:
        common = {card: min(cards.count(card) for cards in listed) for card in set(hand)}
        assert {card: follows.forced().count(card) for card in set(hand)} == common


@given(positions(), st.permutations(deck(3)))
def test_a_throw_that_fails_leaves_a_beaten_single_pattern(
    position: tuple[Order, list[Card], list[Card]], cards: list[Card]
) -> None:
    """Of a failed throw one beaten component lies on the table; a throw that stands lies there whole."""
    order, _, lead = position
    rest = list(cards)
    for card in lead:
        rest.remove(card)

    result = check_lead(order, lead, [rest[:25], rest[25:50], rest[50:75]])

    shape = shape_of(order, result.played)
    assert shape is not None
    if result.failed:
        assert not shape.is_throw
        assert sorted(result.played) in [sorted(part) for part in result.beaten]
    else:
        assert sorted(result.played) == sorted(lead)


@given(positions())
def test_a_play_equal_to_the_lead_does_not_win(position: tuple[Order, list[Card], list[Card]]) -> None:
    """Of equal plays the first is ahead (S1-67, S2b-25)."""
    order, _, lead = position

    assert winner_index(order, [lead, lead]) == 0


@pytest.mark.parametrize("preset", PRESETS)
@given(level=st.sampled_from(Rank), trump=st.sampled_from(Suit))
def test_strengths_order_each_class(preset: str, level: Rank, trump: Suit) -> None:
    """In a class only other level cards (and permanent 2s) share a strength; all 54 faces have a class."""
    order = order_for(resolve(preset), level, trump)

    for card in Card:
        equals = [
            c for c in Card if order.class_of(c) == order.class_of(card) and order.strength(c) == order.strength(card)
        ]
        assert len(equals) == 1 or all(c.rank == level for c in equals)
