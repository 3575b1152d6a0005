"""Forced and kept heart fives (逼红5, 保红5), and the laps of an_chao."""

import pytest
from chaodipi.engine import Deal, Phase, Play, Position, Rank, Seat, Side, Suit, order_for, parse_cards, resolve, settle
from chaodipi.engine.events import Booked, DealEnded

AN_CHAO = resolve("an_chao")
DEALERS, CATCHERS = Side.SIDE_02, Side.SIDE_13


def _played(hands: list[str], plays: list[str], leader: Seat, bottom: str = "", **more: int) -> Deal:
    """Spades are trump at level 8, seat 0 deals; *plays* are made in turn from *leader* on."""
    given = {Seat(i): parse_cards(text) for i, text in enumerate(hands)}
    deal = Deal.from_position(
        AN_CHAO,
        given,
        bottom=parse_cards(bottom),
        dealer=Seat.S0,
        levels=(Rank.EIGHT, Rank.EIGHT),
        phase=Phase.LEAD,
        trump=Suit.SPADES,
        leader=leader,
        **more,
    )
    for cards in plays:
        assert deal.to_act is not None
        deal.act(deal.to_act, Play(parse_cards(cards)))
    return deal


def _booked(deal: Deal) -> list[tuple[str, int, int]]:
    return [(event.kind, int(event.seat), event.points) for event in deal.events if isinstance(event, Booked)]


@pytest.mark.clauses("S0-38", "Q71", "Q106")
@pytest.mark.parametrize(
    ("hand", "lead", "play", "points"),
    [
        ("H5 D3", "S4", "H5", -50),  # the only trump of a catcher
        ("H5 S3 D3", "S4", "H5", 0),  # another trump would have done
        ("H5 S3 S6 D3", "S4", "S3", 0),
        ("H5 H5 S3 D3", "S4 S4", "H5 H5", -100),  # the only pair
        ("H5 S3 D3 D4", "S4 S4", "H5 S3", -50),  # all trumps there are
        ("H5 D3 D4", "S4 S4", "H5 D3", -50),
        ("H5 H5 S3 S3 D3", "S4 S4", "H5 H5", 0),
        ("H5 C3", "D4", "H5", 0),  # a ruff of a side suit is free
    ],
)
def test_a_heart_five_is_forced_if_every_legal_follow_holds_it(hand: str, lead: str, play: str, points: int) -> None:
    """It counts when the lead is of trumps and cards are left; the side that loses it pays."""
    deal = _played([f"{lead} C7", hand, "", ""], [lead, play], Seat.S0)

    assert _booked(deal) == ([("forced_heart_five", 1, points)] if points else [])
    assert deal.view.score == points


@pytest.mark.clauses("S0-38", "Q71")
@pytest.mark.parametrize(
    ("leader", "more", "points"),
    [
        ("S4", {}, 0),
        ("S4 C7", {"tricks_left": 1}, 0),
        ("S4 C7", {}, -50),  # the leader has a card left
        ("S4", {"tricks_left": 2}, -50),  # so the position says
    ],
)
def test_the_last_trick_forces_nothing(leader: str, more: dict[str, int], points: int) -> None:
    """Hands that are given in part do not make a trick the last one, as long as anything says that it is not."""
    deal = _played([leader, "H5", "", ""], ["S4", "H5"], Seat.S0, **more)

    assert deal.view.score == points


@pytest.mark.clauses("S0-38", "Q71")
def test_the_dealer_side_pays_for_its_forced_heart_five_to_the_catchers() -> None:
    """Also where its own partner forced it; a heart five that is led was not forced."""
    forced = _played(["S4 C7", "S6 C9", "H5 C3", "S7 C4"], ["S4", "S6", "H5"], Seat.S0)
    led = _played(["H5 C7", "S6 C9", "S9 C3", "S7 C4"], ["H5"], Seat.S0)

    assert _booked(forced) == [("forced_heart_five", 2, 50)]
    assert _booked(led) == []


@pytest.mark.clauses("S0-39", "Q72", "Q124")
@pytest.mark.parametrize(
    ("leader", "last", "points"),
    [
        (Seat.S1, "H5", 50),
        (Seat.S1, "H5 H5", 100),
        (Seat.S0, "H5", -50),
        (Seat.S2, "H5 H5", -100),
        (Seat.S1, "H5 SA", 0),  # not heart fives alone
        (Seat.S1, "SA", 0),
    ],
)
def test_a_heart_five_led_to_the_last_trick_is_kept(leader: Seat, last: str, points: int) -> None:
    """It pays its side; the dig comes before it, and both are in the final score."""
    others = {2: ["C3 C4", "C6 C7", "C9 D3"], 1: ["C3", "C4", "C6"]}[len(last.split())]
    hands = [others.pop() if seat != leader else last for seat in range(4)]
    order = [hands[(leader + i) % 4] for i in range(4)]
    deal = _played(hands, order, leader, bottom="DK C2 D4 D6 D7 D9 DJ DQ", tricks_left=1)

    assert _booked(deal) == ([("kept_heart_five", int(leader), points)] if points else [])
    (end,) = [event for event in deal.events if isinstance(event, DealEnded)]
    dig = 0 if leader.side == DEALERS else 10 * (4 if len(set(last.split())) == 1 and len(last.split()) == 2 else 2)
    taken = 0 if leader.side == DEALERS else sum(card.points for card in parse_cards(last))
    assert end.dig_points == dig
    assert end.score == taken + dig + points


# ---- laps


def _at(level: str, lap: int, *released: str) -> Position:
    return Position(Rank.parse(level), lap, released=frozenset(map(Rank.parse, released)))


@pytest.mark.clauses("S0-40", "Q79", "Q87", "Q118")
@pytest.mark.parametrize(
    ("score", "dealers", "catchers", "after"),
    [
        (20, _at("A", 1), _at("5", 1), (_at("3", 2), _at("5", 1))),  # A of the first lap is a level like any other
        (0, _at("Q", 2), _at("5", 1), (_at("2", 3), _at("5", 1))),
        (160, _at("5", 1), _at("K", 2), (_at("5", 1), _at("2", 3))),  # catchers, too, go on past A
        (200, _at("5", 1), _at("Q", 3), (_at("5", 1), _at("A", 3))),  # but stop on the last one
        (200, _at("5", 1), _at("A", 3), (_at("5", 1), _at("A", 3))),
        (200, _at("5", 1), _at("A", 2), (_at("5", 1), _at("4", 3))),
    ],
)
def test_past_a_the_next_lap_begins(
    score: int, dealers: Position, catchers: Position, after: tuple[Position, Position]
) -> None:
    """Only A of the third lap must be played; nothing before it stops a climb."""
    done = settle(AN_CHAO, Seat.S0, score, {DEALERS: dealers, CATCHERS: catchers})

    assert (done.positions[DEALERS], done.positions[CATCHERS]) == after
    assert done.winner is None


@pytest.mark.clauses("S0-43", "S0-45", "Q68", "Q69", "Q119")
@pytest.mark.parametrize(
    ("score", "winners", "last", "heaven"),
    [
        (60, DEALERS, "D5 DT DK", True),
        (200, DEALERS, "D5 DT DK", True),  # kept, whatever the points
        (30, CATCHERS, "S5 ST SK", True),
        (200, CATCHERS, "H5 HT HK", True),
        (200, CATCHERS, "D5 DT DK DA", False),
        (200, CATCHERS, "D5 D5 DT DT DK DK", False),
        (200, CATCHERS, "D5 DT DQ", False),
    ],
)
def test_up_to_heaven_sets_both_sides(score: int, winners: Side, last: str, heaven: bool) -> None:
    """The winner of the last trick stands on A of lap 3 and is on stage; the other begins again, nothing released."""
    before = {DEALERS: _at("8", 2, "A"), CATCHERS: _at("A", 3, "A")}
    order = order_for(AN_CHAO, Rank.EIGHT, Suit.SPADES)
    done = settle(AN_CHAO, Seat.S0, score, before, order=order, last_winner=winners, last_play=parse_cards(last))

    assert done.heaven is heaven
    if heaven:
        assert done.positions[winners] == _at("A", 3, "A")
        assert done.positions[winners.other] == _at("2", 1)
        assert (done.stage, done.winner) == (winners, None)
        assert done.next_dealer == (Seat.S2 if winners == DEALERS else Seat.S1)
        assert done.award >= 16
