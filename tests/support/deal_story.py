"""A whole deal as text to read: every event in its order, how many choices each decision had, what each seat knows.

What a seat knows is told from its own view and from nothing else, so a leak or a loss in a view shows in the text.
"""

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from chaodipi.engine import Action, Card, Deal, Pass, Phase, Play, Rank, Seat, Show, Suit, View, shape_of
from chaodipi.engine.actions import Bury
from chaodipi.engine.cards import SEATS, SUITS, Side, deck, points_of
from chaodipi.engine.events import (
    Booked,
    BottomTaken,
    Buried,
    CardsDrawn,
    CardsReturned,
    DealEnded,
    DealStarted,
    Event,
    Passed,
    Played,
    Shown,
    TrickEnded,
    TrumpRevealed,
    WindowClosed,
)
from chaodipi.engine.follow import count_multisets
from chaodipi.engine.game import settle_deal
from chaodipi.engine.history import Showing
from chaodipi.engine.order import TRUMPS, Order
from chaodipi.engine.scoring import Position
from chaodipi.engine.shapes import runs_of

__all__ = ["happenings", "single_patterns", "story"]

WIDTH = 110
HALF_WAY = 6
"""After so many tricks the seats' views are told once more."""

Choose = Callable[[Deal, Seat], Action]


def story(deal: Deal, choose: Choose) -> Iterator[str]:
    """Play *deal*, which is at its beginning, to its end by *choose*, and yield the lines that tell it."""
    yield from _opening(deal)
    told = 0
    while True:
        for event in deal.events[told:]:
            yield from _event(deal, event)
        told = len(deal.events)
        seat = deal.to_act
        if seat is None:
            break
        yield from _views_before(deal)
        action = choose(deal, seat)
        yield _decision(deal, seat, action)
        deal.act(seat, action)
    yield from _ending(deal)


# ---- beginning and end


def _opening(deal: Deal) -> Iterator[str]:
    setup = deal.setup
    levels = "  ".join(f"{side.text}: {_level(setup.levels[side])}" for side in Side)
    dealer = "the showing decides" if setup.dealer is None else f"seat {setup.dealer}"
    yield f"levels    {levels}, {'first deal of a game' if setup.first_deal else 'later deal'}"
    yield f"dealer    {dealer}; seat {setup.first_drawer} draws first"
    dealt = 4 * setup.ruleset.hand
    for seat in SEATS:
        yield from _wrapped(f"draws {seat}   ", _texts(setup.cards[(seat - setup.first_drawer) % 4 : dealt : 4]))
    yield from _wrapped("bottom    ", _texts(setup.cards[dealt:]) or "none")
    yield ""


def _ending(deal: Deal) -> Iterator[str]:
    end, view = deal.view.end, deal.view
    assert end is not None
    yield ""
    if end.how != "played" or view.dealer is None:
        yield f"end       {end.how}"
        return
    before = {
        side: Position(deal.setup.levels[side] or Rank.ACE, flag=deal.setup.levels[side] is None) for side in Side
    }
    done = settle_deal(deal, before)
    caught = sum(trick.points for trick in view.tricks if trick.winner.side != view.dealer.side)
    booked = sum(booking.points for booking in view.adjustments)
    yield f"points    {caught} in tricks, {booked:+d} booked, {end.dig_points:+d} dug: {end.score} for the catchers"
    yield f"settled   {done.score}: side {done.stage.text} on stage next, steps {done.steps[0]} : {done.steps[1]}"
    moved = (f"{side.text}: {before[side].level.letter} to {done.positions[side].level.letter}" for side in Side)
    yield f"levels    {'  '.join(moved)}"
    yield f"next      {'the placing decides' if done.next_dealer is None else f'seat {done.next_dealer} deals'}"
    if done.payout is not None:
        yield f"paid      each of the dealer side {done.payout[0]:+d}, each catcher {done.payout[1]:+d}"
    for name, said in (("award", done.award), ("stake", end.stake)):
        yield f"{name:10}{said}"
    for name, happened in (("heaven", done.heaven), ("fall back", done.fall_back), ("jump", done.jump)):
        if happened:
            yield f"{name:10}yes"
    if done.winner is not None:
        yield f"game      won by side {done.winner.text}"


# ---- decisions


def _decision(deal: Deal, seat: Seat, action: Action) -> str:
    """Who was asked, what was done, and out of how many choices."""
    where = {
        Phase.DECLARE: f"{sum(deal.view.hand_sizes):3d} drawn ",
        Phase.STIR: "stir      ",
        Phase.BURY: "bury      ",
    }
    label = where.get(deal.phase) or (f"trick {len(deal.view.tricks) + 1:2d}  " if not deal.view.trick else " " * 10)
    done = _done(action)
    if isinstance(action, Play) and _is_ruff(deal.view, action.cards):
        done = done.replace("plays", "ruffs")
    return f"{label}{seat} {done:<56} {_choices(deal, seat)}".rstrip()


def _is_ruff(view: View, cards: Iterable[Card]) -> bool:
    """Trumps alone on a lead of a side suit, whether they win or not."""
    order = view.order
    return bool(view.trick) and not order.is_trump(view.trick[0].cards[0]) and all(map(order.is_trump, cards))


def _done(action: Action) -> str:
    if isinstance(action, Pass):
        return "passes"
    if isinstance(action, Show):
        named = f", naming {action.named.letter}" if action.named is not None else ""
        return f"shows {_texts(action.cards)}{named}{', looking back' if action.looking_back else ''}"
    return f"{'buries' if isinstance(action, Bury) else 'plays'} {_texts(action.cards)}"


def _choices(deal: Deal, seat: Seat) -> str:
    legal = deal.legal_actions(seat)
    hand = deal.view.hand(seat)
    said = [_showings(legal.shows)] if legal.shows else []
    if deal.phase == Phase.BURY:
        said.append(f"{count_multisets(hand, legal.bury_count):,} burials")
    elif deal.phase == Phase.LEAD:
        patterns = Counter(kind for kind, cards in single_patterns(deal.view.order, hand) if deal.can_play(seat, cards))
        said.append(", ".join(f"{count} {kind}" for kind, count in patterns.items()))
    elif legal.follows is not None and deal.default_action(seat) != Pass():
        count = legal.follows.count()
        said.append(f"{count:,} follow{'s' * (count != 1)}")
    return "; ".join(said) or "no showing"


def _showings(shows: Sequence[Show]) -> str:
    """How many, and which: cards that leave the trump open once, with all names."""
    names: dict[str, list[str]] = {}
    for show in shows:
        cards = _texts(show.cards) + ", looking back" * show.looking_back
        names.setdefault(cards, []).extend([] if show.named is None else [show.named.letter])
    told = [cards + (f" ({' '.join(named)})" if named else "") for cards, named in names.items()]
    return f"{len(shows)} showing{'s' * (len(shows) != 1)}: {' | '.join(told)}"


def single_patterns(order: Order, hand: Sequence[Card]) -> Iterator[tuple[str, tuple[Card, ...]]]:
    """Every pattern in *hand* that is no throw, with its kind: what may be led whatever the others hold."""
    held = Counter(hand)
    names = {1: "single", 2: "pair", 3: "triple"}
    most = 3 if order.ruleset.triples else 2
    for copies in range(1, most + 1):
        for card in order.sort(card for card, count in held.items() if count >= copies):
            yield names[copies], (card,) * copies
    for copies in range(2, most + 1):
        for cls in (TRUMPS, *SUITS):
            alike = [card for card in order.of_class(held, cls) if held[card] >= copies]
            for length in range(2, len(alike) + 1):
                for _, run in runs_of(order, cls, alike, length):
                    yield "tractor" if copies == 2 else "triple_tractor", tuple(c for c in run for _ in range(copies))
    for suit in SUITS:
        for copies in (1, 2):
            cards = tuple(Card.of(suit, rank) for rank in (Rank.FIVE, Rank.TEN, Rank.KING) for _ in range(copies))
            shape = shape_of(order, cards)
            if shape is not None and shape.k510 and all(held[card] >= copies for card in cards):
                yield shape.k510, cards


# ---- events


def _event(deal: Deal, event: Event) -> Iterator[str]:
    """What happened, where the decision before it does not say so already."""
    match event:
        case DealStarted() | CardsDrawn() | Passed() | Buried():
            pass
        case Shown(seat=seat, kind=kind, cards=cards):
            trump = next(show.trump for show in reversed(deal.view.shown) if show.seat == seat and show.cards == cards)
            yield f"          {kind}, {_suit(trump)}{', hidden from the others' * event.hidden}"
        case WindowClosed(trump=trump):
            yield ""
            yield f"closed    seat {event.dealer} deals, level {_level(event.level)}, {_suit(trump)}" + (
                f", called by seat {event.caller}" if event.caller is not None else ", nobody called"
            )
            if event.turned:
                yield f"turned    {_texts(event.turned)}"
        case BottomTaken(seat=seat, cards=cards):
            yield f"bottom    seat {seat} takes {_texts(cards)}"
        case TrumpRevealed(trump=trump, showings=showings):
            shown = "; ".join(f"{show.seat} {show.kind} {_texts(show.cards)}" for show in showings)
            yield f"revealed  {_suit(trump)}: {shown or 'nothing was shown'}"
        case Played(seat=seat, cards=cards, attempted=attempted):
            if attempted is not None:
                yield f"          failed throw: seat {seat} must lead {_texts(cards)}"
        case CardsReturned(stirrer=stirrer, returned=returned):
            back = "; ".join(f"{_texts(cards)} to seat {seat}" for seat, cards in returned)
            yield f"returned  by the stir of seat {stirrer}: {back or 'nothing'}"
        case Booked(kind=kind, seat=seat, points=points):
            yield f"booked    {points:+d}, {kind} of seat {seat}"
        case TrickEnded(winner=winner, points=points, score=score):
            yield f"          seat {winner} wins {points}, catchers {score}"
        case DealEnded(how="played"):
            yield ""
            yield f"last      seat {event.last_winner} with {_texts(event.last_play)}, dig times {event.dig_multiplier}"
            yield f"bottom    {_texts(event.bottom)}, {points_of(event.bottom)} points"
        case _:
            yield f"event     {event}"


# ---- views


def _views_before(deal: Deal) -> Iterator[str]:
    """All four views where much has just changed: the bottom is out, the lead is next, half of it is played."""
    view = deal.view
    taken = view.phase == Phase.BURY and isinstance(deal.events[-2], WindowClosed)
    first_lead = view.phase == Phase.LEAD and not view.tricks
    half_way = view.phase == Phase.LEAD and len(view.tricks) == HALF_WAY
    if not (taken or first_lead or half_way):
        return
    when = (
        "with the bottom in a hand" if taken else "before the first lead" if first_lead else f"after {HALF_WAY} tricks"
    )
    yield ""
    yield f"-- {when}"
    for seat in SEATS:
        yield from _seen(deal.observation(seat), seat)
    yield ""


def _seen(view: View, seat: Seat) -> Iterator[str]:
    hand = view.hand(seat)
    yield from _wrapped(f"seat {seat}    ", _by_class(view.order, hand))
    known = [_suit(view.trump) if view.trump is not None else "trump unknown"]
    known += [f"seat {show.seat} showed {_shown(show)}" for show in view.shown]
    known += [f"seat {s} took back {_texts(cards)}" for back in view.returned for s, cards in back.returned]
    known += [f"seat {attempt.seat} tried {_texts(attempt.cards)}" for attempt in view.attempts]
    if view.bottom is not None:
        known.append(f"bottom {_texts(view.bottom)}")
    known.append(f"catchers {view.score}")
    yield from _wrapped("  knows   ", "; ".join(known))
    hidden = [f"hand of {other} ({view.hand_sizes[other]})" for other in SEATS if other not in view.hands]
    if view.bottom is None and view.bottom_owner is not None and view.phase != Phase.BURY:
        hidden.append(f"bottom ({view.ruleset.bottom}, of seat {view.bottom_owner})")
    unseen = Counter(deck(view.ruleset.decks))
    unseen.subtract(hand)
    unseen.subtract(view.bottom or ())
    for plays in (*(trick.plays for trick in view.tricks), view.trick):
        for play in plays:
            unseen.subtract(play.cards)
    away = tuple(unseen.elements())
    yield from _wrapped("  not     ", f"{', '.join(hidden)}: {len(away)} cards, {points_of(away)} points")


def _shown(showing: Showing) -> str:
    named = f" naming {showing.named.letter}" if showing.named is not None else ""
    return (_texts(showing.cards) or "something") + named


def _by_class(order: Order, cards: Iterable[Card]) -> str:
    held = list(cards)
    parts = (("T", TRUMPS), *((suit.letter, suit) for suit in SUITS))
    return "  ".join(
        f"{name}: {_texts(order.sort(same))}" for name, cls in parts if (same := order.of_class(held, cls))
    )


# ---- what happened, in short


def happenings(deal: Deal) -> tuple[str, ...]:
    """What a reader finds in the finished *deal*, each once, in a fixed order."""
    view, end = deal.view, deal.view.end
    assert end is not None
    found: dict[str, bool] = {
        "first deal": view.first_deal,
        "undeclared": view.undeclared,
        **{str(show.kind).replace("_", " "): True for show in view.shown},
        "two stirs": len(view.stirs_from) > 1,
        "the dealer stirs": view.dealer in view.stirs_from,
        "a catcher owns the bottom": view.bottom_owner is not None and not _deals(view, view.bottom_owner),
        "named trump": any(show.named is not None for show in view.shown),
        "cards returned": any(back.returned for back in view.returned),
        "failed throw": bool(view.attempts),
        **{str(booking.kind).replace("_", " "): True for booking in view.adjustments},
        "heart fives": any(trick.plays[0].cards.count(Card.parse("H5")) for trick in view.tricks),
    }
    if view.ruleset.heart_five != "top":
        del found["heart fives"]
    for trick in view.tricks:
        found |= _of_trick(
            view.order, [play.cards for play in trick.plays], view.order.class_of(trick.plays[0].cards[0])
        )
    found["dig"] = end.dig_multiplier > 0
    found[f"dig times {end.dig_multiplier}"] = end.dig_multiplier > 2
    found["points dug"] = end.dig_points > 0
    found["catchers win"] = end.score >= view.ruleset.stage
    return tuple(name for name, happened in found.items() if happened)


def _deals(view: View, seat: Seat) -> bool:
    return view.dealer is not None and view.dealer.side == seat.side


def _of_trick(order: Order, plays: list[tuple[Card, ...]], led: Suit) -> dict[str, bool]:
    shape = shape_of(order, plays[0])
    if shape is None:
        return {}
    ruffs = sum(led != TRUMPS and all(order.is_trump(card) for card in cards) for cards in plays[1:])
    found = {part.kind + " led": True for part in shape.components if part.kind != "single"}
    return (
        found | {"throw": shape.is_throw, "ruff": ruffs > 0, "two ruffs": ruffs > 1}
        if any((shape.is_throw, ruffs))
        else found
    )


# ---- small texts


def _texts(cards: Iterable[Card]) -> str:
    return " ".join(card.text for card in cards)


def _level(level: Any) -> str:
    return "none" if level is None else str(level.letter)


def _suit(trump: Suit | None) -> str:
    return "trump unknown" if trump is None else "no trump" if trump == Suit.NO_TRUMP else f"trump {trump.letter}"


def _wrapped(label: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=label, subsequent_indent=" " * 10, break_on_hyphens=False)
