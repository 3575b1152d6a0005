"""Digging, levels, and what a deal is worth: from the catchers' score to the positions after.

Rules: annex F10 to F12; S0-26 to S0-31, S0-40, S0-43 to S0-51, S0-60 to S0-67, S2a-30, S2b-38 to S2b-48,
S3-12 to S3-22, S4-37 to S4-45; Q64 to Q70, Q73, Q74, Q77, Q79 to Q89, Q91, Q116, Q118 to Q120, Q124.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from chaodipi.engine.cards import SUITS, Card, Rank, Seat, Side
from chaodipi.engine.order import TRUMPS, Order
from chaodipi.engine.ruleset import Ruleset
from chaodipi.engine.shapes import decompose, shape_of

__all__ = [
    "Position",
    "Settlement",
    "contains_510k",
    "dig_multiplier",
    "level_steps",
    "payout",
    "settle",
    "settle_jump",
    "stage_score",
]

FLAG_STAGE = 100
"""Catchers' points that win a flag deal (S0-50)."""

JUMP_SCORE = 200
"""Catchers' points that jump (S3-19), the dig included (Q85)."""


@dataclass(frozen=True, slots=True)
class Position:
    """
    Where a side stands in its game.

    Attributes:
        level: 2…A; A for a side on the flag.
        lap: 1…3, only where a match has laps.
        flag: On the flag (扛旗), one step past A: its deals have no level (S0-48, S0-49).
        released: Must-play levels that stop this side no more.
    """

    level: Rank
    lap: int = 1
    flag: bool = False
    released: frozenset[Rank] = field(default_factory=frozenset)

    @classmethod
    def at(cls, level: Rank | None, lap: int = 1) -> "Position":
        """A side's position in a deal that stands alone; no level is the flag."""
        return cls(Rank.ACE, lap, flag=True) if level is None else cls(level, lap)

    @property
    def deal_level(self) -> Rank | None:
        """The level of a deal that this side deals, None for a flag deal."""
        return None if self.flag else self.level


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
        next_dealer: Dealer of the next deal; None after the game, and where placing decides (S4-19).
        award: Match points of the winner (Q70).
        payout: What each player of (dealer side, catchers) wins or loses in room units, stake included; None
            where nothing is paid. The two need not add up to 0 (Q77).
        heaven, fall_back, jump: Whether these happened.
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
    jump: bool = False
    payout: tuple[int, int] | None = None


def dig_multiplier(order: Order, play: Sequence[Card]) -> int:
    """
    What the bottom's points are multiplied by if the catchers win the last trick with *play* (F10): single 2,
    pair 4, triple 8, tractors by ``ruleset.dig_tractor``; its best component counts (Q66, Q67).
    """
    best = 4 if order.pairs_of(play) else 2
    how = order.ruleset.dig_tractor
    if best == 2 or how == "pair":
        return best
    cls = order.class_of(play[0])
    for part in decompose(order, cls, order.of_class(play, cls)):
        if part.kind == "triple":
            best = max(best, 8)
        elif part.length > 1:
            best = max(best, 8 if how == "eight" else 2 ** (part.length + part.copies - 1))
    return best


def stage_score(ruleset: Ruleset, flag: bool = False) -> int:
    """The score with which the catchers come on stage; another one in a *flag* deal."""
    return FLAG_STAGE if flag else ruleset.stage


def level_steps(ruleset: Ruleset, score: int, flag: bool = False) -> tuple[int, int]:
    """
    Steps of (dealer side, catchers) for the catchers' *score*, by the level table (F12).

    In a *flag* deal the dealer side makes the one step that wins the game, the catchers climb from 100 on (S0-50).
    """
    stage = stage_score(ruleset, flag)
    if flag:
        return (1, 0) if score < stage else (0, (score - stage) // (ruleset.stage // 2))
    if score <= 0:
        return (ruleset.sweep_steps, 0)
    if ruleset.steps == "tens":
        tens = score // 10 * 10
        return ((stage - tens) // 10, 0) if score < stage else (0, (tens - stage) // 10)
    unit = stage // 2
    if score < stage:
        return (2 if score < unit else 1, 0)
    return (0, (score - stage) // unit)


def payout(ruleset: Ruleset, score: int) -> tuple[int, int] | None:
    """
    What each player of (dealer side, catchers) is paid for the catchers' *score*, before any stake; None: nothing.

    A big sweep (大光) pays 9 and costs 6, a small one (小光) 6 and 4, a plain win 3 and 2; a catchers' win pays one
    step of 3 and 2 more for each band of their table, at most 39 and 26 (S2a-09, S2a-11, S2a-30, Q77).
    """
    if ruleset.payout == "none":
        return None
    unit = ruleset.stage // 2
    if score >= ruleset.stage:
        steps = min((score - ruleset.stage) // unit + 1, _PAID_STEPS)
        return (-_LOST * steps, _WON * steps)
    steps = 3 if score <= 0 else 2 if score < unit else 1
    return (_WON * steps, -_LOST * steps)


_WON, _LOST = 3, 2
"""Payout of one step to each winner, and its cost to each loser."""
_PAID_STEPS = 13
"""More steps are not paid: 39 = 13 times 3."""


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
    table_score: int | None = None,
    first_deal: bool = False,
    stake: int = 1,
) -> Settlement:
    """
    Settle a played deal.

    What comes first excludes what comes later: "up to heaven", the knock-out of a first deal, the
    jump, and at last the level table with the falling back beside it (F12, Q69).

    Args:
        dealer: The deal's dealer.
        score: The catchers' final score, dig and bookings included; below 0 settles as 0 (Q78).
        positions: Both sides' positions in this deal; a dealer side on the flag plays a flag deal.
        order: The final order of the deal, needed where *last_play* matters.
        last_winner, last_play: The side that won the last trick, and its play there.
        table_score: The score before the dig, in points (Q120); None: *score*.
        first_deal: First deal of a game, which can be won at once and where nobody jumps (S3-18, S3-19).
        stake: Multiplier of the payout, never of points or levels (Q47).
    """
    score = max(0, score)
    table_score = score if table_score is None else table_score
    moved = _settle_levels(ruleset, dealer, score, positions, order, last_winner, last_play, table_score, first_deal)
    paid = payout(ruleset, score)
    return moved if paid is None else replace(moved, payout=(stake * paid[0], stake * paid[1]))


def _settle_levels(
    ruleset: Ruleset,
    dealer: Seat,
    score: int,
    positions: Mapping[Side, Position],
    order: Order | None,
    last_winner: Side | None,
    last_play: Sequence[Card],
    table_score: int,
    first_deal: bool,
) -> Settlement:
    """:func:`settle` but for the payout; *score* is not below 0."""
    dealers, catchers = dealer.side, dealer.side.other
    flag = positions[dealers].flag
    on_stage = dealers if score < stage_score(ruleset, flag) else catchers
    dug = last_winner == catchers and not flag

    if last_winner is not None and order is not None and _wins_heaven(order, last_play, by_catchers=dug):
        return _up_to_heaven(ruleset, dealer, score, positions, last_winner)

    if ruleset.first_deal_knockout and first_deal:
        # A dig with less on the table, or 80 without one, is settled by the table (Q84).
        if score == 0 or (dug and table_score >= ruleset.stage):
            return _moved(ruleset, dealer, score, on_stage, positions, positions, winner=on_stage)
    elif ruleset.jump and (score == 0 or score >= JUMP_SCORE):
        return settle_jump(ruleset, dealer, on_stage, positions, score=score)

    after = dict(positions)
    after[dealers] = _released(ruleset, positions[dealers])
    steps = level_steps(ruleset, score, flag)[0 if on_stage == dealers else 1]
    climbed = _climb(ruleset, after[on_stage], steps, as_dealer=on_stage == dealers)
    after[on_stage] = climbed.position

    fallen = _fallen_to(ruleset, positions[dealers].level, score, table_score, last_play) if dug else None
    if fallen is not None:
        after[dealers] = replace(after[dealers], level=fallen)
    winner = on_stage if climbed.won else None
    return _moved(
        ruleset, dealer, score, on_stage, positions, after,
        winner=winner, climbed=climbed.levels, fall_back=fallen is not None,
    )  # fmt: skip


def settle_jump(
    ruleset: Ruleset,
    dealer: Seat,
    side: Side,
    positions: Mapping[Side, Position],
    *,
    score: int = 0,
    played: bool = True,
) -> Settlement:
    """
    *side* jumps (跳级) to A, which it must still win; at J, Q, K or A it wins the game (S3-19 to S3-22, Q85).

    The level of the deal, the dealer side's, counts. Also what follows a false call or stir, for the
    offender's opponents (S3-56, Q86); the deal is not *played* then and releases no level.
    """
    level = positions[dealer.side].level
    after = dict(positions)
    if played:
        after[dealer.side] = _released(ruleset, positions[dealer.side])
    after[side] = _at_last_ace(ruleset, after[side])
    winner = side if level >= Rank.JACK else None
    return _moved(ruleset, dealer, score, side, positions, after, winner=winner, jump=True)


def _moved(
    ruleset: Ruleset,
    dealer: Seat,
    score: int,
    on_stage: Side,
    before: Mapping[Side, Position],
    after: Mapping[Side, Position],
    *,
    winner: Side | None,
    climbed: int | None = None,
    fall_back: bool = False,
    jump: bool = False,
) -> Settlement:
    """The settlement that leads from *before* to *after*; *climbed*: how far, where it went level by level."""
    gained = {side: _gained(ruleset, before[side], after[side]) for side in Side}
    if climbed is not None:
        gained[on_stage] = climbed
    return Settlement(
        score=score,
        stage=on_stage,
        steps=level_steps(ruleset, score, before[dealer.side].flag),
        gained=(gained[dealer.side], gained[dealer.side.other]),
        positions=dict(after),
        next_dealer=None if winner is not None else _next_dealer(ruleset, dealer, on_stage),
        award=max(1, gained[on_stage]),
        fall_back=fall_back,
        winner=winner,
        jump=jump,
    )


def _released(ruleset: Ruleset, position: Position) -> Position:
    """The dealer side's *position* once it has played there: released by that alone, or not (S3-14, Q80)."""
    if ruleset.must_play_release != "played" or position.lap < ruleset.laps:
        return position
    if position.level.letter not in ruleset.must_play:
        return position
    return replace(position, released=position.released | {position.level})


class _Climbed(NamedTuple):
    """Where a side stands after a deal, by how many levels it rose, and whether that won the game."""

    position: Position
    levels: int
    won: bool


def _climb(ruleset: Ruleset, position: Position, steps: int, *, as_dealer: bool) -> _Climbed:
    """
    Climb level by level, stopping on the first unreleased must-play level.

    Past A the next lap begins at the first level; must-play levels are those of the last lap (S0-40, Q87).
    A dealer side that won leaves its own level whatever it is, and so releases it; catchers that
    stand on an unreleased must-play level stay there (Q79, Q80). Past A lies the end of the game, 2 again, or the
    flag, which must be carried through a deal of one's own (Q88, Q118).
    """
    if position.flag:
        return _Climbed(position, 0, won=as_dealer)
    must_play = {Rank.parse(level) for level in ruleset.must_play}
    level, lap, released = position.level, position.lap, position.released
    if as_dealer and lap == ruleset.laps and level in must_play:
        released = released | {level}
    if not as_dealer and lap == ruleset.laps and level in must_play - released:
        return _Climbed(position, 0, won=False)
    levels = 0
    while levels < steps:
        if level < Rank.ACE:
            level = Rank(level + 1)
        elif ruleset.past_ace == "flag":
            return _Climbed(replace(position, level=level, released=released, flag=True), levels + 1, won=False)
        elif ruleset.past_ace == "wrap":
            level = Rank.TWO
        elif lap < ruleset.laps:
            level, lap = Rank.parse(ruleset.start_level), lap + 1
        else:
            return _Climbed(replace(position, level=level, lap=lap, released=released), levels, won=True)
        levels += 1
        if lap == ruleset.laps and level in must_play - released:
            break
    return _Climbed(replace(position, level=level, lap=lap, released=released), levels, won=False)


def _fallen_to(ruleset: Ruleset, level: Rank, score: int, table_score: int, play: Sequence[Card]) -> Rank | None:
    """Where a dealer side at *level* falls when the catchers dig with *play*, or None (Q82, Q83, Q120)."""
    if not play or ruleset.fall_back == "none":
        return None
    by_table = ruleset.fall_back == "table"
    if (table_score if by_table else score) < ruleset.stage:
        return None
    whole = len(set(play)) == 1 and len(play) <= 2
    if level == Rank.JACK and whole and play[0].rank == Rank.JACK and not play[0].is_joker:
        return Rank.TWO  # S0-60, S3-17
    if level != Rank.ACE:
        return None
    aces = Counter(card for card in play if card.rank == Rank.ACE and not card.is_joker)
    if not by_table:
        return Rank.JACK if whole and len(play) == 2 and aces else None  # S0-61
    if max(aces.values(), default=0) >= 2:
        return Rank.TWO  # S3-15: the play contains two identical aces
    return Rank.JACK if aces and len(play) == 1 else None  # S3-16: it is one ace


def _wins_heaven(order: Order, play: Sequence[Card], *, by_catchers: bool) -> bool:
    """Whether *play*, which won the last trick, goes "up to heaven" (S0-43, S0-44, S0-55, S0-65, Q68)."""
    ruleset = order.ruleset
    if not play or ruleset.heaven == "none" or (ruleset.heaven == "catchers" and not by_catchers):
        return False
    return contains_510k(order, play) and (len(play) == 3 or not ruleset.heaven_exact)


def _up_to_heaven(
    ruleset: Ruleset, dealer: Seat, score: int, positions: Mapping[Side, Position], winners: Side
) -> Settlement:
    """上天入地: the winner goes to the last A, the loser back to the start with nothing released (Q69, Q119)."""
    steps = level_steps(ruleset, score)
    by_dealer = winners == dealer.side
    after = {
        winners.other: Position(Rank.parse(ruleset.start_level)),
        winners: _at_last_ace(ruleset, positions[winners]),
    }
    climbed = _climb(ruleset, positions[winners], steps[0 if by_dealer else 1], as_dealer=by_dealer)
    ordinary = max(1, climbed.levels)
    up = _gained(ruleset, positions[winners], after[winners])
    return Settlement(
        score=score,
        stage=winners,
        steps=steps,
        gained=(up, 0) if by_dealer else (0, up),
        positions=after,
        next_dealer=_next_dealer(ruleset, dealer, winners),
        award=max(ruleset.heaven_award, ordinary),
        heaven=True,
    )


def _at_last_ace(ruleset: Ruleset, position: Position) -> Position:
    """*position* moved up to A of the last lap; nothing is higher but the flag, which is kept."""
    return replace(position, level=Rank.ACE, lap=ruleset.laps)


def _gained(ruleset: Ruleset, before: Position, after: Position) -> int:
    """Levels between two positions, over laps; the flag is one more."""
    in_a_lap = Rank.ACE - Rank.parse(ruleset.start_level) + 1
    return (after.lap - before.lap) * in_a_lap + after.level + after.flag - before.level - before.flag


def _next_dealer(ruleset: Ruleset, dealer: Seat, on_stage: Side) -> Seat | None:
    """
    The partner if the dealer side stays on stage, else the seat after the dealer (S2b-39, S2b-40).

    None where the placing of the next deal decides (S4-19, Q30).
    """
    if ruleset.dealer_seat == "placing":
        return None
    return dealer.partner if on_stage == dealer.side else dealer.next
