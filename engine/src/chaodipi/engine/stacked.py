"""What a stacked position leaves to be concluded: one is given in mid-deal, without the deal that led to it."""

from chaodipi.engine.cards import Suit
from chaodipi.engine.events import Phase, Positioned, ShowKind
from chaodipi.engine.ruleset import Ruleset

__all__ = ["before_first_trick", "undeclared"]


def undeclared(rules: Ruleset, position: Positioned, *, first_deal: bool) -> bool:
    """
    Whether *position* is that of a deal which nobody declared.

    It is if it tells of no showing; but a trump suit tells of one where undeclared deals have none, unless
    somebody has stirred since, who is not told either.
    """
    if position.standing is not None:
        return False
    rule = rules.no_declare_first if first_deal else rules.no_declare_later
    suit_without = rule not in ("redeal", "no_trump")
    stirred = position.bottom_owner not in (None, position.dealer)
    return position.trump in (None, Suit.NO_TRUMP) or suit_without or stirred


def before_first_trick(position: Positioned) -> bool:
    """
    Whether the next trick of *position* is the first of its deal, as far as the position says so.

    A position in STIR after a stir stands, where seats stir in the first trick, for a trick whose lead is not
    told: the others are asked in the order of their turns, and the trick is left out.
    """
    if position.phase == Phase.STIR:
        return position.standing is None or position.standing[2] is not ShowKind.STIR
    if position.phase == Phase.LEAD:
        told = position.standing is not None or position.tricks_left is None
        return told and position.score == 0 and position.leader in (None, position.dealer)
    return True
