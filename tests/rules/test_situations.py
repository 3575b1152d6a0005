"""Situations over which players argue, or which other engines of this family got wrong: none of them here.

Each line of ``situations.jsonl`` is a question to the judge for several presets, or names the tests that show it
(``shown_by``): what needs hidden hands, other processes or the host is shown there or below.
"""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from chaodipi.engine import (
    Deal,
    Event,
    Follows,
    Pass,
    Phase,
    Play,
    Rank,
    Ruleset,
    Seat,
    Setup,
    Suit,
    deck,
    order_for,
    parse_cards,
    preset_names,
    resolve,
    shape_of,
    visible,
)
from chaodipi.engine.cards import SEATS
from chaodipi.engine.events import DealEnded, Played
from chaodipi.engine.rungs import is_higher

from tests.support.golden import RULES, as_params, lines_of, mistakes, most_copies, report, situations

ROOT = Path(__file__).parents[2]
ENTRIES = lines_of(RULES / "situations.jsonl")
LINES = situations()
PRESETS = pytest.mark.parametrize("ruleset", [resolve(name) for name in preset_names()], ids=preset_names())


@pytest.mark.parametrize("line", as_params(LINES))
def test_situation(line):
    found = mistakes(line)
    if found:
        pytest.fail(f"{line['note']}\n{report(line, found)}", pytrace=False)
    assert most_copies(line["ask"]) <= resolve(line["preset"]).decks


def test_every_test_that_is_named_exists():
    """What a line says to be shown elsewhere is shown there."""
    for entry in ENTRIES:
        assert ("ask" in entry) != ("shown_by" in entry)
        for node in entry.get("shown_by", ()):
            path, _, name = node.partition("::")
            assert f"def {name}(" in (ROOT / path).read_text("utf-8"), f"{entry['id']}: {node}"


# ---- what no question to the judge can show


@PRESETS
def test_a_failed_throw_tells_what_was_tried_and_not_who_could_beat_it(ruleset: Ruleset):
    """SIT-07, Q112: whoever holds the higher card, seat 2 is told the same, and of the whole attempt."""
    told = []
    for beater in (1, 3):
        hands = {Seat.S0: "D9 D7 C4 C6", Seat.S1: "D3 D4 C5 C7", Seat.S2: "D6 C3 S3 S4", Seat.S3: "D3 D4 C5 C7"}
        hands[Seat(beater)] = "D3 DA C5 C7"
        if ruleset.decks == 1:
            hands[Seat(4 - beater)] = "D2 D4 C9 CT"
        given = {seat: parse_cards(text) for seat, text in hands.items()}
        deal = Deal.from_position(
            ruleset, given, dealer=Seat.S0, levels=(Rank.EIGHT, Rank.EIGHT), phase=Phase.LEAD, trump=Suit.HEARTS,
            tricks_left=4,  # not the first trick, where Q45 may allow no throw
        )  # fmt: skip
        events = deal.act(Seat.S0, Play(parse_cards("D9 D7")))
        assert [sorted(e.attempted or ()) for e in events if isinstance(e, Played)] == [sorted(parse_cards("D9 D7"))]
        told.append([visible(event, Seat.S2) for event in events])
    assert told[0] == told[1]


@PRESETS
def test_a_ladder_is_a_strict_order(ruleset: Ruleset):
    """SIT-44: of two rungs exactly one is higher, and what is higher than the higher is higher than both."""
    rungs = ruleset.ladder
    for a in rungs:
        assert not is_higher(ruleset, a, a)
        for b in rungs:
            assert a == b or is_higher(ruleset, a, b) != is_higher(ruleset, b, a)
            for c in rungs:
                if is_higher(ruleset, a, b) and is_higher(ruleset, b, c):
                    assert is_higher(ruleset, a, c)


@PRESETS
def test_who_draws_the_last_card_may_show_it(ruleset: Ruleset):
    """SIT-47, Q110: the declaring is not over with the last card, neither for its drawer nor for the others."""
    club_two = parse_cards("C2")
    cards = [card for card in deck(ruleset.decks) if (card,) != club_two]
    cards.insert(4 * ruleset.hand - 1, club_two[0])
    deal = Deal(Setup(ruleset, (*cards, *club_two * (ruleset.decks - 1)), Seat.S0))
    offered: list[tuple[Seat, bool]] = []
    while deal.phase == Phase.DECLARE and (seat := deal.to_act) is not None:
        if sum(deal.view.hand_sizes) == 4 * ruleset.hand:
            offered.append((seat, any(show.cards == club_two for show in deal.legal_actions(seat).shows)))
        deal.act(seat, Pass())

    assert offered[0] == (Seat.S3, True)  # the last card is seat 3's
    assert len(offered) > 1


@PRESETS
def test_everybody_sees_the_bottom_at_the_end(ruleset: Ruleset):
    """SIT-65, Q112: with no points in it, and whoever won the last trick."""
    bottom = parse_cards("C3 C4 C6 C7 D3 D4 D6 D7")[: ruleset.bottom]
    given = {seat: parse_cards(text) for seat, text in zip(SEATS, ("SA", "S3", "S4", "S6"), strict=True)}
    deal = Deal.from_position(
        ruleset,
        given,
        bottom=bottom,
        dealer=Seat.S0,
        levels=(Rank.EIGHT, Rank.EIGHT),
        phase=Phase.LEAD,
        trump=Suit.HEARTS,
    )
    events: list[Event] = []
    for seat in SEATS:
        events += deal.act(seat, Play(given[seat]))
    for seat in SEATS:
        (end,) = [seen for event in events if isinstance(seen := visible(event, seat), DealEnded)]
        assert end.bottom == bottom


_ONE_DEAL = """
import random
from chaodipi.engine import Deal, Seat, Setup, deck, resolve
cards = list(deck(resolve({name!r}).decks))
random.Random(5).shuffle(cards)
deal = Deal(Setup(resolve({name!r}), tuple(cards), Seat.S0))
while (seat := deal.to_act) is not None:
    shows = deal.legal_actions(seat).shows
    deal.act(seat, shows[0] if shows else deal.default_action(seat))
print(*deal.events, sep="\\n")
"""


@pytest.mark.parametrize("name", preset_names())
def test_the_same_cards_give_the_same_events_in_another_process(name: str):
    """SIT-73: nothing hangs on the order of a set or a dictionary of another process."""
    runs = [
        subprocess.run(
            [sys.executable, "-c", _ONE_DEAL.format(name=name)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert runs[0].count(b"\n") > 100


def test_what_the_rules_hand_out_is_not_a_list():
    """SIT-74: lists of cards, plays and showings are tuples, so that a reader cannot change the rules' memory."""
    order = order_for(resolve("huanle_2"), Rank.EIGHT, Suit.SPADES)
    hand, lead = parse_cards("D3 D3 D4 C6"), parse_cards("D9 D9")
    follows = Follows(order, hand, lead)
    shape = shape_of(order, lead)
    cards = list(deck(2))
    random.Random(1).shuffle(cards)
    deal = Deal(Setup(resolve("huanle_2"), tuple(cards), Seat.S0))
    seat = deal.to_act

    assert shape is not None
    assert seat is not None
    for handed in (
        follows.first(),
        follows.forced(),
        shape.components,
        order.sort(hand),
        deal.legal_actions(seat).shows,
        resolve("huanle_2").ladder,
        deck(2),
    ):
        assert isinstance(handed, tuple)
