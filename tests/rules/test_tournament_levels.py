"""Jumps, knock-outs, falling back and releases of the tournaments, beside what the golden positions show."""

import pytest
from chaodipi.engine import Position, Rank, Seat, Settlement, Side, order_for, parse_cards, resolve, settle
from chaodipi.engine.cards import Suit

DARK = resolve("huanle_2").override(
    {
        "steps": "tens", "sweep_steps": 9, "jump": True, "first_deal_knockout": True, "fall_back": "table",
        "must_play": ["2", "J", "A"], "must_play_release": "played",
    },
    "dark levels",
)  # fmt: skip
DEALERS, CATCHERS = Side.SIDE_02, Side.SIDE_13


def _settle(score: int, level: str, catchers: str = "5", **more: object) -> Settlement:
    """Seat 0 deals at *level*; ``dug`` are the catchers' cards in the last trick, hearts are trump."""
    rank = Rank.parse(level)
    dug = parse_cards(str(more.pop("dug", "")))
    return settle(
        DARK,
        Seat.S0,
        score,
        {DEALERS: Position(rank), CATCHERS: Position(Rank.parse(catchers))},
        order=order_for(DARK, rank, Suit.HEARTS),
        last_winner=CATCHERS if dug else DEALERS,
        last_play=dug,
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("score", [5, 100, 195])
def test_a_level_is_released_by_having_been_played_won_or_lost(score: int) -> None:
    """S3-14, Q80: the dealer side's J stops it no more; the catchers' A was not played and still stops them."""
    done = _settle(score, "J", "A")

    assert done.positions[DEALERS].released == {Rank.JACK}
    assert done.positions[CATCHERS] == Position(Rank.ACE)
    assert done.winner is None


def test_released_levels_are_passed_by_points_a_included() -> None:
    """Q80: catchers on a released A win the game by points; on one that is not they come on stage and play it."""
    released = Position(Rank.ACE, released=frozenset({Rank.ACE}))
    on_nine = Position(Rank.NINE)

    won = settle(DARK, Seat.S0, 90, {DEALERS: on_nine, CATCHERS: released})
    stays = settle(DARK, Seat.S0, 85, {DEALERS: on_nine, CATCHERS: released})  # the stray 5 is no level (Q74)

    assert (won.winner, won.next_dealer) == (CATCHERS, None)
    assert (stays.winner, stays.stage, stays.next_dealer) == (None, CATCHERS, Seat.S1)


def test_a_jump_goes_before_falling_back() -> None:
    """F12: 200 points at J win the game; the dealer side's fall to 2 is not looked at any more."""
    done = _settle(200, "J", dug="CJ CJ", table_score=120)

    assert (done.winner, done.jump, done.fall_back) == (CATCHERS, True, False)
    assert done.positions[DEALERS].level == Rank.JACK


@pytest.mark.parametrize(
    ("score", "dug", "table", "winner"),
    [
        (0, "", 0, DEALERS),
        (-30, "", -30, DEALERS),  # Q78: a sweep, whatever the penalties did
        (5, "", 5, None),
        (80, "S3", 80, CATCHERS),  # a bottom without points is dug all the same
        (240, "S3", 75, None),  # Q84: the table counts, and nobody jumps in a first deal
        (200, "", 200, None),
    ],
)
def test_a_first_deal_is_won_by_a_sweep_or_by_80_on_the_table_and_a_dig(
    score: int, dug: str, table: int, winner: Side | None
) -> None:
    """S3-18, S3-19, Q84."""
    done = _settle(score, "2", "2", dug=dug, table_score=table, first_deal=True)

    assert (done.winner, done.jump) == (winner, False)


@pytest.mark.parametrize(
    ("level", "dug", "falls_to"),
    [
        ("A", "HA HA HK", "2"),  # contains two identical aces (S3-15)
        ("A", "HA CA", "A"),
        ("A", "SA", "J"),
        ("A", "HA HK", "A"),  # one ace is the whole play, or nothing (Q120)
        ("J", "CJ CJ", "2"),
        ("J", "HJ HT", "J"),
        ("Q", "CA", "Q"),
        ("A", "bj bj", "A"),
    ],
)
def test_who_digs_with_j_or_a_sends_the_dealer_side_down(level: str, dug: str, falls_to: str) -> None:
    """S3-15 to S3-17, Q120; the table must hold 80, and the catchers have their gain besides."""
    done = _settle(110, level, dug=dug, table_score=80)
    too_little = _settle(110, level, dug=dug, table_score=75)

    assert done.positions[DEALERS].level == Rank.parse(falls_to)
    assert done.fall_back == (falls_to != level)
    assert done.gained[1] == 3
    assert too_little.positions[DEALERS].level == Rank.parse(level)
