"""Deals: declaring, stirring and whole games, against the positions of the rules and against themselves."""

import random

import pytest
from chaodipi.engine.actions import ActionKind, Bury, Pass, Play, Show
from chaodipi.engine.cards import HEART_FIVE, SEATS, Rank, Seat, Side, Suit, deck, parse_cards, points_of
from chaodipi.engine.deal import Deal
from chaodipi.engine.defaults import default_key
from chaodipi.engine.errors import MalformedError, RuleError, RulesetError
from chaodipi.engine.events import (
    Booked,
    BottomTaken,
    Buried,
    CardsDrawn,
    DealEnded,
    Passed,
    Phase,
    ShowKind,
    Shown,
    TrickEnded,
    visible,
)
from chaodipi.engine.ruleset import NOT_PLAYED, preset_names, resolve
from chaodipi.engine.setup import Setup
from chaodipi.engine.view import View

MING, HUANLE, IN_PLAY = resolve("ming_chao"), resolve("huanle_2"), resolve("in_play")
PRESETS = pytest.mark.parametrize("ruleset", [resolve(name) for name in preset_names()], ids=preset_names())


def show(text, named=None, looking_back=False):
    return Show(parse_cards(text), named and Suit.parse(named), looking_back)


def stacked(ruleset, level, hands, **options):
    """A position at *level* for both sides; hands are text by seat."""
    rank = Rank.parse(level)
    if not options.get("first_deal"):
        options.setdefault("dealer", Seat.S0)
    standing = options.pop("standing", None)
    if standing is not None:
        seat, text, kind = standing
        standing = (Seat(seat), parse_cards(text), ShowKind(kind), None)
    given = {Seat(seat): parse_cards(text) for seat, text in hands.items()}
    return Deal.from_position(ruleset, given, levels=(rank, rank), standing=standing, **options)


def refused(deal, seat, action):
    """The reason for which *action* is refused; nothing may have changed."""
    before = deal.view.canonical()
    with pytest.raises(RuleError) as caught:
        deal.act(Seat(seat), action)
    assert caught.value.clauses
    assert deal.view.canonical() == before
    return caught.value.reason


# ---- declaring


def test_an_overcall_must_be_higher_on_the_ladder():
    """G-LD-02, S0-59: hearts do not overcall spades in ming_chao."""
    deal = stacked(MING, "8", {1: "S8 S8", 2: "H8 H8"})
    deal.act(Seat.S1, show("S8 S8"))
    assert refused(deal, 2, show("H8 H8")) == "DECLARATION_TOO_WEAK"
    assert deal.view.trump == Suit.SPADES


def test_looking_back_beats_the_heart_fives():
    """G-LD-06, S0-58, S0-59."""
    deal = stacked(MING, "8", {0: "D8 D8", 1: "H5 H5"})
    deal.act(Seat.S0, show("D8"))
    assert refused(deal, 0, show("D8 D8", looking_back=True)) == "LOOKING_BACK_NOT_ALLOWED"
    assert refused(deal, 1, show("H5 H5")) == "NAMED_TRUMP_MISSING"
    deal.act(Seat.S1, show("H5 H5", "NT"))
    assert deal.view.trump == Suit.NO_TRUMP
    assert refused(deal, 0, show("D8 D8")) == "DECLARATION_TOO_WEAK"
    deal.act(Seat.S0, show("D8 D8", looking_back=True))
    assert deal.view.trump == Suit.DIAMONDS
    assert deal.view.standing.kind is ShowKind.LOOKING_BACK
    assert deal.view.stake == 1


def test_looking_back_needs_a_single_declaration():
    """G-LD-08 on the ladder of ming_chao, Q27."""
    deal = stacked(MING, "8", {0: "D8 D8", 1: "H8 H8"})
    deal.act(Seat.S0, show("D8 D8"))
    deal.act(Seat.S1, show("H8 H8"))
    assert refused(deal, 0, show("D8 D8", looking_back=True)) == "LOOKING_BACK_NOT_ALLOWED"


def test_a_single_never_overcalls():
    """G-LD-09, Q21; nobody overcalls himself, S0-13."""
    deal = stacked(MING, "8", {2: "D8 C8 C8", 3: "S8 bj"}, standing=(2, "D8", "declaration"))
    assert refused(deal, 3, show("S8")) == "DECLARATION_TOO_WEAK"
    assert refused(deal, 3, show("bj")) == "NOT_A_SHOWING"
    assert refused(deal, 3, show("S8 S8")) == "NOT_YOUR_CARDS"
    assert refused(deal, 2, show("C8 C8")) == "NOT_ALLOWED_TO_SHOW"


def test_level_five_in_the_rooms():
    """Q7, Q127: a single heart five declares hearts; the pair is free, and looking back names hearts."""
    deal = stacked(MING, "5", {0: "H5 H5", 1: "C5 C5"})
    assert refused(deal, 0, show("H5 H5")) == "NAMED_TRUMP_MISSING"
    deal.act(Seat.S0, show("H5"))
    assert deal.view.trump == Suit.HEARTS
    deal.act(Seat.S1, show("C5 C5"))
    assert refused(deal, 0, show("H5 H5", "H", looking_back=True)) == "NAMED_TRUMP_NOT_ALLOWED"
    shows = deal.legal_actions(Seat.S0).shows
    assert len(shows) == 6
    assert shows[-1] == show("H5 H5", looking_back=True)
    deal.act(Seat.S0, shows[-1])
    assert deal.view.trump == Suit.HEARTS


def test_the_first_of_three_modes_closes_them():
    """G-LD-11, G-LD-12: after self-protect only jokers are left, S2b-17, S2b-18."""
    deal = stacked(HUANLE, "T", {0: "HT HT", 1: "ST ST bj bj", 2: "rj rj"})
    assert refused(deal, 1, show("bj bj")) == "NOT_A_SHOWING"
    deal.act(Seat.S0, show("HT"))
    deal.act(Seat.S0, show("HT HT"))
    assert deal.view.standing.kind is ShowKind.SELF_PROTECT
    assert deal.view.stake == 1
    assert refused(deal, 1, show("ST ST")) == "OVERCALL_CLOSED"
    assert deal.legal_actions(Seat.S1).shows == (show("bj bj"),)
    deal.act(Seat.S1, show("bj bj"))
    assert deal.view.trump == Suit.NO_TRUMP
    deal.act(Seat.S2, show("rj rj"))
    assert deal.view.stake == 4


def test_suits_have_no_size_while_dealing():
    """G-LD-13, Q23."""
    deal = stacked(HUANLE, "T", {0: "HT", 1: "DT DT", 2: "ST ST"})
    deal.act(Seat.S0, show("HT"))
    deal.act(Seat.S1, show("DT DT"))
    assert refused(deal, 2, show("ST ST")) == "OVERCALL_CLOSED"
    assert deal.view.trump == Suit.DIAMONDS


def test_a_declared_pair_closes_the_group():
    """Q114."""
    deal = stacked(HUANLE, "T", {0: "HT HT", 1: "DT DT"})
    deal.act(Seat.S0, show("HT HT"))
    assert refused(deal, 1, show("DT DT")) == "OVERCALL_CLOSED"


@pytest.mark.parametrize(("ruleset", "dealer"), [(HUANLE, 3), (MING, 0)], ids=lambda x: getattr(x, "name", None))
def test_who_deals_first(ruleset, dealer):
    """G-LD-14, Q22: the first to show in huanle_2, the last one in ming_chao."""
    deal = stacked(ruleset, "2", {3: "C2", 0: "S2 S2"}, first_deal=True, bottom=parse_cards("C3 C4 C6 C7 C8 C9 CT CJ"))
    deal.act(Seat.S3, show("C2"))
    deal.act(Seat.S0, show("S2 S2"))
    deal.close()
    assert deal.view.dealer == dealer
    assert deal.view.trump == Suit.SPADES
    assert deal.to_act == dealer
    assert deal.phase == Phase.BURY


def test_undeclared_deals():
    """G-LD-29, S2b-19, S0-05, S0-06, Q41, Q133."""
    bottom = parse_cards("C3 C4 D8 bj C8 C9 CT CJ")
    hands = {0: "S4", 1: "S8 S8"}
    deal = stacked(HUANLE, "8", hands, dealer=Seat.S0, bottom=bottom)
    deal.close()
    deal.act(Seat.S0, Bury(bottom))
    assert deal.view.trump == Suit.NO_TRUMP
    assert deal.phase == Phase.LEAD
    assert refused(deal, 1, show("S8 S8")) == "STIR_CLOSED"

    deal = stacked(MING, "8", hands, dealer=Seat.S0, bottom=bottom)
    deal.close()
    assert deal.view.trump == Suit.DIAMONDS
    assert deal.observation(Seat.S2).turned == bottom[:3]
    deal.act(Seat.S0, Bury(bottom))
    assert refused(deal, 1, show("S8 S8")) == "STIR_CLOSED"

    deal = stacked(MING, "2", hands, first_deal=True, bottom=bottom)
    deal.close()
    assert deal.view.end.how == "redeal"
    assert refused(deal, 1, show("S8 S8")) == "DEAL_OVER"
    deal = stacked(MING, "2", hands, first_deal=True, bottom=bottom, redeals=3, first_drawer=Seat.S2)
    deal.close()
    assert (deal.view.dealer, deal.view.trump, deal.view.undeclared) == (2, Suit.NO_TRUMP, True)


# ---- stirring


def test_asking_goes_on_after_the_stirrer():
    """G-ST-01, S0-20, S0-21, Q34."""
    deal = stacked(
        MING, "8", {0: "S3", 1: "S4", 2: "C8 C8 S6", 3: "S7"}, dealer=Seat.S0, phase=Phase.STIR,
        bottom=parse_cards("D3 D4 D6 D7 D9 DT DJ DQ"), standing=(0, "D8", "declaration"),
    )  # fmt: skip
    deal.act(Seat.S1, Pass())
    assert refused(deal, 3, Pass()) == "NOT_YOUR_TURN"
    deal.act(Seat.S2, show("C8 C8"))
    assert deal.phase == Phase.BURY
    assert len(deal.view.hand(Seat.S2)) == 11
    assert refused(deal, 2, Pass()) == "WRONG_ACTION_KIND"
    assert refused(deal, 2, Bury(parse_cards("D3 D4"))) == "BURY_COUNT"
    assert refused(deal, 2, Bury(parse_cards("S3"))) == "NOT_YOUR_CARDS"
    deal.act(Seat.S2, Bury(parse_cards("D3 D4 D6 D7 D9 DT DJ DQ")))
    assert refused(deal, 2, show("C8 C8")) == "NOT_ALLOWED_TO_SHOW"
    for seat in (3, 0, 1):
        deal.act(Seat(seat), Pass())
    assert deal.view.asked == [1, 2, 3, 0, 1]
    assert (deal.view.bottom_owner, deal.to_act, deal.view.trump) == (2, 0, Suit.CLUBS)
    assert deal.phase == Phase.LEAD


def test_a_stir_must_be_higher():
    """G-ST-02, G-ST-18."""
    deal = stacked(MING, "8", {3: "C8 C8"}, dealer=Seat.S0, phase=Phase.STIR, standing=(2, "S8 S8", "declaration"))
    deal.act(Seat.S1, Pass())
    assert deal.to_act == 3  # seat 2 is passed over, Q102
    assert refused(deal, 3, show("C8 C8")) == "DECLARATION_TOO_WEAK"
    deal = stacked(HUANLE, "T", {3: "CT CT"}, dealer=Seat.S0, phase=Phase.STIR, standing=(2, "HT HT", "stir"))
    assert refused(deal, 3, show("CT CT")) == "DECLARATION_TOO_WEAK"
    assert refused(deal, 2, show("CT CT")) == "NOT_ALLOWED_TO_SHOW"


def test_any_pair_stirs_a_single():
    """G-ST-17; and the stake doubles, G-ST-27, Q47."""
    deal = stacked(
        HUANLE, "T", {0: "ST", 1: "DT DT", 2: "bj bj"}, dealer=Seat.S0, phase=Phase.STIR,
        bottom=parse_cards("D3 D4 D6 D7 D9 DT DJ DQ")[:0], standing=(0, "ST", "declaration"),
    )  # fmt: skip
    assert deal.legal_actions(Seat.S1).shows == (show("DT DT"),)
    deal.act(Seat.S1, show("DT DT"))
    assert deal.view.trump == Suit.DIAMONDS
    assert deal.view.stake == 2


def test_stake_doubles_with_overcalls_and_stirs():
    """G-ST-27, S2b-06, Q47."""
    bottom = parse_cards("C3 C4 C6 C7 C8 C9 C2 CJ")
    deal = stacked(HUANLE, "T", {0: "HT", 1: "DT DT", 2: "ST ST", 3: "bj bj"}, dealer=Seat.S0, bottom=bottom)
    deal.act(Seat.S0, show("HT"))
    deal.act(Seat.S1, show("DT DT"))
    deal.close()
    deal.act(Seat.S0, Bury(bottom))
    deal.act(Seat.S1, Pass())
    deal.act(Seat.S2, show("ST ST"))
    deal.act(Seat.S2, Bury(bottom))
    deal.act(Seat.S3, show("bj bj"))
    deal.act(Seat.S3, Bury(bottom))
    assert deal.view.stake == 8


def test_standing_seat_is_passed_over_until_another_stirs():
    """G-SR-03, G-SR-04, Q102."""
    hands = {0: "S3", 1: "C8 C8 S4", 2: "S6", 3: "D8 D8 H8 H8"}
    bottom = parse_cards("D3 D4 D6 D7 D9 DT DJ DQ")
    options = {"dealer": Seat.S0, "bottom": bottom}
    deal = stacked(MING, "8", hands, **options)
    deal.act(Seat.S3, show("D8"))
    deal.close()
    deal.act(Seat.S0, Bury(bottom))
    assert deal.view.barred == {3}
    assert refused(deal, 3, show("D8 D8")) == "NOT_ALLOWED_TO_SHOW"
    deal.act(Seat.S1, Pass())
    deal.act(Seat.S2, Pass())
    assert deal.phase == Phase.LEAD
    assert deal.view.asked == [1, 2]
    assert refused(deal, 3, show("D8 D8")) == "STIR_CLOSED"

    deal = stacked(MING, "8", hands, **options)
    deal.act(Seat.S3, show("D8"))
    deal.close()
    deal.act(Seat.S0, Bury(bottom))
    deal.act(Seat.S1, show("C8 C8"))
    deal.act(Seat.S1, Bury(bottom))
    deal.act(Seat.S2, Pass())
    assert deal.to_act == 3
    assert deal.legal_actions(Seat.S3).shows == (show("H8 H8"), show("D8 D8", looking_back=True))


# ---- the end


def test_failed_throw_is_booked_and_the_bottom_dug():
    """S1-81, Q52, Q112; S0-30: a pair in the last trick digs four times."""
    deal = stacked(
        MING, "8", {0: "DA DK D3 D3", 1: "DA D4 D6 D6", 2: "C3 C4 C6 C7", 3: "S3 S4 S6 S7"}, dealer=Seat.S0,
        phase=Phase.LEAD, trump=Suit.SPADES, bottom=parse_cards("H5 HK HT D7 D7 D9 D9 DJ"), bottom_owner=Seat.S0,
    )  # fmt: skip
    deal.play(Seat.S0, parse_cards("DK D3 D3"))
    assert deal.view.trick[0].cards == parse_cards("D3 D3")
    assert deal.view.attempts[0].cards == parse_cards("DK D3 D3")
    assert deal.view.score == 30
    assert refused(deal, 1, Play(parse_cards("DA D4"))) == "MUST_PLAY_PAIR"
    deal.play(Seat.S1, parse_cards("D6 D6"))
    deal.play(Seat.S2, parse_cards("C3 C4"))
    deal.play(Seat.S3, parse_cards("S3 S4"))
    assert deal.to_act == 1
    deal.play(Seat.S1, parse_cards("DA"))
    assert refused(deal, 2, Bury(parse_cards("C6"))) == "WRONG_ACTION_KIND"
    deal.play(Seat.S2, parse_cards("C6"))
    deal.play(Seat.S3, parse_cards("S7"))
    deal.play(Seat.S0, parse_cards("DK"))
    assert deal.view.score == 40
    for seat, text in ((3, "S6"), (0, "DA"), (1, "D4"), (2, "C7")):
        deal.play(Seat(seat), parse_cards(text))
    end = deal.view.end
    assert (end.how, end.dig_multiplier, end.dig_points, end.score) == ("played", 2, 50, 90)
    assert deal.observation(Seat.S2).bottom == end.bottom


# ---- whole deals


def new_deal(ruleset, rng, **options):
    cards = list(deck(ruleset.decks))
    rng.shuffle(cards)
    options.setdefault("first_drawer", Seat(rng.randrange(4)))
    return Deal(Setup(ruleset, tuple(cards), **options))


def random_action(deal, seat, rng):
    legal = deal.legal_actions(seat)
    kind = rng.choice(legal.kinds)
    hand = deal.view.hand(seat)
    if kind == ActionKind.SHOW and legal.shows:
        return rng.choice(legal.shows)
    if kind in (ActionKind.SHOW, ActionKind.PASS) and ActionKind.PASS in legal.kinds:
        return Pass()
    if kind == ActionKind.BURY:
        return Bury(tuple(rng.sample(deal.view.can_bury(seat), legal.bury_count)))
    follows = legal.follows
    if follows is None:
        order = deal.view.order
        cls = order.class_of(rng.choice(hand))
        same = order.of_class(hand, cls)
        if deal.view.plain_lead:
            card = rng.choice(same)
            return Play((card,) * rng.randint(1, same.count(card)))
        return Play(tuple(rng.sample(same, min(len(same), rng.choice((1, 1, 1, 2, 3, 4))))))
    if rng.random() < 0.3:
        return deal.default_action(seat)
    return Play(next(iter(follows)))


def partition(deal):
    """All cards, wherever the host sees them."""
    view = deal.view
    cards = [card for hand in view.hands.values() for card in hand]
    cards += list(deal.setup.cards[deal._offers.drawn if deal._offers else 54 * deal.ruleset.decks :])
    cards += view.bottom or ()
    for plays in [*(t.plays for t in view.tricks), view.trick]:
        cards += [card for play in plays for card in play.cards]
    return sorted(cards)


def counted(deal):
    """The catchers' score before the dig, counted by hand: where there is a floor, no penalty goes below 0 (Q78)."""
    score = 0
    for event in deal.events:
        if isinstance(event, TrickEnded) and event.winner.side != deal.view.dealer.side:
            score += event.points
        elif isinstance(event, Booked):
            floored = deal.ruleset.penalty_floor == "zero" and event.points < 0
            score = max(0, score + event.points) if floored else score + event.points
    return score


@PRESETS
@pytest.mark.parametrize("later", [False, True], ids=["first", "later"])
def test_random_deals(ruleset, later):
    """Nothing is lost, somebody may always act, and every view is the fold of its events."""
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(10):
        options = {"first_deal": not later}
        if later:
            dealer = Seat(rng.randrange(4))
            level = Rank(rng.randrange(2, 15))
            options |= {"dealer": dealer, "levels": (level, level), "on_stage": dealer.side}
            if ruleset.dealer_seat == "placing":
                options |= {"dealer": None, "first_drawer": dealer}
        deal = new_deal(ruleset, rng, **options)
        everything = sorted(deck(ruleset.decks))
        while not deal.over:
            seat = deal.to_act
            assert seat is not None
            assert deal.allowed_kinds
            assert partition(deal) == everything
            deal.check(seat, deal.default_action(seat))
            action = random_action(deal, seat, rng)
            seen = deal.observation(seat)
            if isinstance(action, Show):
                assert action in deal.legal_actions(seat).shows
            assert seen.hand(seat) == deal.view.hand(seat)
            if deal.phase not in (Phase.DECLARE,):
                assert seen.hand_sizes == deal.view.hand_sizes
                assert (seen.to_act, seen.phase) == (seat, deal.phase)
                assert seen.order == deal.view.order or not seen.revealed
            deal.act(seat, action)
        assert View(ruleset, None, deal.events) == deal.view
        for seat in SEATS:
            own = [seen for event in deal.events if (seen := visible(event, seat)) is not None]
            assert View(ruleset, seat, own) == deal.observation(seat)
        if deal.view.end.how == "redeal":
            continue
        taken = sum(trick.points for trick in deal.view.tricks)
        assert taken + points_of(deal.view.end.bottom) == ruleset.points_total
        assert deal.view.score == counted(deal) + deal.view.end.dig_points
        if later and ruleset.dealer_seat == "placing":
            assert deal.view.dealer.side == deal.setup.on_stage
        assert sum(len(t.plays[0].cards) for t in deal.view.tricks) == ruleset.hand


@PRESETS
def test_an_observation_does_not_depend_on_hidden_cards(ruleset):
    """Two deals that differ in the hands of seats 1 and 2 look the same to seat 0 until a card falls."""
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    options = {"dealer": Seat.S0, "levels": (Rank.SEVEN, Rank.SEVEN), "on_stage": Side.SIDE_02, "first_deal": False}
    deal = new_deal(ruleset, rng, first_drawer=Seat.S0, **options)
    swapped = list(deal.setup.cards)
    for i in range(1, 4 * ruleset.hand, 4):
        swapped[i], swapped[i + 1] = swapped[i + 1], swapped[i]
    other = Deal(Setup(ruleset, tuple(swapped), first_drawer=Seat.S0, **options))
    for each in (deal, other):
        while each.phase in (Phase.DECLARE, Phase.BURY, Phase.STIR):
            each.act(each.to_act, each.default_action(each.to_act))
    assert deal.view != other.view
    assert deal.observation(Seat.S0) == other.observation(Seat.S0)
    assert deal.observation(Seat.S0).canonical() == other.observation(Seat.S0).canonical()


def test_what_a_seat_sees():
    """Q110, Q111: foreign draws and passes while declaring, bottom and buried cards stay hidden."""
    cards = parse_cards("C3 C4")
    assert visible(CardsDrawn(Seat.S1, cards[:1], (0, 1, 0, 0)), Seat.S0) is None
    assert visible(Passed(Seat.S1, Phase.DECLARE), Seat.S0) is None
    assert visible(Passed(Seat.S1, Phase.STIR), Seat.S0) is not None
    assert visible(BottomTaken(Seat.S1, cards, 2), Seat.S3) == BottomTaken(Seat.S1, (), 2)
    assert visible(Buried(Seat.S1, cards, 2), Seat.S1) == Buried(Seat.S1, cards, 2)
    dark = Shown(Seat.S1, ShowKind.DECLARATION, cards[:1], None, True, Phase.DECLARE)
    assert visible(dark, Seat.S2).cards == ()
    assert visible(dark, Seat.S1) is dark


def rigged(ruleset, first, **options):
    """A deck that begins with *first*, the rest ascending without level cards and jokers in front."""
    cards = list(parse_cards(first))
    rest = list(deck(ruleset.decks))
    for card in cards:
        rest.remove(card)
    rest.sort(key=lambda card: (card.is_joker or card.rank == 2 or card == HEART_FIVE, card))
    return Deal(Setup(ruleset, (*cards, *rest), **options))


def test_offers_while_dealing():
    """Q110: asked when the showings have grown, in playing order from the drawer; after a showing again."""
    deal = rigged(HUANLE, "C2 S3 S4 S6 C2 D2 S7 S8 C6 D2")
    assert (deal.to_act, deal.view.hand_sizes) == (0, [1, 0, 0, 0])
    deal.act(Seat.S0, Pass())
    assert (deal.to_act, deal.view.hand_sizes) == (0, [2, 1, 1, 1])
    deal.act(Seat.S0, show("C2"))
    assert deal.to_act == 0  # he may still protect it
    deal.act(Seat.S0, Pass())
    assert (deal.to_act, deal.view.hand_sizes) == (1, [3, 3, 2, 2])
    assert refused(deal, 0, show("C2 C2")) == "NOT_YOUR_TURN"
    deal.act(Seat.S1, show("D2 D2"))
    assert deal.view.standing.kind is ShowKind.OVERCALL
    # Nothing is left to show: the window closes, and the first to show deals.
    assert deal.phase == Phase.BURY
    assert (deal.view.dealer, deal.view.trump, deal.view.level) == (0, Suit.DIAMONDS, Rank.TWO)


def test_nobody_declares_first_deal_is_void():
    """S0-05, Q24: a redeal shows nothing."""
    deal = rigged(MING, "", first_drawer=Seat.S1)
    while not deal.over:
        deal.act(deal.to_act, Pass())
    assert isinstance(deal.events[-1], DealEnded)
    assert deal.observation(Seat.S0).bottom is None


def test_bad_setups(monkeypatch):
    with pytest.raises(MalformedError):
        Deal(Setup(MING, deck(1)))
    monkeypatch.setitem(NOT_PLAYED, "stir", ("none",))
    with pytest.raises(RulesetError):
        Deal(Setup(MING.override({"stir": "none"}), deck(2)))
    with pytest.raises(MalformedError):
        stacked(MING, "8", {0: "S8 S8", 1: "S8"})


@PRESETS
def test_default_follow_is_the_lowest_legal_one(ruleset):
    """Q122, against listing all legal follows."""
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    compared = 0
    for _ in range(8):
        deal = new_deal(ruleset, rng, dealer=Seat.S0, levels=(Rank.NINE, Rank.NINE), first_deal=False)
        while not deal.over:
            seat = deal.to_act
            follows = deal.legal_actions(seat).follows
            if follows is not None and follows.count() <= 500:

                def key(cards):
                    return sorted(default_key(ruleset, Rank.NINE, card) for card in cards)

                assert key(deal.default_action(seat).cards) == min(map(key, follows))
                compared += 1
            deal.act(seat, random_action(deal, seat, rng))
    assert compared > 100


def test_a_throw_with_a_510k_that_is_good_by_itself_is_ruffed_as_an_ordinary_throw() -> None:
    """Q116 (2): no component of DA DK DT D5 is beaten, so four trumps of a void seat win it."""
    hands = {
        Seat.S0: parse_cards("DA DK DT D5"),
        Seat.S1: parse_cards("S3 S4 S6 S7"),
        Seat.S2: parse_cards("C2 C3 C4 C6"),
        Seat.S3: parse_cards("C7 C9 CJ CQ"),
    }
    deal = Deal.from_position(
        resolve("ming_chao"),
        hands,
        dealer=Seat.S0,
        levels=(Rank.EIGHT, Rank.EIGHT),
        phase=Phase.LEAD,
        trump=Suit.SPADES,
        tricks_left=1,
    )

    for seat in (Seat.S0, Seat.S1, Seat.S2, Seat.S3):
        deal.play(seat, hands[seat])

    assert deal.view.tricks[-1].winner == Seat.S1
