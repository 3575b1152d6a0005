"""Who wins a trick: cover, figure, ruff.

Rules: annex F9; S1-71 to S1-79, S1-88 to S1-96, S2b-25, S2b-32 to S2b-37; Q18, Q55 to Q57, Q60, Q61.
"""

from collections.abc import Sequence

from chaodipi.engine.cards import Card, Suit
from chaodipi.engine.order import TRUMPS, Order
from chaodipi.engine.shapes import Shape, class_510k, decompose, longest_run, runs_of, shape_of, take_510k

__all__ = ["winner_index"]

Figure = tuple[int, ...]


def winner_index(order: Order, plays: Sequence[Sequence[Card]], *, around_510k: bool = True) -> int:
    """
    Index of the winning play among 1…4 *plays* in playing order, the lead first.

    The lead must be of one class (or an allowed heart 510K): anything else is the caller's mistake
    (ValueError). A later play wins only if it is strictly higher; equal plays leave the first ahead.

    A thrown lead that holds a 510K of its class is taken to stand as a throw around it, unless
    *around_510k* is False (then it stood as an ordinary throw): that depends on hands which the
    table does not show (Q116).
    """
    lead = shape_of(order, plays[0])
    if lead is None:
        raise ValueError("the lead has cards of several classes")
    if lead.k510 is not None:
        return _winner_on_510k(order, lead, plays, [])
    if lead.is_throw and around_510k:
        rest = take_510k(order, lead.cls, plays[0])
        if rest is not None:
            return _winner_on_510k(order, lead, plays, rest)
    best = 0
    best_figure = () if lead.is_throw else _figure(order, lead, lead.cls, plays[0])
    ruffed = False
    for index, play in enumerate(plays[1:], 1):
        classes = {order.class_of(card) for card in play}
        if len(classes) != 1:
            continue
        cls = classes.pop()
        ruff = cls == TRUMPS and lead.cls != TRUMPS
        # Within the led class only a single pattern can be beaten: a good throw stands (S1-79).
        if not ruff and (cls != lead.cls or lead.is_throw or ruffed):
            continue
        figure = _figure(order, lead, cls, play)
        if figure is None:
            continue
        if (ruff and not ruffed) or best_figure is None or figure > best_figure:
            best, best_figure, ruffed = index, figure, ruff or ruffed
    return best


def _figure(order: Order, lead: Shape, cls: Suit, play: Sequence[Card]) -> Figure | None:
    """The one figure that *play* is compared by, or None if it does not cover the lead."""
    tractors = lead.tractors()
    pairs = order.pairs_of(play)
    if not _covers(order, cls, pairs, tractors, lead.pair_count()):
        return None
    if tractors:
        if order.ruleset.ruff_longest_tractor:
            length = longest_run(order, cls, pairs)
            return (length, max(size for size, _ in runs_of(order, cls, pairs, length)))
        return (_best_top(order, cls, pairs, tractors, lead.pair_count()),)
    if lead.pair_count():
        return (max(order.strength(card) for card in pairs),)
    return (max(order.strength(card) for card in play),)


def _covers(order: Order, cls: Suit, pairs: frozenset[Card], tractors: Sequence[int], count: int) -> bool:
    """Whether *pairs* split into disjoint tractors of the lengths *tractors* and *count* further pairs (Q55)."""
    if not tractors:
        return len(pairs) >= count
    return any(
        _covers(order, cls, pairs - set(run), tractors[1:], count) for _, run in runs_of(order, cls, pairs, tractors[0])
    )


def _best_top(order: Order, cls: Suit, pairs: frozenset[Card], tractors: Sequence[int], count: int) -> int:
    """Top of the best tractor of the longest led length that stands in a valid cover (Q56)."""
    return max(
        size
        for size, run in runs_of(order, cls, pairs, tractors[0])
        if _covers(order, cls, pairs - set(run), tractors[1:], count)
    )


def _winner_on_510k(order: Order, lead: Shape, plays: Sequence[Sequence[Card]], rest: Sequence[Card]) -> int:
    """A 510K lead falls only to the trump 510K of a void player, the first of them (S1-96, Q61)."""
    wanted = class_510k(order, TRUMPS)
    if lead.cls == TRUMPS or wanted is None:
        return 0
    copies = 2 if lead.k510 == "double_510k" else 1
    parts = decompose(order, lead.cls, rest)
    covered = Shape(lead.cls, parts) if parts else None
    for index, play in enumerate(plays[1:], 1):
        left = list(play)
        if any(order.class_of(card) != TRUMPS for card in play) or any(left.count(card) < copies for card in wanted):
            continue
        for card in wanted * copies:
            left.remove(card)
        if covered is None or _covers(order, TRUMPS, order.pairs_of(left), covered.tractors(), covered.pair_count()):
            return index
    return 0
