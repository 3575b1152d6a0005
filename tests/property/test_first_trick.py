"""Stirring in the first trick on random deals: nothing is lost, it ends, it replays, and hidden cards stay hidden."""

import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest
from chaodipi.engine import Bury, Deal, Pass, Phase, Play, Rank, RuleError, Seat, Setup, View, deck, resolve
from chaodipi.engine.actions import Action, ActionKind
from chaodipi.engine.cards import SEATS, Card, Suit
from chaodipi.engine.events import BottomTaken, Buried, Event, Played, Shown, visible

RULES = resolve("in_play")
DEALS = 60

Script = list[tuple[Seat, Action]]
Told = Callable[[Event, Seat], Event | None]


def _rng() -> random.Random:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    return random.Random(seed)


def _setup(rng: random.Random) -> Setup:
    """A later deal in which both copies of a level card or joker lie in one hand more often than by chance."""
    level = Rank(rng.randrange(2, 15))
    hands: list[list[Card]] = [[], [], [], []]
    rest = list(deck(2))
    for card in [card for card in Card if card.is_joker or card.rank == level]:
        if rng.random() < 0.7:
            rng.choice(hands).extend((card, card))
            rest = [other for other in rest if other != card]
    rng.shuffle(rest)
    for hand in hands:
        hand += [rest.pop() for _ in range(25 - len(hand))]
        rng.shuffle(hand)
    cards = [card for drawn in zip(*hands, strict=True) for card in drawn] + rest
    dealer = Seat(rng.randrange(4))
    return Setup(RULES, tuple(cards), dealer, dealer, (level, level), dealer.side, False)


def _action(deal: Deal, rng: random.Random) -> Action:
    seat = deal.to_act
    assert seat is not None
    legal = deal.legal_actions(seat)
    if legal.shows and rng.random() < (0.1 if deal.phase == Phase.DECLARE else 0.8):
        return legal.shows[0]
    hand = deal.view.hand(seat)
    if deal.phase == Phase.BURY:
        return Bury(tuple(rng.sample(hand, legal.bury_count)))
    if deal.phase == Phase.LEAD:
        card = rng.choice(hand)
        return Play((card,) * rng.randint(1, hand.count(card)))
    if legal.follows is not None:
        return Play(rng.choice([cards for cards, _ in zip(legal.follows, range(20), strict=False)]))
    return Pass() if ActionKind.PASS in legal.kinds else deal.default_action(seat)


def _all_cards(deal: Deal) -> Counter[Card]:
    """Every card that the host's view places somewhere, from the closing of the window on."""
    view = deal.view
    found = Counter(card for hand in view.hands.values() for card in hand)
    for plays in [*(trick.plays for trick in view.tricks), view.trick]:
        found.update(card for play in plays for card in play.cards)
    return found + Counter(view.bottom or ())


def _play_first_trick(setup: Setup, rng: random.Random) -> tuple[Deal, Script]:
    """The deal after its first trick (or its redeal), and what was done."""
    deal, script = Deal(setup), Script()
    while not deal.over and not deal.view.tricks:
        seat = deal.to_act
        assert seat is not None
        script.append((seat, _action(deal, rng)))
        deal.act(*script[-1])
    return deal, script


@pytest.mark.clauses("S2a-45", "S2a-56", "S2a-57", "S2a-59", "Q44", "Q46")
def test_cards_and_turns_of_the_first_trick() -> None:
    """
    At every event the cards are a partition of the packs; stirs are fewer than rungs; everybody plays once after
    the last burying, in playing order from the last burier; and nobody stirs who is not at his turn.
    """
    rng = _rng()
    stirs = returned = 0
    for _ in range(DEALS):
        setup = _setup(rng)
        deal, script = _play_first_trick(setup, rng)
        if deal.over:
            continue
        replay = Deal(setup)
        for seat, action in script:
            replay.act(seat, action)
            if replay.phase != Phase.DECLARE and not replay.over:
                assert _all_cards(replay) == Counter(deck(2))
                assert replay.view.hand_sizes == [len(replay.view.hands[s]) for s in SEATS]
                for each in SEATS:
                    assert replay.observation(each).hands[each] == replay.view.hands[each]
                    assert replay.observation(each).hand_sizes == replay.view.hand_sizes
        assert replay.events == deal.events
        assert View(RULES, None, deal.events) == deal.view
        in_trick = [event for event in deal.events if isinstance(event, Shown) and event.phase == Phase.FOLLOW]
        assert len(in_trick) == len(deal.view.returned) < len(RULES.ladder)
        stirs += len(in_trick)
        returned += sum(len(event.returned) for event in deal.view.returned)
        assert all(a != b for a, b in pairwise(event.seat for event in in_trick))
        [trick] = deal.view.tricks
        dealer, owner = deal.view.dealer, deal.view.bottom_owner
        assert dealer is not None
        assert owner is not None
        order = [Seat((owner + i) % 4) for i in range(4)]
        assert [play.seat for play in trick.plays] == [dealer, *(seat for seat in order if seat != dealer)]
    print(f"{stirs} stirs, {returned} plays returned")
    assert stirs > DEALS // 4
    assert returned > DEALS // 8


def test_a_view_kept_up_to_date_equals_one_folded_anew() -> None:
    rng = _rng()
    for _ in range(10):
        deal, _ = _play_first_trick(_setup(rng), rng)
        for seat in SEATS:
            own = [seen for event in deal.events if (seen := visible(event, seat)) is not None]
            assert View(RULES, seat, own).canonical() == deal.observation(seat).canonical()


# ---- hidden cards


def _public(deal: Deal, watcher: Seat) -> set[Card]:
    """Cards of which *watcher* sees a copy anywhere: exposed by anybody, or in a bottom that he took."""
    seen: set[Card] = set()
    for event in deal.events:
        if isinstance(event, Played | Shown) or (isinstance(event, BottomTaken) and event.seat == watcher):
            seen.update(event.cards)
    return seen


def _exchanged(deal: Deal, watcher: Seat, rng: random.Random) -> list[int]:
    """A permutation of the dealt places that moves, within suits, only cards that *watcher* never sees."""
    setup = deal.setup
    fixed = _public(deal, watcher)
    level = deal.view.level
    own = {i for i in range(100) if (setup.first_drawer + i) % 4 == watcher}
    places = list(range(108))
    for suit in Suit:
        movable = [
            i
            for i, card in enumerate(setup.cards)
            if card.suit == suit and card not in fixed and card.rank != level and not card.is_joker and i not in own
        ]
        for i, j in zip(movable, rng.sample(movable, len(movable)), strict=True):
            places[i] = j
    return places


def _translated(deal: Deal, script: Script, places: list[int]) -> Script:
    """*script* with every burying in terms of the exchanged cards: the same places are buried."""
    setup = deal.setup
    hands = {seat: [i for i in range(100) if (setup.first_drawer + i) % 4 == seat] for seat in SEATS}
    bottom = list(range(100, 108))
    out = Script()
    for seat, action in script:
        if isinstance(action, Bury):
            hands[seat] += bottom
            bottom = []
            for card in action.cards:
                place = next(i for i in hands[seat] if setup.cards[i] == card)
                hands[seat].remove(place)
                bottom.append(place)
            out.append((seat, Bury(tuple(setup.cards[places[i]] for i in bottom))))
        else:
            out.append((seat, action))
    return out


def _compared(rng: random.Random, told: Told) -> tuple[int, bool]:
    """Steps at which a watcher was compared, and whether he was ever told anything different, to the byte."""
    deal, script = _play_first_trick(_setup(rng), rng)
    watcher = Seat(rng.randrange(4))
    places = _exchanged(deal, watcher, rng)
    cards = tuple(deal.setup.cards[i] for i in places)
    if deal.over or not deal.view.returned or cards == deal.setup.cards:
        return 0, False
    setup = deal.setup
    one = Deal(setup)
    two = Deal(Setup(RULES, cards, setup.first_drawer, setup.dealer, setup.levels, setup.on_stage, setup.first_deal))
    steps = 0
    for (seat, action), (_, other) in zip(script, _translated(deal, script, places), strict=True):
        try:
            two.check(seat, other)
        except RuleError:
            # With these cards the seat would have owed another pair: no longer the same deal.
            return steps, False
        one.act(seat, action)
        two.act(seat, other)
        steps += 1
        seen = [repr([told(event, watcher) for event in each.events]).encode() for each in (one, two)]
        views = [repr(each.observation(watcher).canonical()).encode() for each in (one, two)]
        if seen[0] != seen[1] or views[0] != views[1]:
            return steps, True
    assert one.view != two.view
    return steps, False


@pytest.mark.clauses("Q112")
def test_cards_that_a_seat_cannot_see_change_nothing_that_it_is_told() -> None:
    rng = _rng()
    compared = 0
    for _ in range(DEALS):
        steps, differs = _compared(rng, visible)
        assert not differs
        compared += steps
    assert compared > DEALS


@pytest.mark.parametrize("leak", [BottomTaken, Buried])
def test_a_planted_leak_is_noticed(leak: type[Event]) -> None:
    """If a stirrer's bottom or burying reached everybody whole, the comparison would fail."""

    def leaky(event: Event, seat: Seat) -> Event | None:
        return event if isinstance(event, leak) else visible(event, seat)

    rng = _rng()
    assert any(_compared(rng, leaky)[1] for _ in range(DEALS))


def test_such_deals_have_every_kind_of_decision_of_the_first_trick() -> None:
    """The others stir and play, the dealer stirs and passes."""
    rng = _rng()
    kinds: Counter[str] = Counter()
    for _ in range(4 * DEALS):
        deal = Deal(_setup(rng))
        while not deal.over and not deal.view.tricks:
            seat = deal.to_act
            assert seat is not None
            action = _action(deal, rng)
            if deal.phase == Phase.FOLLOW:
                who = "dealer" if seat == deal.view.dealer else "other"
                kinds[f"{who} {type(action).__name__}"] += 1
            deal.act(seat, action)
    print(kinds)
    assert set(kinds) == {"other Show", "other Play", "dealer Show", "dealer Pass"}
