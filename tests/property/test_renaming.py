"""Seats and suits are names: turning the table or renaming suits renames the answers and changes nothing else.

Suits are exchanged where no rule puts them in order: in leading, following and tricks. The ladder, ties of a failed
throw and the host's default actions do order them, and the heart five of the rooms is a heart.
"""

import random
from collections import Counter
from dataclasses import fields, is_dataclass, replace
from enum import IntEnum
from typing import Any

import pytest
from chaodipi.engine import (
    Action,
    Card,
    Deal,
    Follows,
    Order,
    Rank,
    Ruleset,
    Seat,
    Setup,
    Side,
    Suit,
    check_lead,
    deck,
    dig_multiplier,
    order_for,
    preset_names,
    resolve,
    winner_index,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.deals import played, random_setup

PRESETS = pytest.mark.parametrize("ruleset", [resolve(name) for name in preset_names()], ids=preset_names())
SEEDS = st.integers(0, 2**32 - 1)
SUITS = (Suit.CLUBS, Suit.DIAMONDS, Suit.HEARTS, Suit.SPADES)
Names = dict[Suit, Suit]


# ---- seats


def turned(value: Any, name: str = "") -> Any:
    """An event or a part of one, each seat being the next one."""
    if isinstance(value, Seat):
        return value.next
    if isinstance(value, Side):
        return value.other
    if is_dataclass(value) and not isinstance(value, type | IntEnum):
        changed = {f.name: turned(getattr(value, f.name), f.name) for f in fields(value)}
        return replace(value, **changed)
    if isinstance(value, tuple) and name in ("levels", "laps"):
        return value[::-1]
    if isinstance(value, tuple) and name in ("sizes", "hand_sizes"):
        return (value[3], *value[:3])
    return tuple(turned(part) for part in value) if isinstance(value, tuple) else value


def turned_setup(setup: Setup) -> Setup:
    """The same deal one seat further."""
    return Setup(
        setup.ruleset,
        setup.cards,
        setup.first_drawer.next,
        None if setup.dealer is None else setup.dealer.next,
        setup.levels[::-1],
        None if setup.on_stage is None else setup.on_stage.other,
        setup.first_deal,
        setup.redeals,
        setup.laps[::-1],
    )


@PRESETS
@settings(max_examples=15)
@given(seed=SEEDS)
def test_turning_the_table_turns_every_event(ruleset: Ruleset, seed: int):
    """The same cards and actions one seat further give the same events one seat further."""
    rng = random.Random(seed)
    setup = random_setup(ruleset, rng)
    actions: list[tuple[Seat, Action]] = [(seat, action) for _, seat, action in played(setup, rng)]
    here, there = Deal(setup), Deal(turned_setup(setup))
    for seat, action in actions:
        assert there.to_act == seat.next
        assert here.default_action(seat) == there.default_action(seat.next)
        here.act(seat, action)
        there.act(seat.next, action)

    assert [turned(event) for event in here.events] == there.events


# ---- suits


def renamings(ruleset: Ruleset) -> st.SearchStrategy[Names]:
    """Any exchange of suits; hearts stay where the heart five is a card of its own."""
    free = [suit for suit in SUITS if ruleset.heart_five == "plain" or suit != Suit.HEARTS]
    return st.permutations(free).map(
        lambda to: {**dict(zip(SUITS, SUITS, strict=True)), **dict(zip(free, to, strict=True))}
    )


def renamed(names: Names, cards: Any) -> tuple[Card, ...]:
    return tuple(card if card.is_joker else Card.of(names[card.suit], card.rank) for card in cards)


def two_orders(ruleset: Ruleset, level: Rank, trump: Suit, names: Names) -> tuple[Order, Order]:
    other = trump if trump == Suit.NO_TRUMP else names[trump]
    return order_for(ruleset, level, trump), order_for(ruleset, level, other)


def some_cards(ruleset: Ruleset, order: Order, rng: random.Random) -> tuple[list[Card], list[Card]]:
    """All cards in chance order, those of one class first: so leads and hands hold pairs and tractors."""
    cards = list(deck(ruleset.decks))
    rng.shuffle(cards)
    cls = order.class_of(cards[0])
    start = rng.choice(list(Rank)[:9])
    near = [c for c in cards if order.class_of(c) == cls and (c.is_joker or start <= c.rank <= start + 5)]
    return near, [card for card in cards if order.class_of(card) != cls]


@PRESETS
@settings(max_examples=60)
@given(data=st.data(), seed=SEEDS)
def test_renaming_suits_renames_the_legal_follows(ruleset: Ruleset, data: st.DataObject, seed: int):
    """The follows of the renamed hand are the renamed follows."""
    rng, names = random.Random(seed), data.draw(renamings(ruleset))
    here, there = two_orders(ruleset, rng.choice(list(Rank)[:13]), rng.choice(list(Suit)), names)
    near, rest = some_cards(ruleset, here, rng)
    size = rng.randint(1, min(5, len(near)))
    lead, hand = near[:size], [*near[size : size + rng.randint(0, 7)], *rest[:size]]

    one, other = Follows(here, hand, lead), Follows(there, renamed(names, hand), renamed(names, lead))

    assert one.count() == other.count()
    assert Counter(other.forced()) == Counter(renamed(names, one.forced()))
    for _ in range(30):
        cards = tuple(rng.sample(hand, size))
        assert (here.sort(cards) in one) == (there.sort(renamed(names, cards)) in other)


@PRESETS
@settings(max_examples=60)
@given(data=st.data(), seed=SEEDS)
def test_renaming_suits_renames_leads_and_winners(ruleset: Ruleset, data: st.DataObject, seed: int):
    """A throw stands or fails alike, the same play wins, and it digs as much."""
    rng, names = random.Random(seed), data.draw(renamings(ruleset))
    here, there = two_orders(ruleset, rng.choice(list(Rank)[:13]), rng.choice(list(Suit)), names)
    near, rest = some_cards(ruleset, here, rng)
    size = rng.randint(1, min(5, len(near)))
    lead, others = near[:size], [near[size + i :: 3] for i in range(3)]

    one = check_lead(here, lead, others)
    other = check_lead(there, renamed(names, lead), [renamed(names, hand) for hand in others])
    assert (one.throw, one.failed, len(one.beaten)) == (other.throw, other.failed, len(other.beaten))
    # Of parts with equal tops the suits decide which one lies on the table (Q121).
    assert sorted(map(here.strength, one.played)) == sorted(map(there.strength, other.played))

    trumps = [card for card in rest if here.is_trump(card)]
    plays = [lead, *(rng.sample(pool, size) for pool in (near, trumps, rest) if len(pool) >= size)]
    assert winner_index(here, plays) == winner_index(there, [renamed(names, play) for play in plays])
    assert dig_multiplier(here, lead) == dig_multiplier(there, renamed(names, lead))


def test_a_seat_with_a_rule_of_its_own_is_noticed():
    """If one seat's events differed, turning would show it."""
    setup = random_setup(resolve("huanle_2"), random.Random(1))
    deal = Deal(setup)
    events = list(deal.events)

    assert [turned(turned(turned(turned(event)))) for event in events] == events
    assert [turned(event) for event in events] != events


def test_a_suit_with_a_rule_of_its_own_is_noticed():
    """Renaming hearts in a room is a difference, for the heart five is one."""
    ruleset, names = resolve("ming_chao"), {**dict(zip(SUITS, SUITS, strict=True)), Suit.HEARTS: Suit.CLUBS}
    here, _ = two_orders(ruleset, Rank.EIGHT, Suit.SPADES, names)
    five = Card.of(Suit.HEARTS, Rank.FIVE)

    assert here.is_trump(five)
    assert not here.is_trump(renamed(names, [five])[0])
