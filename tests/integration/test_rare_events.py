"""Rare events over a real socket, each on a stacked board that brings it about, as the four seats are told of them."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from chaodipi.engine import (
    Action,
    Bury,
    Card,
    Pass,
    Play,
    Rank,
    Ruleset,
    Seat,
    Setup,
    Show,
    Side,
    Suit,
    deck,
    parse_cards,
    resolve,
)
from chaodipi.engine.cards import SEATS
from chaodipi.engine.order import order_for
from chaodipi.sdk.wire import action_to_wire, cards_from_wire
from chaodipi.service.match.table import TableResult, TableSpec
from chaodipi.v1 import cards_pb2, seat_pb2

from tests.support.raw_client import CLOCK, NAMES, hosting, seated


@dataclass
class Board:
    """A deal at *level* of seats 0 and 2 and what each seat does in it; who is not told what to do does the least."""

    preset: str
    level: str = "8"
    given: dict[int, list[Card]] = field(default_factory=dict)
    bottom: list[Card] = field(default_factory=list)
    shows: dict[int, list[Show]] = field(default_factory=dict)
    """While cards are dealt."""
    stirs: dict[int, list[Show]] = field(default_factory=dict)
    buries: dict[int, list[tuple[Card, ...]]] = field(default_factory=dict)
    plays: dict[int, list[tuple[Card, ...]]] = field(default_factory=dict)
    first_deal: bool = False
    mode: str = "prevent"

    @property
    def rules(self) -> Ruleset:
        return resolve(self.preset)

    def setup(self, redeals: int) -> Setup:
        """What is not given is dealt out in the order of the deck, to seat 0 first."""
        levels = (
            None if self.level == "flag" else Rank.parse(self.level),
            Rank.EIGHT if self.level == "flag" else Rank.TWO,
        )
        dealer = None if self.first_deal or self.rules.dealer_seat == "placing" else Seat.S0
        stage = None if self.first_deal else Side.SIDE_02
        plan = Setup(self.rules, (), Seat.S0, dealer, levels, stage, self.first_deal, redeals)
        rest = list(deck(self.rules.decks))
        hands = [list(self.given.get(seat, [])) for seat in SEATS]
        for card in [*self.bottom, *(card for hand in hands for card in hand)]:
            rest.remove(card)
        for hand in hands:
            while len(hand) < plan.hand:
                hand.append(rest.pop(0))
        bottom = self.bottom + rest
        assert len(bottom) == plan.bottom
        drawn = [card for row in zip(*hands, strict=True) for card in row]
        return replace(plan, cards=(*drawn, *bottom))

    def answer(self, seat: int, decision: Any) -> cards_pb2.Action | None:
        """What *seat* answers; None leaves it to the client's first legal action."""
        if decision.phase == cards_pb2.PHASE_BURY:
            return self._next(self.buries, seat, Bury)
        shows = (self.shows if decision.phase == cards_pb2.PHASE_DECLARE else self.stirs).get(seat, [])
        offered = decision.legal.actions
        if shows and (self.mode == "penalise" or action_to_wire(shows[0]) in offered):
            return action_to_wire(shows.pop(0))
        if decision.phase in (cards_pb2.PHASE_DECLARE, cards_pb2.PHASE_STIR):
            return action_to_wire(Pass())
        return self._next(self.plays, seat, Play)

    def _next(
        self, queue: dict[int, list[tuple[Card, ...]]], seat: int, kind: Callable[[tuple[Card, ...]], Action]
    ) -> cards_pb2.Action | None:
        left = queue.get(seat)
        return action_to_wire(kind(left.pop(0))) if left else None


async def play(board: Board) -> tuple[TableResult, list[list[seat_pb2.SeatEvent]]]:
    """Play *board* over a socket; its result, and what each seat was told."""
    spec = TableSpec("t/1", board.rules, board.setup, NAMES, CLOCK, b"\1" * 32, board.mode)
    async with hosting() as (host, port), seated(port, rules=board.rules) as clients:
        for seat, name in enumerate(NAMES):
            clients[name].answer = lambda decision, seat=seat: board.answer(seat, decision)
        await host.wait_for_bots(NAMES, 20)
        result = await asyncio.wait_for(host.play_table(spec), 60)
        async with asyncio.timeout(20):
            while not all(client.ended for client in clients.values()):
                await asyncio.sleep(0.01)
        assert result.faults == {} or board.mode == "penalise"
        return result, [clients[name].told for name in NAMES]


def told(events: Sequence[seat_pb2.SeatEvent], kind: str) -> list[Any]:
    """The events of one kind."""
    return [getattr(event, kind) for event in events if event.WhichOneof("event") == kind]


def ended(seats: list[list[seat_pb2.SeatEvent]]) -> seat_pb2.DealEnded:
    """The end of the deal, which all seats are told in the same words."""
    ends = [told(events, "deal_ended") for events in seats]
    assert [len(end) for end in ends] == [1] * 4
    assert all(end == ends[0] for end in ends)
    [end] = ends[0]
    assert isinstance(end, seat_pb2.DealEnded)
    return end


def trumps(preset: str, level: str, suit: Suit = Suit.SPADES) -> list[Card]:
    """All trumps, the strongest first."""
    rules = resolve(preset)
    order = order_for(rules, Rank.parse(level), suit)
    return [card for card in order.sort(deck(rules.decks)) if order.is_trump(card)]


def sweep(preset: str, level: str, *, first_deal: bool = False) -> Board:
    """Seat 0 deals, holds nothing but the highest trumps, buries what it takes up and throws its whole hand."""
    rules = resolve(preset)
    all_trumps = trumps(preset, level)
    main = Card.of(Suit.SPADES, Rank.parse(level))
    top = all_trumps[: rules.hand]
    bottom = all_trumps[rules.hand :][: rules.bottom]
    hand = [card for card in top if card != main] + [main] * top.count(main)
    plays = [tuple(top)] if rules.stir != "first_trick" else [tuple(top[:1]), tuple(top[1:])]
    return Board(
        preset,
        level,
        given={0: hand},
        bottom=bottom,
        shows={0: [Show((main,))]},
        buries={0: [tuple(bottom)]},
        plays={0: plays},
        first_deal=first_deal,
    )


@pytest.mark.parametrize(
    ("preset", "level", "first_deal", "reached", "jump", "won"),
    [
        ("an_chao", "K", False, 3, False, False),
        ("kang_qi", "A", False, 14, False, False),
        ("ming_chao", "A", False, 14, False, True),
        ("huanle_1", "8", False, 11, False, False),
        ("huanle_2", "A", False, 14, False, True),
        ("huanle_3", "8", False, 11, False, False),
        ("baomahui", "K", False, 3, False, False),
        ("in_play", "K", False, 14, False, False),
        ("hunan", "A", False, 14, False, True),
        ("t_timed", "8", False, 11, False, False),
        ("t_timed", "K", False, 14, False, False),
        ("t_dark", "8", False, 14, True, False),
        ("t_dark", "J", False, 14, True, True),
        ("t_dark", "2", True, 2, False, True),
    ],
)
async def test_a_big_sweep(preset: str, level: str, first_deal: bool, reached: int, jump: bool, won: bool) -> None:
    """Three levels, nine, a jump, the flag, the next lap, round again, or the game (S0-40, S0-48, S3-18 to S3-22)."""
    result, seats = await play(sweep(preset, level, first_deal=first_deal))

    end = ended(seats)
    assert result.how == "played"
    assert (end.score, end.dig_multiplier, end.winner, end.jump) == (0, 0, cards_pb2.SIDE_02, jump)
    assert (end.levels[0].level, end.levels[0].flag) == (reached, preset == "kang_qi")
    assert end.game_winner == (cards_pb2.SIDE_02 if won else cards_pb2.SIDE_UNSPECIFIED)
    assert list(end.payouts) == ([9, -6, 9, -6] if preset == "baomahui" else [])
    if preset == "an_chao":
        assert end.levels[0].lap == 2
    if resolve(preset).dark:
        [revealed] = told(seats[3], "trump_revealed")
        assert cards_from_wire(revealed.showings[0].cards) == (Card.of(Suit.SPADES, Rank.parse(level)),)
        assert not any(shown.cards for shown in told(seats[3], "cards_shown"))


def dig(preset: str, level: str, last: str, *, low: str = "") -> Board:
    """
    Seat 1 holds the highest trumps and digs with *last*.

    Seat 0 wins 10 points with an ace of hearts and leads a club; seat 1 ruffs it, throws all that is left but
    *last*, and leads that. The bottom has no points. *low* are trumps that seat 1 holds
    in place of its lowest, and seat 0 all others.
    """
    own = list(parse_cards(low)) if low else []
    all_trumps = trumps(preset, level)
    top = all_trumps[: 24 - len(own)] + own
    others = list(all_trumps)
    for card in top:
        others.remove(card)
    bottom = list(parse_cards("H6 H6 H7 H7 D7 D7 D6 D6"))
    heart = Card.of(Suit.HEARTS, Rank.THREE)
    main = next(card for card in top if card.rank == Rank.parse(level) and not card.is_joker)
    ace = parse_cards("HA")
    rest = list(top)
    for card in parse_cards(last):
        rest.remove(card)
    ruff = rest.pop(0)
    return Board(
        preset,
        level,
        given={
            0: [*others, *ace, Card.of(Suit.CLUBS, Rank.SIX)],
            1: [*top, heart],
            2: list(parse_cards("HT HT HK HK HQ HQ")),
        },
        bottom=bottom,
        shows={1: [Show((main,))]},
        buries={0: [tuple(bottom)]},
        plays={
            0: [ace, (Card.of(Suit.CLUBS, Rank.SIX),)],
            1: [(heart,), (ruff,), tuple(rest), parse_cards(last)],
            2: [parse_cards("HT")],
        },
    )


@pytest.mark.parametrize(
    ("preset", "level", "last", "fallen", "reached"),
    [
        ("ming_chao", "J", "DJ", 2, 4),
        ("ming_chao", "J", "SJ SJ", 2, 4),
        ("t_dark", "J", "DJ", 2, 2),
        ("t_dark", "J", "SJ SJ", 2, 2),
        ("t_dark", "J", "SA", 11, 2),
        ("kang_qi", "J", "DJ", 11, 4),
    ],
)
async def test_a_jack_to_the_bottom(preset: str, level: str, last: str, fallen: int, reached: int) -> None:
    """At J the dealer side falls to 2 where that is the rule, and only by a jack (S0-60, S3-17, Q83)."""
    result, seats = await play(dig(preset, level, last))

    end = ended(seats)
    assert result.dealer is not None
    assert end.winner == cards_pb2.SIDE_13
    assert [level.level for level in end.levels] == [fallen, reached]
    assert end.fall_back == (cards_pb2.SIDE_02 if fallen == 2 else cards_pb2.SIDE_UNSPECIFIED)


@pytest.mark.parametrize(
    ("preset", "award", "place"), [("an_chao", 16, (3, 14)), ("kang_qi", 16, (0, 14)), ("ming_chao", 13, (0, 14))]
)
async def test_up_to_heaven(preset: str, award: int, place: tuple[int, int]) -> None:
    """A 510K wins the last trick: to A of the last lap, and the others back to 2 (S0-43 to S0-46, S0-55, S0-65)."""
    result, seats = await play(dig(preset, "8", "S5 ST SK", low="S5"))

    end = ended(seats)
    [given] = end.awards
    assert (given.kind, given.side, given.match_points) == (
        seat_pb2.AWARD_KIND_UP_TO_HEAVEN,
        cards_pb2.SIDE_13,
        award,
    )
    assert [(level.lap, level.level) for level in end.levels] == [(1 if place[0] else 0, 2), place]
    assert result.settlement is not None
    assert result.settlement.heaven


async def test_a_kept_heart_five() -> None:
    """Seat 1 wins the trick before the last and leads the heart five to that (S0-39)."""
    _, seats = await play(dig("an_chao", "8", "H5"))

    end = ended(seats)
    kept = seat_pb2.PointsBooked(
        kind=seat_pb2.POINTS_KIND_KEPT_HEART_FIVE, seat=cards_pb2.SEAT_1, points=50
    )  # fmt: skip
    assert list(end.bookings) == [kept]
    assert end.score == 190 + 50
    for events in seats:
        assert told(events, "points_booked") == [kept]


async def test_a_payout_of_catchers() -> None:
    """190 points: three steps of 3, and of 2 for each loser (S2a-09, S2a-30, Q77)."""
    _, seats = await play(dig("baomahui", "8", "SK SK"))

    end = ended(seats)
    assert (end.score, end.dig_multiplier, end.dig_points) == (190, 4, 0)
    assert list(end.payouts) == [-6, 9, -6, 9]


@pytest.mark.parametrize(
    "preset", ["an_chao", "ming_chao", "kang_qi", "huanle_1", "huanle_2", "huanle_3", "baomahui", "in_play", "hunan"]
)
async def test_nobody_declares_and_the_redeals_are_used_up(preset: str) -> None:
    """Three redeals, then no trump, without stirring; the table does not count (Q133)."""
    result, seats = await play(Board(preset, "2", first_deal=True))

    assert (result.how, result.settlement) == ("no_declaration", None)
    for events in seats:
        assert [started.redeals for started in told(events, "deal_started")] == [0, 1, 2, 3]
        [closed] = told(events, "window_closed")
        assert (closed.undeclared, closed.trump, list(closed.turned)) == (True, cards_pb2.SUIT_NO_TRUMP, [])
        assert not [passed for passed in told(events, "passed") if passed.phase == cards_pb2.PHASE_STIR]


@pytest.mark.parametrize(
    ("preset", "first_deal", "dealer", "turned"),
    [
        ("baomahui", False, cards_pb2.SEAT_0, 8),
        ("kang_qi", False, cards_pb2.SEAT_0, 3),
        ("t_dark", False, cards_pb2.SEAT_0, 3),
        ("t_dark", True, cards_pb2.SEAT_2, 3),
        ("t_timed", True, cards_pb2.SEAT_2, 3),
    ],
)
async def test_nobody_declares_and_the_bottom_is_turned(
    preset: str, first_deal: bool, dealer: cards_pb2.Seat, turned: int
) -> None:
    """The third card is the level card; in a first deal of a tournament who turns it deals (S4-33 to S4-36)."""
    level = "2" if first_deal else "8"
    bottom = list(parse_cards(f"C4 D5 H{level} S{level} C6 C7 D9 DT"))
    _, seats = await play(Board(preset, level, bottom=bottom, first_deal=first_deal))

    for events in seats:
        [closed] = told(events, "window_closed")
        assert cards_from_wire(closed.turned) == tuple(bottom[:turned])
        assert (closed.undeclared, closed.trump, closed.dealer) == (True, cards_pb2.SUIT_HEARTS, dealer)
        assert not [passed for passed in told(events, "passed") if passed.phase == cards_pb2.PHASE_STIR]
    assert ended(seats).how == seat_pb2.DEAL_END_PLAYED


@pytest.mark.parametrize("catchers", [False, True])
async def test_a_flag_deal(catchers: bool) -> None:
    """27 cards each, no bottom; it wins the game, but with 100 the catchers come on stage (S0-48 to S0-51)."""
    spades = tuple(card for card in deck(2) if card.suit == Suit.SPADES)
    club, top = parse_cards("C2"), parse_cards("H5")
    if catchers:
        board = Board("kang_qi", "flag", {0: list(club), 1: [*spades, *top]}, plays={0: [club], 1: [top, spades]})
    else:
        board = Board("kang_qi", "flag", {0: [*spades, *top]}, plays={0: [top, spades]})
    _, seats = await play(board)

    end = ended(seats)
    assert (list(end.bottom), end.dig_multiplier) == ([], 0)
    assert not told(seats[0], "bottom_taken")
    assert (end.levels[0].level, end.levels[0].flag) == (14, True)
    if catchers:
        assert (end.score, end.winner, end.levels[1].level) == (200, cards_pb2.SIDE_13, 10)
        assert end.game_winner == cards_pb2.SIDE_UNSPECIFIED
    else:
        assert (end.score, end.game_winner) == (0, cards_pb2.SIDE_02)


async def test_a_false_call_before_a_referee() -> None:
    """The deal is not played, and the opponents jump (S3-56, Q86)."""
    given = {0: list(parse_cards("S8")), 1: list(parse_cards("H8"))}
    board = Board("t_dark", "8", given, shows={1: [Show(parse_cards("C3"))]}, mode="penalise")
    result, seats = await play(board)

    end = ended(seats)
    assert (result.how, end.how) == ("jump", seat_pb2.DEAL_END_JUMP)
    assert (end.jump, end.winner, end.levels[0].level) == (True, cards_pb2.SIDE_02, 14)


async def test_a_stir_in_the_first_trick_returns_cards() -> None:
    """What lay on the table but the dealer's lead goes back, and all are told what (S2a-56, Q44, Q112)."""
    alone = "S8 S8 C8 C8 H8 H8 D8 bj bj rj rj"  # so that nobody else can stir
    given = {0: list(parse_cards("D8 HA")), 1: list(parse_cards("H4")), 2: list(parse_cards(alone))}
    board = Board(
        "in_play",
        "8",
        given,
        shows={0: [Show(parse_cards("D8"))]},
        stirs={2: [Show(parse_cards("S8 S8"))]},
        plays={0: [parse_cards("HA")], 1: [parse_cards("H4")]},
    )
    _, seats = await play(board)

    for events in seats:
        [back] = told(events, "cards_returned")
        assert back.stirrer == cards_pb2.SEAT_2
        assert [(hand.seat, cards_from_wire(hand.cards)) for hand in back.returned] == [
            (cards_pb2.SEAT_1, parse_cards("H4"))
        ]
    assert ended(seats).how == seat_pb2.DEAL_END_PLAYED


async def test_three_jokers_name_a_suit() -> None:
    """Over everything on the ladder, and told to all (S2a-40, Q98)."""
    given = {0: list(parse_cards("H8 H3 H4 H6 H7")), 1: list(parse_cards("rj rj bj D3 D4"))}
    shows = {0: [Show(parse_cards("H8"))], 1: [Show(parse_cards("bj rj rj"), Suit.DIAMONDS)]}
    _, seats = await play(Board("hunan", "8", given, shows=shows))

    for events in seats:
        [closed] = told(events, "window_closed")
        assert (closed.trump, closed.caller) == (cards_pb2.SUIT_DIAMONDS, cards_pb2.SEAT_1)


async def test_a_correction_of_what_was_placed() -> None:
    """Who corrects deals; what was placed and shown is told before the first lead only (S4-19, S4-22, Q99)."""
    given = {0: list(parse_cards("S8 S8")), 1: list(parse_cards("C8"))}
    shows = {1: [Show(parse_cards("C8"))], 0: [Show(parse_cards("S8 S8"))]}
    _, seats = await play(Board("t_timed", "8", given, shows=shows))

    for events in seats:
        [closed] = told(events, "window_closed")
        assert closed.dealer == cards_pb2.SEAT_0
        [revealed] = told(events, "trump_revealed")
        assert [cards_from_wire(shown.cards) for shown in revealed.showings] == [
            parse_cards("C8"),
            parse_cards("S8 S8"),
        ]
    assert not [shown for shown in told(seats[3], "cards_shown") if shown.cards]
