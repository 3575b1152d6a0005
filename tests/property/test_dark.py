"""Hidden showing: nobody but the shower learns the cards before the reveal, and no refusal tells of them."""

import random
from collections.abc import Callable, Iterator

import pytest
from chaodipi.engine import (
    Bury,
    Deal,
    Pass,
    Phase,
    Rank,
    RuleError,
    Ruleset,
    Seat,
    Setup,
    Show,
    ShowKind,
    Side,
    View,
    deck,
    legal_shows,
    parse_cards,
    resolve,
    visible,
)
from chaodipi.engine.actions import Action
from chaodipi.engine.cards import SEATS, Card
from chaodipi.engine.events import BottomTaken, Event, Shown, TrumpRevealed, WindowClosed

BLIND = resolve("an_chao")
"""Hidden ladder with blind stirs (S0-34 to S0-37)."""
LAST = resolve("ming_chao", {"dark": True, "stir_strength": "any", "show_once": True, "stir_bar": "caller_and_dealer"})
"""Hidden showing where the last stir counts and the caller and the dealer wait (S3-04, S3-07)."""
RULESETS = pytest.mark.parametrize("ruleset", [BLIND, LAST], ids=["blind", "last"])

Told = Callable[[Event, Seat], Event | None]


def _rng() -> random.Random:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    return random.Random(seed)


def _random_deal(ruleset: Ruleset, rng: random.Random) -> Deal:
    cards = list(deck(2))
    rng.shuffle(cards)
    dealer = Seat(rng.randrange(4))
    level = rng.choice(list(Rank)[:13])
    if rng.random() < 0.3:
        return Deal(Setup(ruleset, tuple(cards), dealer))
    return Deal(Setup(ruleset, tuple(cards), dealer, dealer, (level, level), dealer.side, False))


def _to_the_lead(deal: Deal, rng: random.Random, eager: float = 0.5) -> Iterator[Seat]:
    """Play *deal* up to the first lead; seats show at random. Yields who is to act, before each action."""
    while deal.phase in (Phase.DECLARE, Phase.BURY, Phase.STIR):
        seat = deal.to_act
        assert seat is not None
        yield seat
        shows = deal.legal_actions(seat).shows
        action: Action = rng.choice(shows) if shows and rng.random() < eager else deal.default_action(seat)
        deal.act(seat, action)


@RULESETS
def test_what_a_seat_may_show_follows_from_what_it_knows(ruleset: Ruleset) -> None:
    """Were it not so, the list of showings, or a refusal, would tell of hidden cards (Q103)."""
    rng = _rng()
    for _ in range(30):
        deal = _random_deal(ruleset, rng)
        for seat in _to_the_lead(deal, rng, eager=0.8):
            for each in SEATS:
                assert legal_shows(deal.observation(each), each) == legal_shows(deal.view, each)
            assert deal.observation(seat).phase == deal.phase
            if deal.phase != Phase.DECLARE:
                assert all(deal.observation(each).to_act == deal.to_act for each in SEATS)


def _hidden(ruleset: Ruleset, rng: random.Random, told: Told) -> bool:
    """Whether all that *told* tells of one deal before its reveal keeps other seats' showings hidden."""
    deal = _random_deal(ruleset, rng)
    for _ in _to_the_lead(deal, rng):
        pass
    for seat in SEATS:
        view = View(ruleset, seat)
        for raw in deal.events:
            if isinstance(raw, TrumpRevealed):
                break
            event = told(raw, seat)
            if event is None:
                continue
            view.apply(event)
            if isinstance(event, Shown) and event.seat != seat and (event.cards or event.named is not None):
                return False
            if isinstance(event, Shown) and event.seat != seat and event.kind is ShowKind.LOOKING_BACK:
                return False
            if not view.undeclared and (view.trump is not None or view.standing is not None):
                return False
    return True


@RULESETS
def test_showings_are_hidden_until_the_reveal(ruleset: Ruleset) -> None:
    """Neither cards nor name nor trump; a looking back is not told from an overcall or a stir (S0-34, Q99)."""
    rng = _rng()
    assert all(_hidden(ruleset, rng, visible) for _ in range(20))


@pytest.mark.parametrize("leak", [Shown, WindowClosed])
def test_a_showing_that_leaks_is_noticed(leak: type[Event]) -> None:
    """If showings, or the trump when the window closes, reached everybody whole, the test above would fail."""

    def leaky(event: Event, seat: Seat) -> Event | None:
        return event if isinstance(event, leak) else visible(event, seat)

    rng = _rng()
    assert not all(_hidden(BLIND, rng, leaky) for _ in range(20))


@RULESETS
def test_stirring_ends_and_somebody_can_always_act(ruleset: Ruleset) -> None:
    """With seats that show whatever they can, every card is shown at most once, and the deal goes on to its end."""
    rng = _rng()
    for _ in range(10):
        deal = _random_deal(ruleset, rng)
        for _ in _to_the_lead(deal, rng, eager=1.0):
            pass
        showings = [event for event in deal.events if isinstance(event, Shown)]
        used = [card for event in showings if event.kind is not ShowKind.DECLARATION for card in event.cards]
        assert all(used.count(card) <= 2 for card in used)
        while (seat := deal.to_act) is not None:
            deal.act(seat, deal.default_action(seat))
        assert deal.over


@RULESETS
def test_a_replay_of_the_events_gives_the_state(ruleset: Ruleset) -> None:
    """The host's view is the fold of all events, a seat's of those it may see; both know all after the reveal."""
    rng = _rng()
    for _ in range(10):
        deal = _random_deal(ruleset, rng)
        for _ in _to_the_lead(deal, rng):
            pass
        if deal.over:
            continue
        assert View(ruleset, None, deal.events) == deal.view
        for seat in SEATS:
            seen = [event for raw in deal.events if (event := visible(raw, seat)) is not None]
            assert View(ruleset, seat, seen) == deal.observation(seat)
            assert deal.observation(seat).shown == deal.view.shown
            assert deal.observation(seat).standing == deal.view.standing
            assert deal.observation(seat).trump == deal.view.trump is not None


# ---- two deals that differ in what two seats showed, and in nothing that the others may know


def _pairs_swapped(ruleset: Ruleset) -> tuple[Deal, Deal]:
    """
    Seat 1 declares one black pair of sevens, seat 2 stirs with the other; the pairs change hands between the deals.

    In the first the stir is higher, in the second it is lower and fails, if strength matters.
    """
    clubs, spades = Card.C7, Card.S7
    rest = [card for card in deck(2) if card not in (clubs, spades)]
    _rng().shuffle(rest)
    deals = []
    for first, second in ((clubs, spades), (spades, clubs)):
        cards = list(rest)
        for place, card in ((1, first), (2, second), (5, first), (6, second)):
            cards.insert(place, card)
        levels = (Rank.SEVEN, Rank.SEVEN)
        deal = Deal(Setup(ruleset, tuple(cards), Seat.S0, Seat.S0, levels, Side.SIDE_02, False))
        while deal.phase in (Phase.DECLARE, Phase.BURY, Phase.STIR) and (seat := deal.to_act) is not None:
            deal.act(seat, _planned(deal, seat, first, second))
        deals.append(deal)
    return deals[0], deals[1]


def _planned(deal: Deal, seat: Seat, first: Card, second: Card) -> Action:
    by_one, by_two = Show((first, first)), Show((second, second))
    if seat == Seat.S1 and not deal.view.shown and by_one in deal.legal_actions(seat).shows:
        return by_one
    if seat == Seat.S2 and deal.phase == Phase.STIR and by_two in deal.legal_actions(seat).shows:
        return by_two
    return Pass() if deal.phase != Phase.BURY else deal.default_action(seat)


def _told_before_the_reveal(deal: Deal, seat: Seat, told: Told) -> bytes:
    seen: list[Event | None] = []
    for event in deal.events:
        if isinstance(event, TrumpRevealed):
            break
        seen.append(told(event, seat))
    return repr([event for event in seen if event is not None]).encode()


@RULESETS
def test_what_was_shown_changes_nothing_that_others_are_told(ruleset: Ruleset) -> None:
    """Higher or lower, the same bytes; and the buried bottom moves all the same (Q36)."""
    a, b = _pairs_swapped(ruleset)

    assert [s.cards for s in a.view.shown] != [s.cards for s in b.view.shown]
    for seat in (Seat.S0, Seat.S3):
        assert _told_before_the_reveal(a, seat, visible) == _told_before_the_reveal(b, seat, visible)
    assert (a.view.bottom_owner, b.view.bottom_owner) == (Seat.S2, Seat.S2)


def test_a_leak_between_such_deals_is_noticed() -> None:
    """Were the trump told when the window closes, or the kind of stir booked at once, the bytes would differ."""
    a, b = _pairs_swapped(BLIND)

    def leaky(event: Event, seat: Seat) -> Event | None:
        return event if isinstance(event, WindowClosed) else visible(event, seat)

    assert _told_before_the_reveal(a, Seat.S0, leaky) != _told_before_the_reveal(b, Seat.S0, leaky)


def test_strength_decides_or_the_last_counts() -> None:
    """A blind stir that is lower leaves the trump and costs its side; without strength the last one counts."""
    higher, lower = _pairs_swapped(BLIND)
    for deal, points in ((higher, []), (lower, [80])):
        assert [booked.points for booked in deal.view.adjustments] == points
        assert deal.view.trump is not None
        assert deal.view.trump.letter == "S"
        assert deal.view.score == sum(points)

    assert [deal.view.trump and deal.view.trump.letter for deal in _pairs_swapped(LAST)] == ["S", "C"]


# ---- what is accepted, refused and told


def _stacked(**hands: str) -> Deal:
    """A stacked deal of BLIND at level 8, dealer seat 0, with a bottom of low clubs and diamonds."""
    given = {Seat(int(name[1:])): parse_cards(text) for name, text in hands.items()}
    return Deal.from_position(
        BLIND,
        given,
        bottom=parse_cards("C3 C3 D3 D3 C4 C4 D4 D4"),
        dealer=Seat.S0,
        levels=(Rank.EIGHT, Rank.EIGHT),
        on_stage=Side.SIDE_02,
    )


def _show(deal: Deal, seat: int, cards: str, **options: bool) -> tuple[Event, ...]:
    return deal.act(Seat(seat), Show(parse_cards(cards), **options))


def _refused(deal: Deal, seat: int, cards: str, **options: bool) -> str:
    with pytest.raises(RuleError) as refusal:
        _show(deal, seat, cards, **options)
    return refusal.value.reason


def _pass_on(deal: Deal) -> None:
    """Everybody passes and buries by default until somebody leads."""
    while deal.phase in (Phase.BURY, Phase.STIR) and (seat := deal.to_act) is not None:
        deal.act(seat, deal.default_action(seat))


def test_a_hidden_overcall_that_is_too_low_changes_nothing() -> None:
    """Q103: it is accepted, costs nothing, and does not stand."""
    deal = _stacked(s1="S8 S8", s2="C8 C8", s3="D8")
    _show(deal, 1, "S8 S8")
    _show(deal, 2, "C8 C8")

    assert deal.view.standing is not None
    assert deal.view.standing.seat == Seat.S1
    deal.close()
    _pass_on(deal)
    assert (deal.view.trump and deal.view.trump.letter, deal.view.adjustments) == ("S", [])
    assert [showing.cards for showing in deal.observation(Seat.S3).shown] == [
        parse_cards("S8 S8"),
        parse_cards("C8 C8"),
    ]


def test_only_what_a_seat_knows_itself_is_refused() -> None:
    """A single card as an overcall, a second showing in a row, a looking back without the right to it (Q21, Q103)."""
    deal = _stacked(s1="S8 S8 D8 D8 rj rj", s2="C8 C8 H8")
    _show(deal, 1, "S8 S8")

    assert _refused(deal, 1, "rj rj") == "NOT_ALLOWED_TO_SHOW"
    assert _refused(deal, 2, "H8") == "DECLARATION_TOO_WEAK"
    _show(deal, 2, "C8 C8")
    assert _refused(deal, 1, "S8 S8", looking_back=True) == "LOOKING_BACK_NOT_ALLOWED"
    assert _refused(deal, 1, "D8 D8", looking_back=True) == "LOOKING_BACK_NOT_ALLOWED"
    _show(deal, 1, "rj rj")
    assert deal.view.trump is not None
    assert deal.view.trump.letter == "NT"


def test_looking_back_is_seen_as_a_stir() -> None:
    """Who looks back shows that it was one card that he declared; the others learn that at the reveal."""
    deal = _stacked(s0="D8 D8", s1="H8 H8", s2="C2", s3="C2")
    _show(deal, 0, "D8")
    deal.close()
    deal.act(Seat.S0, deal.default_action(Seat.S0))
    _show(deal, 1, "H8 H8")
    deal.act(Seat.S1, deal.default_action(Seat.S1))
    for seat in (Seat.S2, Seat.S3):
        deal.act(seat, Pass())
    (shown, *_) = _show(deal, 0, "D8 D8", looking_back=True)

    assert isinstance(shown, Shown)
    assert shown.kind is ShowKind.LOOKING_BACK
    seen = visible(shown, Seat.S1)
    assert isinstance(seen, Shown)
    assert (seen.kind, seen.cards) == (ShowKind.STIR, ())
    _pass_on(deal)
    assert deal.observation(Seat.S1).shown[-1].kind is ShowKind.LOOKING_BACK
    assert (deal.view.trump and deal.view.trump.letter, deal.view.adjustments) == ("D", [])


def test_who_takes_shown_cards_with_the_bottom_is_told_that_he_may_not_show_them() -> None:
    """Q100: each card is shown once, by whomever; what a seat may do follows from what it is told."""
    deal = _stacked(s0="D8 C2 C2", s1="S8 S8 C5", s2="H8 H8 D2", s3="D2 D5 rj rj")
    _show(deal, 0, "D8")
    deal.close()
    deal.act(Seat.S0, deal.default_action(Seat.S0))
    _show(deal, 1, "S8 S8")
    deal.act(Seat.S1, Bury(parse_cards("S8 S8 C3 C3 D3 D3 C4 C4")))
    taken = next(event for event in _show(deal, 2, "H8 H8") if isinstance(event, BottomTaken))

    assert taken.already_shown == parse_cards("S8 S8")
    seen = visible(taken, Seat.S3)
    assert isinstance(seen, BottomTaken)
    assert (seen.cards, seen.already_shown) == ((), ())
    assert deal.observation(Seat.S2).already_shown == parse_cards("S8 S8")
    deal.act(Seat.S2, Bury(parse_cards("C3 C3 D3 D3 C4 C4 D2 H8")))
    _show(deal, 3, "rj rj")
    deal.act(Seat.S3, deal.default_action(Seat.S3))
    deal.act(Seat.S0, Pass())
    deal.act(Seat.S1, Pass())
    assert deal.legal_actions(Seat.S2).shows == ()
    assert _refused(deal, 2, "S8 S8") == "CARDS_ALREADY_SHOWN"


def test_nothing_is_revealed_where_nobody_showed() -> None:
    """The trump of an undeclared deal was turned up before all eyes (S0-06)."""
    deal = _stacked(s0="C2", s1="C5", s2="D5", s3="D6")
    deal.close()
    _pass_on(deal)

    assert not any(isinstance(event, TrumpRevealed) for event in deal.events)
    for seat in SEATS:
        assert deal.observation(seat).trump == deal.view.trump is not None
