"""A match of three games: what is counted, what begins anew, and what the clock decides (S4-05 to S4-08, Q90, Q129)."""

import pytest
from chaodipi.engine import Card, Deal, Match, Phase, Rank, Seat, Show, Side, Suit, deck, parse_cards, resolve
from chaodipi.engine.judge import answer
from chaodipi.engine.referee import Offence, Referee

RULES = resolve("huanle_2").override(
    {"match": "best_of_three", "steps": "tens", "sweep_steps": 9, "jump": True, "first_deal_knockout": True},
    "best of three",
)
OURS, THEIRS = Side.SIDE_02, Side.SIDE_13


def _deal(match: Match, dealer: Seat, score: int) -> Deal:
    """The match's next deal, played to its end in one trick without points that the dealer wins, at *score* points."""
    setup = match.setup(deck(2))
    hands = {seat: parse_cards(card) for seat, card in zip(Seat, ("H4", "H4", "H3", "H3"), strict=True)}
    hands[dealer] = parse_cards("HA")
    deal = Deal.from_position(
        RULES,
        hands,
        dealer=dealer,
        levels=setup.levels,
        first_deal=setup.first_deal,
        phase=Phase.LEAD,
        trump=Suit.SPADES,
        score=score,
    )
    while (seat := deal.to_act) is not None:
        deal.act(seat, deal.default_action(seat))
    return deal


def _play(match: Match, dealer: Seat, score: int, now_s: float = 0) -> None:
    match.finish(_deal(match, dealer, score), now_s)


def test_two_games_win_the_match() -> None:
    match = Match(RULES)

    _play(match, Seat.S0, 0)  # a sweep in the first deal wins the game (S3-18)
    assert (match.games, match.over) == ({OURS: 1, THEIRS: 0}, False)
    _play(match, Seat.S1, 0)
    _play(match, Seat.S3, 0)

    assert (match.over, match.winner, match.games) == (True, THEIRS, {OURS: 1, THEIRS: 2})
    with pytest.raises(ValueError, match="over"):
        match.setup(deck(2))


def test_a_new_game_begins_anew() -> None:
    """Levels, releases, dealer and the rules of the first deal (Q129); the levels risen are carried over (S4-07)."""
    match = Match(RULES)
    _play(match, Seat.S0, 40)
    assert match.game.positions[OURS].level == Rank.SIX
    _play(match, Seat.S2, 30)  # not a first deal any more: up to J
    _play(match, Seat.S0, 0)  # a jump in a deal at J wins the game (S3-22)

    setup = match.setup(deck(2))
    assert (setup.first_deal, setup.dealer, setup.on_stage) == (True, None, None)
    assert setup.levels == (Rank.TWO, Rank.TWO)
    assert match.risen[OURS] >= 9


@pytest.mark.parametrize(("score", "winner"), [(40, OURS), (75, OURS), (90, THEIRS)])
def test_at_time_the_deal_is_finished_and_more_levels_win(score: int, winner: Side) -> None:
    match = Match(RULES, time_s=3600)

    _play(match, Seat.S0, score, now_s=3599)
    assert not match.over
    match.tell(3600)

    assert (match.over, match.winner) == (True, winner)


def test_level_at_time_the_side_on_stage_last_wins() -> None:
    """85 points bring the catchers on stage without a level (Q74): nobody has risen."""
    match = Match(RULES, time_s=10)

    _play(match, Seat.S0, 85, now_s=11)

    assert match.risen == {OURS: 0, THEIRS: 0}
    assert (match.over, match.winner) == (True, THEIRS)


def test_a_game_counts_more_than_levels_at_time() -> None:
    match = Match(RULES, time_s=10)
    _play(match, Seat.S0, 0)
    _play(match, Seat.S1, 5, now_s=10)

    assert match.risen[THEIRS] > match.risen[OURS]
    assert match.winner == OURS


def test_other_rulesets_have_other_matches() -> None:
    with pytest.raises(ValueError, match="best of three"):
        Match(resolve("huanle_2"))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ({"games": {"02": 1, "13": 1}, "time_up": False}, (False, None)),
        ({"games": {"02": 2, "13": 1}, "time_up": True}, (True, "02")),
        ({"games": {"02": 0, "13": 1}, "time_up": True, "risen": {"02": 30, "13": 2}}, (True, "13")),
        ({"games": {"02": 1, "13": 1}, "time_up": True, "risen": {"02": 30, "13": 31}, "on_stage": "02"}, (True, "13")),
        ({"games": {"02": 1, "13": 1}, "time_up": True, "risen": {"02": 30, "13": 30}, "on_stage": "02"}, (True, "02")),
    ],
)
def test_the_judge_decides_a_match_in_the_same_way(question: dict[str, object], expected: tuple[bool, object]) -> None:
    ruleset = {"base": "huanle_2", "overrides": {"match": "best_of_three"}}

    result = answer({"op": "match", "ruleset": ruleset, **question})["result"]

    assert (result["over"], result["winner"]) == expected


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ({"games": {"02": 2, "13": 2}, "time_up": True}, "games"),
        ({"games": {"02": 1, "13": 1}, "time_up": True}, "risen"),
        ({"games": {"02": 1, "13": 1}, "time_up": True, "risen": {"02": 3, "13": 3}}, "on_stage"),
    ],
)
def test_a_match_that_cannot_be_decided_is_a_malformed_question(question: dict[str, object], field: str) -> None:
    ruleset = {"base": "huanle_2", "overrides": {"match": "best_of_three"}}

    assert answer({"op": "match", "ruleset": ruleset, **question})["error"]["field"] == field


def test_a_false_call_before_there_is_a_dealer_jumps_as_well() -> None:
    """A first deal that a referee ends in the declaring: the opponents rise to A (S3-56, Q86)."""
    match = Match(resolve("t_dark", {"match": "best_of_three"}))
    deal = Deal(match.setup(deck(2)))
    seat = deal.to_act
    assert seat is not None
    ruling = Referee(deal).act(seat, Show((Card.BIG_JOKER,)))
    assert ruling.offence is Offence.FALSE_SHOWING

    settlement = match.finish(deal, 60)

    assert settlement is not None
    assert (settlement.jump, match.on_stage, match.over) == (True, seat.side.other, False)
    assert match.risen == {seat.side: 0, seat.side.other: 12}
    assert match.setup(deck(2)).levels[seat.side.other] == Rank.ACE
