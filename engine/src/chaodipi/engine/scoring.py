"""Digging, levels, and what a deal is worth: from the catchers' score to the positions after.

Rules: annex F10 to F12; S0-26 to S0-31, S0-60 to S0-67, S2b-38 to S2b-48; Q64 to Q70, Q73, Q79 to Q83,
Q89, Q91, Q116, Q118, Q119, Q124.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from chaodipi.engine.cards import SUITS, Card, Rank, Seat, Side
from chaodipi.engine.order import TRUMPS, Order
from chaodipi.engine.ruleset import Ruleset
from chaodipi.engine.shapes import decompose, shape_of

__all__ = ["Position", "Settlement", "contains_510k", "dig_multiplier", "level_steps", "settle"]


@dataclass(frozen=True, slots=True)
class Position:
    """
    Where a side stands in its game.

    Attributes:
        level: 2…A.
        lap: 1…3, only where a match has laps.
        flag: On the flag (扛旗).
        released: Must-play levels that stop this side no more.
    """

    level: Rank
    lap: int = 1
    flag: bool = False
    released: frozenset[Rank] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True)
class Settlement:
    """
    What a finished deal changes.

    Attributes:
        score: The catchers' score as settled, never below 0.
        stage: The side on stage next.
        steps: Levels by the table, for (dealer side, catchers).
        gained: Levels climbed, for (dealer side, catchers).
        positions: Positions after, by side.
        next_dealer: Dealer of the next deal; None after the game.
        award: Match points of the winner (Q70).
        heaven, fall_back: Whether these happened.
        winner: The side that won the game with this deal, or None.
    """

    score: int
    stage: Side
    steps: tuple[int, int]
    gained: tuple[int, int]
    positions: dict[Side, Position]
    next_dealer: Seat | None
    award: int
    heaven: bool = False
    fall_back: bool = False
    winner: Side | None = None


def dig_multiplier(order: Order, play: Sequence[Card]) -> int:
    """What the bottom's points are multiplied by if the catchers win the last trick with *play* (F10)."""
    best = 4 if order.pairs_of(play) else 2
    how = order.ruleset.dig_tractor
    if best == 2 or how == "pair":
        return best
    cls = order.class_of(play[0])
    for part in decompose(order, cls, order.of_class(play, cls)):
        if part.kind == "tractor":
            best = max(best, 8 if how == "eight" else 2 ** (part.length + 1))
    return best


def level_steps(ruleset: Ruleset, score: int) -> tuple[int, int]:
    """Steps of (dealer side, catchers) for the catchers' *score*, by the level table (F12)."""
    stage = ruleset.stage
    if score <= 0:
        return (ruleset.sweep_steps, 0)
    if ruleset.steps == "tens":
        tens = score // 10 * 10
        return ((stage - tens) // 10, 0) if score < stage else (0, (tens - stage) // 10)
    unit = stage // 2
    if score < stage:
        return (2 if score < unit else 1, 0)
    return (0, (score - stage) // unit)


def contains_510k(order: Order, play: Sequence[Card]) -> bool:
    """Whether *play* contains a 5, 10, K of one suit, all of one class, or is such a pattern (Q116)."""
    shape = shape_of(order, play)
    if shape is not None and shape.k510:
        return True
    for suit in SUITS:
        wanted = [Card.of(suit, rank) for rank in (Rank.FIVE, Rank.TEN, Rank.KING)]
        if all(card in play for card in wanted) and {order.class_of(card) for card in wanted} in ({TRUMPS}, {suit}):
            return True
    return False


def settle(
    ruleset: Ruleset,
    dealer: Seat,
    score: int,
    positions: Mapping[Side, Position],
    *,
    order: Order | None = None,
    last_winner: Side | None = None,
    last_play: Sequence[Card] = (),
) -> Settlement:
    """
    Settle a played deal.

    Args:
        dealer: The deal's dealer.
        score: The catchers' final score, dig and bookings included; below 0 settles as 0 (Q78).
        positions: Both sides' positions in this deal.
        order: The final order of the deal, needed where *last_play* matters.
        last_winner, last_play: The side that won the last trick, and its play there.
    """
    score = max(0, score)
    dealers, catchers = dealer.side, dealer.side.other
    steps = level_steps(ruleset, score)
    on_stage = dealers if score < ruleset.stage else catchers
    by_catchers = last_winner == catchers and order is not None and bool(last_play)

    if ruleset.heaven != "none" and by_catchers and order is not None and contains_510k(order, last_play):
        return _up_to_heaven(ruleset, dealer, score, positions, steps)

    after = dict(positions)
    winner: Side | None = None
    if on_stage == dealers:
        after[dealers], won = _climb(ruleset, positions[dealers], steps[0], as_dealer=True)
        winner = dealers if won else None
    else:
        after[catchers], won = _climb(ruleset, positions[catchers], steps[1], as_dealer=False)
        winner = catchers if won else None

    fallen = None
    if ruleset.fall_back == "final" and by_catchers and score >= ruleset.stage:
        fallen = _fallen_to(positions[dealers].level, last_play)
    if fallen is not None:
        after[dealers] = replace(after[dealers], level=fallen)

    gained = tuple(_gained(positions[side], after[side]) for side in (dealers, catchers))
    ahead = gained[0] if on_stage == dealers else gained[1]
    return Settlement(
        score=score,
        stage=on_stage,
        steps=steps,
        gained=(gained[0], gained[1]),
        positions=after,
        next_dealer=None if winner is not None else _next_dealer(dealer, on_stage),
        award=max(1, ahead),
        fall_back=fallen is not None,
        winner=winner,
    )


def _climb(ruleset: Ruleset, position: Position, steps: int, *, as_dealer: bool) -> tuple[Position, bool]:
    """
    Climb level by level, stopping on the first unreleased must-play level; (position, game won).

    A dealer side that won leaves its own level whatever it is, and so releases it; catchers that
    stand on an unreleased must-play level stay there (Q79, Q80).
    """
    must_play = {Rank.parse(level) for level in ruleset.must_play}
    level, released = position.level, position.released
    if as_dealer and level in must_play:
        released = released | {level}
    if not as_dealer and level in must_play - released:
        return position, False
    for _ in range(steps):
        if level == Rank.ACE:
            return replace(position, level=level, released=released), True
        level = Rank(level + 1)
        if level in must_play - released:
            break
    return replace(position, level=level, released=released), False


def _fallen_to(level: Rank, play: Sequence[Card]) -> Rank | None:
    """Where a dealer side at *level* falls when the catchers' whole last play is *play* (S0-60, S0-61)."""
    whole = len(set(play)) == 1 and len(play) <= 2
    if whole and level == Rank.JACK and play[0].rank == Rank.JACK and not play[0].is_joker:
        return Rank.TWO
    if whole and level == Rank.ACE and play[0].rank == Rank.ACE and len(play) == 2:
        return Rank.JACK
    return None


def _up_to_heaven(
    ruleset: Ruleset, dealer: Seat, score: int, positions: Mapping[Side, Position], steps: tuple[int, int]
) -> Settlement:
    """上天入地: the winner goes to A, the loser back to 2 with nothing released (Q69, Q119)."""
    losers, winners = dealer.side, dealer.side.other
    after = {
        losers: Position(Rank.parse(ruleset.start_level)),
        winners: replace(positions[winners], level=Rank.ACE),
    }
    ordinary = max(1, _gained(positions[winners], _climb(ruleset, positions[winners], steps[1], as_dealer=False)[0]))
    return Settlement(
        score=score,
        stage=winners,
        steps=steps,
        gained=(0, _gained(positions[winners], after[winners])),
        positions=after,
        next_dealer=_next_dealer(dealer, winners),
        award=max(ruleset.heaven_award, ordinary),
        heaven=True,
    )


def _gained(before: Position, after: Position) -> int:
    return after.level - before.level


def _next_dealer(dealer: Seat, on_stage: Side) -> Seat:
    """The partner if the dealer side stays on stage, else the seat after the dealer (S2b-39, S2b-40)."""
    return dealer.partner if on_stage == dealer.side else dealer.next
