"""The flag deal (扛旗): all cards dealt out, no level, nothing shown or buried, and the game at stake."""

import random

import pytest
from chaodipi.engine import (
    ActionKind,
    Bury,
    Deal,
    MalformedError,
    Phase,
    Rank,
    RuleError,
    Seat,
    Setup,
    Show,
    Side,
    Suit,
    deck,
    parse_cards,
    points_of,
    resolve,
)
from chaodipi.engine.events import DealEnded
from chaodipi.engine.game import settle_deal
from chaodipi.engine.scoring import Position
from chaodipi.sdk.baselines import RulesBot
from chaodipi.sdk.local import play_deal

KANG_QI = resolve("kang_qi")
pytestmark = pytest.mark.clauses("S0-48", "S0-49", "S0-50", "Q88")


def flag_deal(seed: int, dealer: Seat = Seat.S0) -> Setup:
    """A shuffled flag deal of *dealer*, whose opponents are at 9."""
    cards = list(deck(2))
    random.Random(seed).shuffle(cards)
    levels = (None, Rank.NINE) if dealer.side == Side.SIDE_02 else (Rank.NINE, None)
    return Setup(KANG_QI, tuple(cards), dealer, dealer, levels, dealer.side, first_deal=False)


@pytest.mark.parametrize("dealer", Seat)
def test_all_cards_are_dealt_out_and_the_dealer_leads(dealer: Seat) -> None:
    """Nobody is asked while 27 cards are dealt to each; the first question is the dealer's lead."""
    deal = Deal(flag_deal(1, dealer))

    assert deal.phase == Phase.LEAD
    assert deal.to_act == dealer
    assert [len(deal.view.hands[seat]) for seat in Seat] == [27] * 4
    assert deal.legal_actions(dealer).kinds == (ActionKind.PLAY,)
    for seat in Seat:
        view = deal.observation(seat)
        assert (view.level, view.trump, view.bottom, view.bottom_owner) == (None, Suit.NO_TRUMP, None, None)
        assert view.flag
        assert view.order.level is None


def test_nothing_is_shown_and_nothing_buried() -> None:
    cards = tuple(sorted(flag_deal(2).cards, key=lambda card: not card.is_joker))
    deal = Deal(Setup(KANG_QI, cards, Seat.S0, Seat.S0, (None, Rank.NINE), Side.SIDE_02, first_deal=False))
    for seat in Seat:
        assert deal.legal_actions(seat).shows == ()
        for action in (Show(parse_cards("rj rj")), Bury(parse_cards("C2"))):
            with pytest.raises(RuleError) as refused:
                deal.check(seat, action)
            assert refused.value.reason in ("NO_BOTTOM", "STIR_CLOSED")


@pytest.mark.parametrize("seed", range(4))
def test_a_flag_deal_played_by_bots_settles_by_its_own_threshold(seed: int) -> None:
    """All points are in the tricks, nothing is dug, and 100 decide."""
    dealer = Seat(seed)
    bots = [RulesBot("flag", seat) for seat in Seat]
    deal = play_deal(flag_deal(seed, dealer), bots, strict=True)
    end = deal.view.end
    assert isinstance(end, DealEnded)
    assert (end.bottom, end.dig_multiplier, end.dig_points) == ((), 0, 0)
    assert sum(trick.points for trick in deal.view.tricks) == points_of(deck(2)) == 200

    positions = {dealer.side: Position.at(None), dealer.side.other: Position.at(Rank.NINE)}
    done = settle_deal(deal, positions)

    assert done.stage == (dealer.side if end.score < 100 else dealer.side.other)
    assert done.winner == (dealer.side if end.score < 100 else None)
    assert done.positions[dealer.side].flag


def test_a_side_without_a_level_needs_a_ruleset_with_a_flag() -> None:
    """Elsewhere both sides have a level, whoever deals."""
    setup = flag_deal(3)
    with pytest.raises(MalformedError) as refused:
        Deal(Setup(resolve("ming_chao"), setup.cards, Seat.S0, Seat.S0, (Rank.TWO, None), Side.SIDE_02, False))
    assert (refused.value.reason, refused.value.field) == ("LEVEL_MISSING", "levels")


def test_who_is_on_the_flag_but_not_on_stage_plays_an_ordinary_deal() -> None:
    """The level of a deal is the dealer side's."""
    cards = flag_deal(4).cards
    deal = Deal(Setup(KANG_QI, cards, Seat.S1, Seat.S1, (None, Rank.NINE), Side.SIDE_13, first_deal=False))
    assert not deal.view.flag
    assert deal.view.level == Rank.NINE
    assert deal.phase != Phase.LEAD
