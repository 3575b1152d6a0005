"""Stirring during the first trick: whose turn it is, what goes back, when it ends (S2a-41 to S2a-59)."""

from collections.abc import Mapping

import pytest
from chaodipi.engine.actions import Action, ActionKind, Bury, Pass, Play, Show
from chaodipi.engine.cards import SEATS, Rank, Seat, Side, Suit, deck, parse_cards
from chaodipi.engine.deal import Deal
from chaodipi.engine.errors import RuleError, RulesetError
from chaodipi.engine.events import CardsReturned, Phase, Played, ShowKind, Shown, visible
from chaodipi.engine.ruleset import resolve
from chaodipi.engine.setup import Setup

RULES = resolve("in_play")
BOTTOM = parse_cards("C3 C3 D3 D3 C4 C4 D4 D4")
HANDS = {
    0: "D6 HA HK CA CA HT D9 rj H9 HQ",
    1: "H6 H6 H3 H4 C5 D5 D7 H7 HQ CK",
    2: "S6 S6 H3 H8 C7 D8 S9 H9 C8 CK",
    3: "bj bj H4 HJ C7 D8 S9 C9 CT rj",
}
"""Level 6; no pair of level diamonds or clubs anywhere."""


def show(text: str, named: Suit | None = None) -> Show:
    return Show(parse_cards(text), named)


def play(text: str) -> Play:
    return Play(parse_cards(text))


def dealt(hands: Mapping[int, str] = HANDS, standing: str = "D6", shower: int = 0, dealer: int = 0) -> Deal:
    """Seat *dealer* has buried and leads; *standing* is the only showing so far."""
    return Deal.from_position(
        RULES,
        {Seat(seat): parse_cards(text) for seat, text in hands.items()},
        bottom=BOTTOM,
        dealer=Seat(dealer),
        levels=(Rank.SIX, Rank.SIX),
        phase=Phase.STIR,
        standing=(Seat(shower), parse_cards(standing), ShowKind.DECLARATION, None),
    )


def run(deal: Deal, *actions: tuple[int, Action]) -> Deal:
    for seat, action in actions:
        deal.act(Seat(seat), action)
    return deal


def refused(deal: Deal, seat: int, action: Action) -> str:
    before = deal.view.canonical()
    with pytest.raises(RuleError) as caught:
        deal.act(Seat(seat), action)
    assert deal.view.canonical() == before
    assert caught.value.clauses
    return caught.value.reason


def table(deal: Deal) -> list[tuple[int, str]]:
    return [(int(p.seat), " ".join(card.text for card in p.cards)) for p in deal.view.trick]


@pytest.mark.clauses("S2a-53")
def test_the_dealer_leads_and_the_turn_goes_to_the_next_seat() -> None:
    deal = dealt()
    assert (deal.phase, deal.to_act) == (Phase.LEAD, 0)
    assert refused(deal, 1, play("H3")) == "NOT_YOUR_TURN"
    run(deal, (0, play("HA")))
    assert [int(seat) for seat in deal.view.waiting] == [1, 2, 3]


@pytest.mark.clauses("S2a-54", "Q46")
def test_a_seat_that_follows_may_stir_or_play_and_nothing_else() -> None:
    deal = run(dealt(), (0, play("HA")))
    legal = deal.legal_actions(Seat.S1)
    assert legal.kinds == deal.observation(Seat.S1).allowed_kinds == (ActionKind.SHOW, ActionKind.PLAY)
    assert legal.shows == (show("H6 H6"),)
    assert legal.follows is not None
    assert deal.default_action(Seat.S1) == play("H3")
    assert refused(deal, 1, Pass()) == "WRONG_ACTION_KIND"
    assert refused(deal, 2, show("S6 S6")) == "NOT_YOUR_TURN"
    assert refused(deal, 0, show("rj rj")) == "NOT_ALLOWED_TO_SHOW"


def test_nobody_stirs_before_the_lead() -> None:
    deal = dealt()
    assert deal.allowed_kinds == (ActionKind.PLAY,)
    assert refused(deal, 1, show("H6 H6")) == "NOT_YOUR_TURN"
    assert refused(deal, 0, show("D6 D6")) == "NOT_ALLOWED_TO_SHOW"


def test_whoever_is_offered_a_stir_is_public_and_says_nothing_of_the_hand() -> None:
    """Seat 3 has nothing to stir with after hearts, and is offered it like anybody (S2a-54)."""
    hands = dict(HANDS) | {3: "bj C6 H4 HJ C7 D8 S9 C9 CT rj"}
    deal = run(dealt(hands), (0, play("HA")), (1, play("H3")), (2, play("H8")))
    assert deal.legal_actions(Seat.S3).shows == ()
    assert deal.view.asked == [1, 2, 3]
    assert deal.allowed_kinds == (ActionKind.SHOW, ActionKind.PLAY)


@pytest.mark.clauses("S2a-55", "S2a-56", "Q44", "Q112")
def test_cards_before_the_stir_go_back_but_for_the_dealers() -> None:
    deal = run(dealt(), (0, play("HA")), (1, play("H4")), (2, play("H3")), (3, show("bj bj")))
    [event] = [event for event in deal.events if isinstance(event, CardsReturned)]
    assert event == CardsReturned(Seat.S3, ((Seat.S1, parse_cards("H4")), (Seat.S2, parse_cards("H3"))))
    assert all(visible(event, seat) == event for seat in SEATS)
    assert deal.view.returned == deal.observation(Seat.S0).returned == [event]
    assert table(deal) == [(0, "HA")]
    assert sorted(deal.view.hand(Seat.S1)) == sorted(parse_cards(HANDS[1]))
    assert sorted(deal.observation(Seat.S1).hand(Seat.S1)) == sorted(parse_cards(HANDS[1]))
    assert deal.view.hand_sizes == [9, 10, 10, 18]
    run(deal, (3, Bury(BOTTOM)))
    assert (deal.phase, deal.to_act, deal.view.trump) == (Phase.FOLLOW, 3, Suit.NO_TRUMP)
    assert [int(seat) for seat in deal.view.waiting] == [3, 1, 2]


def test_a_stir_that_comes_first_returns_nothing_and_says_so() -> None:
    deal = run(dealt(), (0, play("HA")), (1, show("H6 H6")))
    assert deal.view.returned == [CardsReturned(Seat.S1, ())]
    assert deal.phase == Phase.BURY


@pytest.mark.clauses("S2a-57", "S2a-58", "Q35")
def test_the_last_burier_may_only_play_until_another_has_stirred() -> None:
    deal = run(dealt(), (0, play("HA")), (1, show("H6 H6")), (1, Bury(BOTTOM)))
    assert deal.allowed_kinds == (ActionKind.PLAY,)
    assert refused(deal, 1, show("H6 H6")) == "NOT_ALLOWED_TO_SHOW"


@pytest.mark.clauses("S2a-57", "Q45")
def test_the_turn_passes_the_dealer_who_stirs_or_passes() -> None:
    deal = run(dealt(), (0, play("HA")), (1, play("H3")), (2, show("S6 S6")), (2, Bury(BOTTOM)))
    run(deal, (2, play("H3")), (3, play("H4")))
    assert (deal.phase, deal.to_act) == (Phase.FOLLOW, 0)
    assert deal.allowed_kinds == (ActionKind.SHOW, ActionKind.PASS)
    assert deal.legal_actions(Seat.S0).follows is None
    assert [int(seat) for seat in deal.view.waiting] == [1]
    assert deal.default_action(Seat.S0) == Pass()
    assert refused(deal, 0, play("HK")) == "WRONG_ACTION_KIND"
    assert refused(deal, 1, play("H3")) == "NOT_YOUR_TURN"
    run(deal, (0, Pass()))
    assert deal.to_act == 1


@pytest.mark.clauses("S2a-59", "Q45", "Q46")
def test_the_trick_waits_for_the_dealer_even_when_all_have_played() -> None:
    """Seat 1 stirred: the turn passes the dealer before it is back at seat 1."""
    deal = run(dealt(), (0, play("HA")), (1, show("H6 H6")), (1, Bury(BOTTOM)))
    run(deal, (1, play("H3")), (2, play("H8")), (3, play("H4")))
    assert (len(deal.view.trick), deal.to_act, deal.phase) == (4, 0, Phase.FOLLOW)
    assert deal.view.tricks == []
    run(deal, (0, Pass()))
    assert [int(t.winner) for t in deal.view.tricks] == [0]


@pytest.mark.clauses("Q126")
def test_the_dealer_stirs_without_the_card_that_he_has_led() -> None:
    hands = dict(HANDS) | {0: "D6 HA HK CA CA HT D9 rj rj HQ", 3: "bj bj H4 HJ C7 D8 S9 C9 CT H9"}
    deal = run(dealt(hands), (0, play("HA")), (1, show("H6 H6")), (1, Bury(BOTTOM)))
    run(deal, (1, play("H3")), (2, play("H8")), (3, play("H4")), (0, show("rj rj")))
    assert table(deal) == [(0, "HA")]
    assert deal.view.returned[-1].returned == tuple(
        (Seat(seat), parse_cards(text)) for seat, text in ((1, "H3"), (2, "H8"), (3, "H4"))
    )
    assert len(deal.view.hand(Seat.S0)) == 9 + 8
    assert refused(deal, 0, Bury(parse_cards("HA C3 C3 D3 D3 C4 C4 D4"))) == "BURY_SHOWN"
    run(deal, (0, Bury(parse_cards("HK C3 C3 D3 D3 C4 C4 D4"))))
    assert (deal.to_act, [int(seat) for seat in deal.view.waiting]) == (1, [1, 2, 3])
    run(deal, (1, play("H3")), (2, play("H8")), (3, play("H4")))
    # The turn is back at the dealer, who buried last: the trick is over.
    assert [int(t.winner) for t in deal.view.tricks] == [0]


@pytest.mark.clauses("Q102")
def test_the_seat_whose_showing_stands_waits_for_a_stir() -> None:
    """Seat 2 has overcalled, seat 0 deals: at his turn seat 2 may only play; after a stir he is offered one."""
    hands = dict(HANDS) | {2: "S6 D6 H3 H8 C7 D8 S9 bj bj CK", 3: "S6 C6 H4 HJ C7 D8 S9 C9 CT rj"}
    deal = run(dealt(hands, "S6", 2), (0, play("HA")), (1, play("H4")))
    assert (deal.to_act, deal.allowed_kinds, deal.view.asked) == (2, (ActionKind.PLAY,), [1])
    assert refused(deal, 2, show("bj bj")) == "NOT_ALLOWED_TO_SHOW"

    deal = run(dealt(hands, "S6", 2), (0, play("HA")), (1, show("H6 H6")), (1, Bury(BOTTOM)), (1, play("H3")))
    assert (deal.to_act, deal.view.asked) == (2, [1, 2])
    run(deal, (2, show("bj bj")))
    assert deal.view.trump == Suit.NO_TRUMP


@pytest.mark.clauses("S2a-59", "Q46")
def test_the_first_trick_over_nobody_stirs() -> None:
    deal = run(dealt(), (0, play("HA")), (1, play("H3")), (2, play("H8")), (3, play("H4")))
    assert len(deal.view.tricks) == 1
    for seat, text in ((1, "H6 H6"), (2, "S6 S6"), (3, "bj bj")):
        assert refused(deal, seat, show(text)) == "STIR_CLOSED"
    run(deal, (0, play("CA CA")))
    assert refused(deal, 1, show("H6 H6")) == "STIR_CLOSED"
    assert deal.allowed_kinds == (ActionKind.PLAY,)


@pytest.mark.clauses("Q45")
def test_the_first_lead_is_one_card_or_identical_ones() -> None:
    """Identical cards are of one class under any trump; DA D6 of one deal would not be."""
    deal = dealt()
    for text in ("HA HK", "HA HK HT"):
        with pytest.raises(RuleError) as caught:
            deal.act(Seat.S0, play(text))
        assert caught.value.reason == "THROW_NOT_ALLOWED"
        assert deal.can_play(Seat.S0, caught.value.satisfying)
    assert refused(deal, 0, play("HA CA")) == "NOT_ONE_CLASS"
    assert deal.can_play(Seat.S0, parse_cards("HT"))
    run(deal, (0, play("CA CA")), (1, play("C5 CK")), (2, play("CK C8")), (3, play("C9 CT")))
    assert deal.can_play(Seat.S0, parse_cards("HA HK"))


@pytest.mark.clauses("Q45", "Q126")
def test_a_lead_is_followed_under_the_trump_of_the_last_stir() -> None:
    """HA is a side card, then a trump: seat 2 must follow it with a trump, though it holds the suit of spades."""
    deal = run(dealt(), (0, play("HA")), (1, show("H6 H6")), (1, Bury(BOTTOM)), (1, play("H3")))
    assert refused(deal, 2, play("S9")) == "MUST_FOLLOW_SUIT"
    run(deal, (2, play("S6")), (3, play("bj")), (0, Pass()))
    [trick] = deal.view.tricks
    assert (trick.winner, trick.points) == (3, 0)


@pytest.mark.clauses("Q44")
def test_of_equal_cards_the_first_after_the_last_stir_is_ahead() -> None:
    """Seat 1 had played its HA before seat 3's; after the stir of seat 2, seat 3 comes first."""
    hands = {
        0: "D6 HK C5 C7",
        1: "HA H6 C8 C9",
        2: "S6 S6 H3 CT",
        3: "HA D7 D8 D9",
    }
    deal = run(dealt(hands), (0, play("HK")), (1, play("HA")), (2, show("S6 S6")), (2, Bury(BOTTOM)))
    run(deal, (2, play("H3")), (3, play("HA")), (0, Pass()), (1, play("HA")))
    assert deal.view.tricks[0].winner == 3


@pytest.mark.clauses("S2a-46")
def test_the_ladder() -> None:
    """Each rung beats the one before it, and none of those below it."""
    assert RULES.ladder == ("single", "D", "C", "H", "S", "bj", "rj", "four_jokers")
    hands = {0: "S6 S6", 1: "D6 D6 bj bj", 2: "C6 C6 rj rj", 3: "H6 H6"}
    rungs = [(0, "S6"), (1, "D6 D6"), (2, "C6 C6"), (3, "H6 H6"), (0, "S6 S6"), (1, "bj bj"), (2, "rj rj")]
    deal = Deal.from_position(
        RULES,
        {Seat(seat): parse_cards(text) for seat, text in hands.items()},
        dealer=Seat.S0,
        levels=(Rank.SIX, Rank.SIX),
    )
    for index, (seat, text) in enumerate(rungs):
        deal.act(Seat(seat), show(text))
        for below, lower in rungs[:index]:
            if below != seat:
                assert refused(deal, below, show(lower)) == "DECLARATION_TOO_WEAK"


@pytest.mark.clauses("S2a-47")
def test_four_jokers_beat_every_level_pair_and_three_are_no_showing() -> None:
    hands = dict(HANDS) | {0: "D6 HA HK CA C8 HT D9 H9 HJ HQ", 1: "bj bj rj rj H4 C5 D5 D7 H7 HQ"}
    hands |= {3: "C6 C6 H4 HJ C7 D8 S9 C9 CT H3"}
    deal = run(dealt(hands), (0, play("HA")), (1, play("H4")), (2, show("S6 S6")), (2, Bury(BOTTOM)))
    run(deal, (2, play("H3")))
    assert refused(deal, 3, show("C6 C6")) == "DECLARATION_TOO_WEAK"
    run(deal, (3, play("H4")), (0, Pass()))
    assert refused(deal, 1, show("bj bj rj", Suit.CLUBS)) == "NOT_A_SHOWING"
    run(deal, (1, show("bj bj rj rj", Suit.CLUBS)))
    assert deal.view.trump == Suit.CLUBS


@pytest.mark.clauses("S2a-47", "S2a-48", "Q127")
@pytest.mark.parametrize("named", [*Suit])
def test_four_jokers_name_any_trump_or_none(named: Suit) -> None:
    hands = dict(HANDS) | {0: "D6 HA HK CA C8 HT D9 H9 HJ HQ", 1: "bj bj rj rj H4 C5 D5 D7 H7 HQ", 3: "C6 H6"}
    deal = run(dealt(hands), (0, play("HA")))
    assert refused(deal, 1, show("bj bj rj rj")) == "NAMED_TRUMP_MISSING"
    assert refused(deal, 1, show("bj bj", named)) == "NAMED_TRUMP_NOT_ALLOWED"
    assert len([s for s in deal.legal_actions(Seat.S1).shows if s.cards == parse_cards("bj bj rj rj")]) == 5
    run(deal, (1, show("bj bj rj rj", named)))
    assert deal.view.trump == named


@pytest.mark.clauses("S2a-49", "S2a-50", "S2a-51")
@pytest.mark.parametrize("first", [True, False])
def test_showing_decides_the_dealer_in_the_first_deal_and_the_trump_in_all(first: bool) -> None:
    """C2 by seat 3, then S2 S2 by seat 1, while cards are dealt; later the dealer is fixed."""
    hands = {Seat.S1: parse_cards("S2 S2 H2 H2"), Seat.S3: parse_cards("C2 bj bj")}
    deal = Deal.from_position(RULES, hands, bottom=BOTTOM, dealer=None if first else Seat.S2, first_deal=first)
    run(deal, (3, show("C2")), (1, show("S2 S2")))
    deal.close()
    assert deal.view.trump == Suit.SPADES
    assert deal.view.dealer == (1 if first else 2)
    assert refused(deal, 3, show("bj bj")) == "WRONG_ACTION_KIND"


@pytest.mark.clauses("S2a-52")
@pytest.mark.parametrize("first", [True, False])
def test_a_deal_without_a_declaration_is_dealt_again(first: bool) -> None:
    later = {} if first else {"dealer": Seat.S2, "on_stage": Side.SIDE_02}
    deal = Deal(Setup(RULES, deck(2), first_deal=first, **later))
    while not deal.over:
        assert deal.phase == Phase.DECLARE
        seat = deal.to_act
        assert seat is not None
        deal.act(seat, Pass())
    assert deal.view.end is not None
    assert deal.view.end.how == "redeal"


@pytest.mark.clauses("Q41", "Q133")
def test_after_the_last_redeal_nobody_stirs() -> None:
    deal = Deal(Setup(RULES, deck(2), redeals=RULES.redeal_cap))
    while deal.phase != Phase.FOLLOW:
        seat = deal.to_act
        assert seat is not None
        deal.act(seat, deal.default_action(seat))
    assert (deal.view.trump, deal.view.undeclared) == (Suit.NO_TRUMP, True)
    for seat in SEATS:
        assert deal.legal_actions(seat).shows == ()
    assert deal.allowed_kinds == (ActionKind.PLAY,)
    holder = next((seat for seat in SEATS if deal.view.hand(seat).count(parse_cards("C2")[0]) == 2), Seat.S1)
    assert refused(deal, holder, show("C2 C2")) == "STIR_CLOSED"


def test_a_stir_is_recorded_in_the_phase_in_which_it_came() -> None:
    deal = run(dealt(), (0, play("HA")), (1, show("H6 H6")))
    shown = next(event for event in deal.events if isinstance(event, Shown))
    assert (shown.kind, shown.phase) == (ShowKind.STIR, Phase.FOLLOW)
    assert not any(isinstance(event, Played) for event in deal.events[deal.events.index(shown) :])


@pytest.mark.clauses("S2a-58", "S2a-59")
def test_a_position_after_a_stir_goes_on_with_the_last_burier() -> None:
    """In play, the dealer's lead comes first; in stir, it is not told, and the others are asked in their turns."""
    hands = {Seat(seat): parse_cards(text) for seat, text in HANDS.items()}
    standing = (Seat.S2, parse_cards("S6 S6"), ShowKind.STIR, None)
    options = {"dealer": Seat.S0, "levels": (Rank.SIX, Rank.SIX), "standing": standing, "bottom_owner": Seat.S2}
    deal = Deal.from_position(RULES, hands, phase=Phase.LEAD, **options)
    run(deal, (0, play("HA")))
    assert (deal.to_act, deal.allowed_kinds) == (2, (ActionKind.PLAY,))
    assert [int(seat) for seat in deal.view.waiting] == [2, 3, 1]

    deal = Deal.from_position(RULES, hands, bottom=BOTTOM, phase=Phase.STIR, **options)
    assert (deal.phase, deal.to_act) == (Phase.STIR, 3)
    run(deal, (3, show("bj bj")), (3, Bury(BOTTOM)), (0, Pass()), (1, Pass()), (2, Pass()))
    assert (deal.phase, deal.to_act) == (Phase.LEAD, 0)


def test_a_barred_dealer_is_passed_over() -> None:
    """Only a stacked position has another burier and no stir: the dealer, whose showing stands, has no turn."""
    hands = {Seat(seat): parse_cards(text) for seat, text in HANDS.items()}
    deal = Deal.from_position(
        RULES,
        hands,
        dealer=Seat.S0,
        levels=(Rank.SIX, Rank.SIX),
        phase=Phase.LEAD,
        standing=(Seat.S0, parse_cards("D6"), ShowKind.DECLARATION, None),
        bottom_owner=Seat.S2,
    )
    run(deal, (0, play("HA")), (2, play("H3")), (3, play("H4")))
    assert (deal.to_act, deal.allowed_kinds) == (1, (ActionKind.SHOW, ActionKind.PLAY))
    run(deal, (1, play("H3")))
    assert len(deal.view.tricks) == 1


def test_a_position_in_the_middle_of_a_deal_has_no_stirring() -> None:
    """A score, another leader or tricks that are left without a showing: not the first trick."""
    hands = {Seat(seat): parse_cards(text) for seat, text in HANDS.items()}
    for options in ({"score": 5}, {"leader": Seat.S2}, {"tricks_left": 3}):
        deal = Deal.from_position(
            RULES, hands, dealer=Seat.S0, levels=(Rank.SIX, Rank.SIX), phase=Phase.LEAD, trump=Suit.SPADES, **options
        )
        assert not deal.view.stir_window
        assert deal.can_play(deal.to_act or Seat.S0, parse_cards("H3 H8" if "leader" in options else "HA HK"))


def test_plays_must_be_checked_under_a_known_trump() -> None:
    overrides = {"dark": True, "stir_strength": "any", "show_once": True}
    with pytest.raises(RulesetError) as caught:
        RULES.override(overrides)
    assert "first_trick" in caught.value.message
