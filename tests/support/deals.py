"""Deals of chance: any preset, any position of its game, any legal actions; and what must hold of each of them."""

import random
from collections import Counter
from collections.abc import Iterator

from chaodipi.engine import (
    Action,
    ActionKind,
    Bury,
    Card,
    Deal,
    Game,
    Pass,
    Phase,
    Play,
    Position,
    Rank,
    Ruleset,
    Seat,
    Setup,
    Show,
    Side,
    deck,
)
from chaodipi.engine.cards import SEATS


def random_setup(ruleset: Ruleset, rng: random.Random) -> Setup:
    """A shuffled deal at some place of a game: the first, or a later one with any dealer and any levels."""
    game = Game(ruleset, 8 if ruleset.match == "deals" else None)
    if rng.random() < 0.6:
        game.deals = 1
        game.stage = rng.choice(list(Side))
        for side in Side:
            level, lap = rng.choice(list(Rank)[:13]), rng.randint(1, ruleset.laps)
            game.positions[side] = Position(level, lap)
        if ruleset.past_ace == "flag" and rng.random() < 0.3:
            game.positions[game.stage] = Position(Rank.ACE, flag=True)
        if ruleset.dealer_seat == "rotation":
            game.dealer = rng.choice([seat for seat in SEATS if seat.side == game.stage])
            game._drawer = game.dealer
    cards = list(deck(ruleset.decks))
    rng.shuffle(cards)
    return game.setup(cards, rng.choice(SEATS))


def random_action(deal: Deal, seat: Seat, rng: random.Random, shows: float = 0.6) -> Action:
    """Some legal action of the seat that is asked; *shows* is how often it shows what it can."""
    legal = deal.legal_actions(seat)
    if ActionKind.SHOW in legal.kinds and rng.random() < shows and (choices := legal.shows):
        return rng.choice(choices)
    if ActionKind.PASS in legal.kinds:
        return Pass()
    if ActionKind.BURY in legal.kinds:
        return Bury(tuple(rng.sample(deal.view.can_bury(seat), legal.bury_count)))
    if legal.follows is not None:
        return Play(_some_follow(deal, seat, rng))
    return Play(_some_lead(deal, seat, rng))


def _some_follow(deal: Deal, seat: Seat, rng: random.Random) -> tuple[Card, ...]:
    lead = deal.view.lead
    assert lead is not None
    for _ in range(10):
        cards = tuple(rng.sample(deal.view.hand(seat), len(lead)))
        if deal.can_play(seat, cards):
            return cards
    follows = deal.legal_actions(seat).follows
    assert follows is not None
    return follows.first()


def _some_lead(deal: Deal, seat: Seat, rng: random.Random) -> tuple[Card, ...]:
    """A single, a pair, or several cards of one class: tractors and throws, good ones and others."""
    hand, order = deal.view.hand(seat), deal.view.order
    card = rng.choice(hand)
    same = order.of_class(hand, order.class_of(card))
    pairs = [c for c in sorted(order.pairs_of(same)) for _ in (0, 1)]
    choice = rng.random()
    cards: tuple[Card, ...] = (card,)
    if choice < 0.3 and pairs:
        cards = tuple(pairs[: 2 * rng.randint(1, len(pairs) // 2)])
    elif choice < 0.5:
        cards = tuple(rng.sample(same, min(len(same), rng.randint(2, 4))))
    elif choice < 0.6:
        cards = same[: rng.randint(1, min(6, len(same)))]
    return cards if deal.can_play(seat, cards) else (card,)


def played(setup: Setup, rng: random.Random, shows: float = 0.6) -> Iterator[tuple[Deal, Seat, Action]]:
    """The deal before each of its actions, to the end."""
    deal = Deal(setup)
    while (seat := deal.to_act) is not None:
        action = random_action(deal, seat, rng, shows)
        yield deal, seat, action
        deal.act(seat, action)
    assert deal.over


# ---- what must hold


def check_partition(deal: Deal) -> None:
    """Every card is in exactly one place: undealt, a hand, the bottom, or played; none is lost, none is made."""
    view = deal.view
    cards = [card for seat in SEATS for card in view.hands[seat]]
    assert [len(view.hands[seat]) for seat in SEATS] == view.hand_sizes
    for plays in [*(trick.plays for trick in view.tricks), view.trick]:
        cards += [card for play in plays for card in play.cards]
    if view.phase == Phase.DECLARE or (view.end is not None and view.end.how == "redeal"):
        cards += deal.setup.cards[len(cards) :]
    elif view.bottom is not None and view.phase != Phase.BURY:
        cards += view.bottom
    assert Counter(cards) == Counter(dict.fromkeys(Card, deal.ruleset.decks))


def check_score(deal: Deal) -> None:
    """All points of the decks are taken or buried, and the score is what the catchers took, was booked and dug."""
    view = deal.view
    end, dealer = view.end, view.dealer
    assert end is not None
    if end.how != "played":
        return
    assert dealer is not None
    assert sum(trick.points for trick in view.tricks) + sum(card.points for card in end.bottom) == (
        deal.ruleset.points_total
    )
    score = 0
    for event in deal.events:
        match type(event).__name__:
            case "TrickEnded":
                score += event.points if event.winner.side != dealer.side else 0
            case "Booked":
                score += event.points
                if deal.ruleset.penalty_floor == "zero" and event.points < 0:
                    score = max(0, score)
    assert score + end.dig_points == end.score


def check_turn(deal: Deal, seat: Seat, action: Action) -> None:
    """*seat* alone may act: its action and its default are legal, nobody else can do anything."""
    deal.check(seat, action)
    deal.check(seat, deal.default_action(seat))
    assert deal.legal_actions(seat).kinds
    for other in SEATS:
        if other != seat:
            legal = deal.legal_actions(other)
            assert (legal.kinds, legal.shows, legal.bury_count, legal.follows) == ((), (), 0, None)
            hand = deal.view.hand(other)
            tries: list[Action] = [
                Pass(),
                *(Play((card,)) for card in hand[:3]),
                *(Show((card,)) for card in hand[-3:]),
            ]
            assert not any(deal.can(other, attempt) for attempt in tries)
            assert not deal.can(other, Bury(tuple(hand[: deal.ruleset.bottom] or deck(1)[:1])))
