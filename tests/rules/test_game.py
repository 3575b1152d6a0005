"""Whole games: from 2 past A, with everything that one deal hands to the next."""

import random

import pytest
from chaodipi.engine import Deal, Game, Pass, Play, Rank, Seat, Side, deck, resolve
from chaodipi.engine.actions import Action


def _act(deal: Deal, seat: Seat, rng: random.Random) -> Action:
    """Any legal action, showings included."""
    legal = deal.legal_actions(seat)
    if legal.shows and rng.random() < 0.5:
        return rng.choice(legal.shows)
    if legal.follows is not None:
        return Play(legal.follows.first())
    return deal.default_action(seat)


@pytest.mark.parametrize("preset", ["ming_chao", "huanle_2"])
def test_a_game_is_won_by_winning_a_deal_at_a_as_dealer_side(preset: str) -> None:
    """Nobody passes J (ming_chao) or A without dealing there; dealers rotate by the result (S2b-39, S2b-40)."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    game = Game(resolve(preset))

    while game.winner is None:
        assert game.deals < 400
        cards = list(deck(2))
        rng.shuffle(cards)
        before, first = dict(game.positions), game.dealer is None
        setup = game.setup(cards, Seat(rng.randrange(4)))
        assert first or setup.first_drawer == setup.dealer
        deal = Deal(setup)
        while (seat := deal.to_act) is not None:
            deal.act(seat, _act(deal, seat, rng))
        done = game.finish(deal)
        if done is None:
            assert first  # only a first deal is dealt again (S0-05, Q24)
            assert game.positions == before
            continue
        dealer = deal.view.dealer
        assert dealer is not None
        if done.winner is None:
            assert game.dealer == (dealer.partner if done.stage == dealer.side else dealer.next)
        if not (done.heaven or done.fall_back):
            assert all(game.positions[side].level >= before[side].level for side in Side)

    assert before[game.winner].level == Rank.ACE
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
