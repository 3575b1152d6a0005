"""Whole games: from 2 past A, with everything that one deal hands to the next."""

import random

import pytest
from chaodipi.engine import Deal, Game, Pass, Play, Position, Rank, Seat, Side, deck, preset_names, resolve
from chaodipi.engine.actions import Action
from chaodipi.engine.game import paid_winner


def _act(deal: Deal, seat: Seat, rng: random.Random) -> Action:
    """Any legal action, showings included."""
    legal = deal.legal_actions(seat)
    if legal.shows and rng.random() < 0.5:
        return rng.choice(legal.shows)
    if legal.follows is not None:
        return Play(legal.follows.first())
    return deal.default_action(seat)


def _height(position: Position) -> tuple[int, Rank]:
    return (position.lap, position.level)


@pytest.mark.parametrize("preset", ["an_chao", "kang_qi", "ming_chao", "huanle_1", "huanle_2", "huanle_3", "hunan"])
def test_a_game_is_won_by_winning_a_deal_at_a_as_dealer_side(preset: str) -> None:
    """
    Nobody passes J (ming_chao) or A (an_chao: that of the third lap) without dealing there; dealers rotate by the
    result (S2b-39, S2b-40). In kang_qi winning at A is not enough: the flag must be carried (S0-48 to S0-51).
    """
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    game = Game(resolve(preset))

    while game.winner is None:
        assert game.deals < 400
        cards = list(deck(game.ruleset.decks))
        rng.shuffle(cards)
        before, first = dict(game.positions), game.dealer is None
        setup = game.setup(cards, Seat(rng.randrange(4)))
        assert first or setup.first_drawer == setup.dealer
        deal = Deal(setup)
        while (seat := deal.to_act) is not None:
            deal.act(seat, _act(deal, seat, rng))
        done = game.finish(deal)
        if done is None:
            # A first deal is dealt again, in hunan a later one too (S0-05, S2a-52, Q24).
            assert first or game.ruleset.no_declare_later == "redeal"
            assert game.positions == before
            continue
        dealer = deal.view.dealer
        assert dealer is not None
        if done.winner is None:
            assert game.dealer == (dealer.partner if done.stage == dealer.side else dealer.next)
        if deal.view.flag:
            assert (done.winner == dealer.side) == (done.score < 100)
        if not (done.heaven or done.fall_back):
            assert all(_height(game.positions[side]) >= _height(before[side]) for side in Side)

    assert _height(before[game.winner]) == (game.ruleset.laps, Rank.ACE)
    assert before[game.winner].flag == (game.ruleset.past_ace == "flag")
    assert done is not None
    assert done.stage == game.winner == dealer.side


def test_a_deal_without_a_declaration_is_dealt_again_with_the_same_number() -> None:
    """A redeal changes neither positions nor the deal's number; the cap deals no trump without stirring (Q133)."""
    game = Game(resolve("huanle_2"))
    rng = random.Random(7)

    for redeals in range(4):
        cards = list(deck(2))
        rng.shuffle(cards)
        setup = game.setup(cards, Seat.S2)
        assert (setup.redeals, setup.first_deal, game.deals) == (redeals, True, 0)
        deal = Deal(setup)
        while (seat := deal.to_act) is not None and not deal.over:
            legal = deal.legal_actions(seat)
            deal.act(seat, Pass() if legal.shows else deal.default_action(seat))
        done = game.finish(deal)
        assert (done is None) == (redeals < 3)

    assert deal.view.undeclared
    assert deal.view.asked == []
    assert (deal.view.dealer, deal.view.trump and deal.view.trump.letter) == (Seat.S2, "NT")
    assert game.deals == 1


@pytest.mark.clauses("S2a-04", "S2a-10", "S2a-11", "S2a-35", "Q89", "Q118", "Q125")
def test_a_match_of_deals_is_won_by_the_higher_payouts() -> None:
    """
    The set number of played deals ends it, no level does: past A it goes on at 2 (S2a-04, S2a-10, Q89, Q118, Q125).

    Who is paid follows from who came on stage, and the sums decide.
    """
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    deals_set = 60
    game = Game(resolve("baomahui"), deals_set)
    sums, wraps = dict.fromkeys(Side, 0), 0

    while not game.over:
        cards = list(deck(2))
        rng.shuffle(cards)
        before = dict(game.positions)
        deal = Deal(game.setup(cards, Seat(rng.randrange(4))))
        while (seat := deal.to_act) is not None:
            deal.act(seat, _act(deal, seat, rng))
        done = game.finish(deal)
        if done is None:
            continue
        dealer = deal.view.dealer
        assert dealer is not None
        assert done.payout is not None
        assert done.winner is None
        assert done.next_dealer is not None
        for side, paid in zip((dealer.side, dealer.side.other), done.payout, strict=True):
            sums[side] += paid
            assert (paid > 0) == (done.stage == side)
            assert -26 <= paid <= 39
            wraps += game.positions[side].level < before[side].level
        assert done.payout[0] <= 9  # on stage one wins 9 at most (S2a-11)

    assert game.deals == deals_set
    assert wraps
    assert game.payouts == sums
    assert game.winner == (None if len(set(sums.values())) == 1 else max(Side, key=sums.__getitem__))
    with pytest.raises(ValueError, match="over"):
        game.setup(deck(2))


def test_the_number_of_deals_is_set_where_it_decides_and_nowhere_else() -> None:
    """A game that nobody can end, or a number that nothing asks for, is the caller's mistake."""
    for preset, deals_set in (("baomahui", None), ("baomahui", 0), ("huanle_2", 3)):
        with pytest.raises(ValueError, match="deals_set"):
            Game(resolve(preset), deals_set)


def test_equal_payouts_win_nothing() -> None:
    """Q89: only the higher sum wins."""
    assert paid_winner({Side.SIDE_02: 4, Side.SIDE_13: 4}) is None
    assert paid_winner({Side.SIDE_02: -4, Side.SIDE_13: -3}) == Side.SIDE_13


@pytest.mark.clauses("S4-13", "Q92")
@pytest.mark.parametrize("name", [name for name in preset_names() if resolve(name).dealer_seat == "placing"])
def test_partners_on_stage_take_turns_to_draw_first(name: str) -> None:
    """Where placing decides who deals, the first card goes to the partner of who drew it last."""
    game = Game(resolve(name))
    rng = random.Random(3)
    turns = 0
    while game.winner is None and game.deals < 20:
        cards = list(deck(game.ruleset.decks))
        rng.shuffle(cards)
        setup, stage = game.setup(cards, Seat(rng.randrange(4))), game.stage
        deal = Deal(setup)
        while (seat := deal.to_act) is not None:
            deal.act(seat, _act(deal, seat, rng))
        game.finish(deal)
        if game.winner is None and stage is not None and game.stage == stage:
            assert game.setup(cards).first_drawer == setup.first_drawer.partner
            turns += 1

    assert turns
