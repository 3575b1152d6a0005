"""Who wins a trick: cover, figure, ruff.

Rules: annex F9; S1-71 to S1-79, S1-88 to S1-96, S2b-25, S2b-32 to S2b-37; Q18, Q55 to Q57, Q60, Q61, Q107, Q117.
"""

from collections.abc import Sequence

from chaodipi.engine.cards import Card, Suit
from chaodipi.engine.multiset import doubles, faces, pack, triples
from chaodipi.engine.order import TRUMPS, Order
from chaodipi.engine.shapes import Shape, class_510k, decompose, longest_run, shape_of, take_510k

__all__ = ["winner_index"]


def winner_index(order: Order, plays: Sequence[Sequence[Card]], *, around_510k: bool = True) -> int:
    """
    Index of the winning play among 1…4 *plays* in playing order, the lead first.

    The lead must be of one class (or an allowed heart 510K): anything else is the caller's mistake
    (ValueError). A later play wins only if it is strictly higher; equal plays leave the first ahead.

    A thrown lead that holds a 510K of its class is taken to stand as a throw around it, unless
    *around_510k* is False (then it stood as an ordinary throw): that depends on hands which the
    table does not show (Q116).
    """
    if len(plays[0]) == 1:
        return _winner_of_singles(order, [play[0] for play in plays])
    lead = shape_of(order, plays[0])
    if lead is None:
        raise ValueError("the lead has cards of several classes")
    if lead.k510 == "double_510k" and lead.cls != TRUMPS and order.ruleset.double_510k_ruff == "pairs":
        return _winner_on_three_pairs(order, plays)
    if lead.k510 is not None:
        return _winner_on_510k(order, lead, plays, [])
    if lead.is_throw and around_510k:
        rest = take_510k(order, lead.cls, plays[0])
        if rest is not None:
            return _winner_on_510k(order, lead, plays, rest)
    best = 0
    best_figure = 0 if lead.is_throw else _figure(order, lead, lead.cls, plays[0])
    ruffed = False
    trumps, led = ~order.fields[TRUMPS], ~order.fields[lead.cls]
    for index, play in enumerate(plays[1:], 1):
        packed = pack(play)
        if not packed & led:
            # Within the led class only a single pattern can be beaten: a good throw stands (S1-79).
            if lead.is_throw or ruffed:
                continue
            cls = lead.cls
        elif packed & trumps or lead.cls == TRUMPS:
            continue
        else:
            cls = TRUMPS
        figure = _figure(order, lead, cls, play)
        ruff = cls != lead.cls
        if figure is not None and ((ruff and not ruffed) or best_figure is None or figure > best_figure):
            best, best_figure, ruffed = index, figure, ruff
    return best


def _winner_of_singles(order: Order, cards: Sequence[Card]) -> int:
    best, beaten_by = 0, order.beaten_by[cards[0]]
    for index, card in enumerate(cards):
        if pack((card,)) & beaten_by:
            best, beaten_by = index, order.beaten_by[card]
    return best


def _figure(order: Order, lead: Shape, cls: Suit, play: Sequence[Card]) -> int | None:
    """
    The one figure that *play* is compared by, or None if it does not cover the lead.

    It is the top of the highest kind that was led: triple tractor, tractor, triple, pair, single (Q56, Q117).
    """
    if not lead.runs and not lead.triple_count and not lead.pair_count:
        return max(map(order.strength, play))
    packed = pack(play)
    threes, twos = triples(packed), doubles(packed)
    if not _covers(order, cls, threes, twos, lead, lead.runs):
        return None
    if lead.runs:
        copies, length = lead.runs[0]
        if order.ruleset.ruff_longest_tractor:
            longest = longest_run(order, cls, twos)
            held = (run.size for run in order.runs(cls, longest) if twos & run.kinds == run.kinds)
            return 256 * longest + max(held)
        kinds = threes if copies == 3 else twos
        return max(
            run.size
            for run in order.runs(cls, length)
            if kinds & run.kinds == run.kinds
            and _covers(order, cls, threes & ~run.kinds, twos & ~run.kinds, lead, lead.runs[1:])
        )
    return max(map(order.strength, faces(threes if lead.triple_count else twos)))


def _covers(order: Order, cls: Suit, threes: int, twos: int, lead: Shape, runs: tuple[tuple[int, int], ...]) -> bool:
    """
    Whether *threes* and *twos* split into the tractors *runs*, and the triples and pairs of *lead* (Q55).

    A triple may stand for a pair, never the other way (Q117).
    """
    if not runs:
        triple_count = lead.triple_count
        return threes.bit_count() >= triple_count and twos.bit_count() >= triple_count + lead.pair_count
    copies, length = runs[0]
    kinds = threes if copies == 3 else twos
    return any(
        kinds & run.kinds == run.kinds and _covers(order, cls, threes & ~run.kinds, twos & ~run.kinds, lead, runs[1:])
        for run in order.runs(cls, length)
    )


def _winner_on_three_pairs(order: Order, plays: Sequence[Sequence[Card]]) -> int:
    """
    Where the side 55-1010-KK is ruffed like the three pairs that it is: by any three pairs of trumps (Q107).

    Ruffs compare their highest pair (Q56); the trump 55-1010-KK counts as its pairs. Nothing of the led suit beats it.
    """
    best, highest = 0, 0
    trumps = ~order.fields[TRUMPS]
    for index, play in enumerate(plays[1:], 1):
        packed = pack(play)
        twos = doubles(packed)
        if packed & trumps or twos.bit_count() < 3:
            continue
        top = max(map(order.strength, faces(twos)))
        if top > highest:
            best, highest = index, top
    return best


def _winner_on_510k(order: Order, lead: Shape, plays: Sequence[Sequence[Card]], rest: Sequence[Card]) -> int:
    """A 510K lead falls only to the trump 510K of a void player, the first of them (S1-96, Q61)."""
    wanted = class_510k(order, TRUMPS)
    if lead.cls == TRUMPS or wanted is None:
        return 0
    copies = 2 if lead.k510 == "double_510k" else 1
    parts = decompose(order, lead.cls, rest)
    covered = Shape(lead.cls, parts) if parts else None
    for index, play in enumerate(plays[1:], 1):
        if any(order.class_of(card) != TRUMPS for card in play) or any(play.count(card) < copies for card in wanted):
            continue
        packed = pack(play) - pack(wanted) * copies
        if covered is None or _covers(order, TRUMPS, triples(packed), doubles(packed), covered, covered.runs):
            return index
    return 0
