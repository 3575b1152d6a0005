"""A referee's table: what is booked for which breach, and that no breach harms a deal (Q94)."""

import random
from collections import Counter

import pytest
from chaodipi.engine import (
    Action,
    Bury,
    Card,
    Deal,
    Game,
    Pass,
    Phase,
    Play,
    Rank,
    Seat,
    Setup,
    Show,
    ShowKind,
    Side,
    Suit,
    deck,
    parse_cards,
    resolve,
)
from chaodipi.engine.events import Booked, DealEnded
from chaodipi.engine.referee import IRREGULARITIES, Offence, Referee
from chaodipi.engine.ruleset import KEYS

BOTTOM = parse_cards("C3 C3 D3 D3 C4 C4 D4 D4")


def _in_play(preset: str, score: int = 50) -> Referee:
    """Seat 0 deals and has led HK HK under spades."""
    hands = {0: "HK HK D3", 1: "H3 H3 H4 D4", 2: "C9 C9 H5 H6", 3: "D5 D6 D7 H8"}
    deal = Deal.from_position(
        resolve(preset),
        {Seat(seat): parse_cards(text) for seat, text in hands.items()},
        dealer=Seat.S0,
        levels=(Rank.SEVEN, Rank.SEVEN),
        phase=Phase.LEAD,
        trump=Suit.SPADES,
        score=score,
    )
    deal.play(Seat.S0, parse_cards("HK HK"))
    return Referee(deal)


@pytest.mark.parametrize(
    ("preset", "seat", "cards", "offence", "points"),
    [
        ("t_dark", 1, "H3 H4", Offence.REVOKE, -20),
        ("t_timed", 1, "H3 H4", Offence.REVOKE, -20),
        ("t_dark", 1, "H3 D4", Offence.REVOKE, -20),
        ("t_dark", 1, "H3 H3 H4", Offence.WRONG_COUNT, -30),
        ("t_timed", 1, "H3", Offence.WRONG_COUNT, -10),
        ("t_dark", 2, "C9 C9", Offence.OUT_OF_TURN, 20),
        ("t_timed", 3, "H8", Offence.OUT_OF_TURN, -10),
        ("in_play", 1, "H3 H4", None, 0),  # a ruleset without a table: refused, and that is all
    ],
)
def test_a_wrong_play_is_booked_and_taken_back(
    preset: str, seat: int, cards: str, offence: Offence | None, points: int
) -> None:
    referee = _in_play(preset)
    before = dict(referee.deal.view.hands)

    ruling = referee.act(Seat(seat), Play(parse_cards(cards)))

    assert ruling.refused is not None
    assert (ruling.offence, ruling.warned) == (offence, False)
    assert [event.points for event in ruling.events if isinstance(event, Booked)] == ([points] if points else [])
    assert referee.deal.view.score == 50 + points
    assert (referee.deal.to_act, referee.deal.view.hands) == (Seat.S1, before)


def test_a_penalty_never_takes_the_catchers_below_nothing() -> None:
    """S3-49, Q78: floored when it is booked, so what comes after counts from 0."""
    referee = _in_play("t_dark", score=10)
    referee.act(Seat.S1, Play(parse_cards("H3 H4")))
    referee.act(Seat.S2, Play(parse_cards("C9")))

    assert referee.deal.view.score == 10
    assert [booked.points for booked in referee.deal.view.adjustments] == [-20, 10]


def test_cards_that_a_hand_lacks_are_no_offence() -> None:
    """Nobody can lay them on a table; a showing with them is a pretence (S3-56)."""
    assert _in_play("t_dark").act(Seat.S1, Play(parse_cards("SA SA"))).offence is None


def _declaring(preset: str, **options: object) -> Referee:
    hands = {Seat.S0: parse_cards("D7 H7"), Seat.S1: parse_cards("S7 C7"), Seat.S2: (), Seat.S3: ()}
    setup: dict[str, object] = {"levels": (Rank.SEVEN, Rank.SEVEN), "on_stage": Side.SIDE_02, "bottom": BOTTOM}
    return Referee(Deal.from_position(resolve(preset), hands, **(setup | options)))  # type: ignore[arg-type]


@pytest.mark.parametrize(("level", "winner"), [("6", None), ("T", None), ("J", Side.SIDE_02), ("A", Side.SIDE_02)])
def test_a_false_call_lets_the_opponents_jump_in_the_dark_tournament(level: str, winner: Side | None) -> None:
    """S3-56, Q86: the deal is not played; at J, Q, K, A the game is won."""
    rank = Rank.parse(level)
    referee = _declaring("t_dark", dealer=Seat.S0, levels=(rank, rank))
    game = Game(resolve("t_dark"))
    for side in Side:
        game.positions[side] = game.positions[side].__class__(rank)

    ruling = referee.act(Seat.S1, Show(parse_cards("CA")))

    end = referee.deal.view.end
    assert end is not None
    assert isinstance(ruling.events[-1], DealEnded)
    assert (end.how, end.jumping) == ("jump", Side.SIDE_02)
    done = game.finish(referee.deal)
    assert done is not None
    assert (done.jump, done.winner, done.stage) == (True, winner, Side.SIDE_02)
    assert game.positions[Side.SIDE_02].level == Rank.ACE
    # What was not played is not released (Q80).
    assert game.positions[Side.SIDE_02].released == frozenset()


def test_a_false_call_in_the_first_deal_leads_to_a_as_well() -> None:
    """Q86; nobody deals yet, so the jumping side deals by rotation from the first drawer."""
    game = Game(resolve("t_dark"))
    deal = Deal(game.setup(deck(2), Seat.S1))
    referee = Referee(deal)
    seat = deal.to_act
    assert seat is not None

    referee.act(seat, Show(parse_cards("CA")))
    done = game.finish(deal)

    assert done is not None
    assert (done.winner, done.stage) == (None, seat.side.other)
    assert game.positions[seat.side.other].level == Rank.ACE
    assert game.dealer is not None
    assert game.dealer.side == seat.side.other


def test_a_false_placing_costs_ten_a_card_and_is_refused() -> None:
    """S4-50; seat 1 is off stage."""
    referee = _declaring("t_timed")

    assert referee.act(Seat.S1, Show(parse_cards("S7 C7"))).offence is Offence.FALSE_SHOWING
    assert referee.act(Seat.S0, Show(parse_cards("D7 H7"))).offence is Offence.FALSE_SHOWING

    assert [booked.points for booked in referee.deal.view.adjustments] == [-20, 20]
    assert referee.deal.view.shown == []


def test_a_penalty_waits_until_there_is_a_dealer_side() -> None:
    """In a first deal nobody knows whose points a penalty is before the window closes."""
    twos = {Seat.S0: parse_cards("D2"), Seat.S1: parse_cards("S2 C2"), Seat.S2: (), Seat.S3: ()}
    referee = Referee(Deal.from_position(resolve("t_timed"), twos, first_deal=True, bottom=BOTTOM))
    referee.act(Seat.S1, Show(parse_cards("S2 C2")))
    referee.act(Seat.S1, Show(parse_cards("S2")))
    assert referee.deal.view.adjustments == []

    referee.close()

    assert referee.deal.view.dealer == Seat.S1
    assert [(booked.seat, booked.points) for booked in referee.deal.view.adjustments] == [(Seat.S1, 20)]


def _burying(preset: str, count: int) -> Referee:
    hands = {Seat.S0: (*parse_cards("S7 H9 HT"), *BOTTOM), Seat.S1: parse_cards("rj rj"), Seat.S2: (), Seat.S3: ()}
    deal = Deal.from_position(
        resolve(preset),
        hands,
        dealer=Seat.S0,
        levels=(Rank.SEVEN, Rank.SEVEN),
        phase=Phase.BURY,
        standing=(Seat.S0, parse_cards("S7"), ShowKind.DECLARATION, None),
    )
    referee = Referee(deal)
    cards = (*BOTTOM, *parse_cards("H9 HT"))[:count]
    assert referee.act(Seat.S0, Bury(cards)).offence is Offence.WRONG_BURY
    return referee


@pytest.mark.parametrize("preset", ["t_dark", "t_timed"])
@pytest.mark.parametrize("count", [1, 7, 9, 10])
def test_a_bottom_of_the_wrong_number_is_buried_anew(preset: str, count: int) -> None:
    """S3-55, S4-51: 80 points, and the burier does it again."""
    referee = _burying(preset, count)
    assert (referee.deal.phase, referee.deal.view.score, referee.uncounted) == (Phase.BURY, 80, True)

    assert referee.act(Seat.S0, Bury(BOTTOM)).refused is None

    assert (referee.deal.phase, referee.uncounted, referee.deal.view.bottom) == (
        Phase.STIR,
        False,
        tuple(sorted(BOTTOM)),
    )


@pytest.mark.parametrize("count", [1, 7, 9, 10])
def test_others_may_go_on_over_it_and_who_stirs_without_a_word_pays_too(count: int) -> None:
    """S4-52 to S4-57: eight cards all the same; who only passes has done nothing wrong."""
    stirred, passed = _burying("t_timed", count), _burying("t_timed", count)

    assert stirred.act(Seat.S1, Show(parse_cards("rj rj"))).refused is None
    assert passed.act(Seat.S1, Pass()).refused is None

    assert [booked.points for booked in stirred.deal.view.adjustments] == [80, -80]
    assert [booked.points for booked in passed.deal.view.adjustments] == [80]
    assert stirred.deal.view.hand_sizes[1] == 2 + 8
    assert len(passed.deal.view.bottom or ()) == 8
    assert passed.deal.view.hand_sizes[0] == 3


def test_nobody_goes_on_out_of_turn_over_a_wrong_bottom() -> None:
    referee = _burying("t_timed", 7)
    before = referee.deal.view.canonical()

    assert referee.act(Seat.S2, Pass()).refused is not None

    assert referee.deal.view.canonical() == before
    assert referee.uncounted


def test_changing_the_bottom_is_warned_of_once_for_each_seat() -> None:
    """S4-24, S4-25."""
    referee = _burying("t_timed", 7)
    referee.act(Seat.S0, Bury(BOTTOM))

    rulings = [referee.act(Seat(seat), Bury(BOTTOM)) for seat in (0, 1, 0, 0)]

    assert [ruling.warned for ruling in rulings] == [True, True, False, False]
    assert [booked.points for booked in referee.deal.view.adjustments] == [80, 80, 80]


def test_nothing_laid_down_is_nothing_touched() -> None:
    referee = _burying("t_timed", 7)
    referee.act(Seat.S0, Bury(BOTTOM))

    assert referee.act(Seat.S1, Bury(())).offence is None
    assert referee.act(Seat.S1, Play(())).offence is None
    assert [booked.points for booked in referee.deal.view.adjustments] == [80]


def test_every_value_of_irregularities_has_its_table() -> None:
    assert set(IRREGULARITIES) == set(KEYS["irregularities"].allowed)
    for table in IRREGULARITIES.values():
        assert all(consequence.clauses for consequence in table.values())
        assert all(c.jump or c.points or c.per_card for c in table.values())


# ---- whole deals full of breaches


def _anything(deal: Deal, rng: random.Random) -> tuple[Seat, Action]:
    """Any action of any seat with cards of its hand, seldom a sensible one."""
    seat = rng.choice(list(Seat))
    hand = list(deal.view.hand(seat))
    cards = tuple(rng.sample(hand, min(len(hand), rng.choice((1, 1, 2, 2, 7, 8, 9)))))
    kind = rng.choice((Play, Bury, Show, Pass)) if cards else Pass
    return seat, Pass() if kind is Pass else kind(cards)


def _cards(deal: Deal) -> Counter[Card]:
    view = deal.view
    found = Counter(card for hand in view.hands.values() for card in hand) + Counter(view.bottom or ())
    for plays in [*(trick.plays for trick in view.tricks), view.trick]:
        found.update(card for play in plays for card in play.cards)
    return found + Counter(deal.setup.cards[deal._offers.drawn :] if deal._offers is not None else ())


@pytest.mark.parametrize("preset", ["t_dark", "t_timed"])
def test_a_deal_full_of_breaches_is_whole_and_can_be_repeated(preset: str) -> None:
    """Every card stays, somebody can act, and the same actions lead to the same events under another referee."""
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    for first in (True, False) * 3:
        cards = list(deck(2))
        rng.shuffle(cards)
        level = Rank.TWO if first else Rank.NINE
        stage = None if first else Side.SIDE_02
        dealer = None if first or preset == "t_timed" else Seat.S0
        setup = Setup(resolve(preset), tuple(cards), Seat.S0, dealer, (level, level), stage, first)
        referee, done = Referee(Deal(setup)), []
        while not referee.deal.over:
            asked = referee.deal.to_act
            assert asked is not None
            action: tuple[Seat, Action] = (asked, referee.deal.default_action(asked))
            # A false showing of the dark tournament would end most deals at once.
            wild = _anything(referee.deal, rng)
            if rng.random() < 0.5 and not (isinstance(wild[1], Show) and rng.random() < 0.9):
                action = wild
            done.append(action)
            referee.act(*action)
            if not referee.deal.over:
                assert _cards(referee.deal) == Counter(deck(2))
            assert referee.deal.view.score >= 0
        again = Referee(Deal(setup))
        for one in done:
            again.act(*one)
        assert again.deal.events == referee.deal.events
        assert again.deal.view == referee.deal.view
