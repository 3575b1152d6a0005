"""Deals that nobody declares: what is turned up, and who is told."""

import pytest
from chaodipi.engine import Deal, Rank, Ruleset, Seat, parse_cards, preset_names, resolve, visible
from chaodipi.engine.cards import SEATS
from chaodipi.engine.events import WindowClosed

TURNING = [r for name in preset_names() if (r := resolve(name)).no_declare_later in ("turn", "turn_all")]
BOTTOM = parse_cards("C3 D9 bj S9 D3 D4 D6 D7")


@pytest.mark.clauses("S0-06", "S2a-20", "S4-33", "Q112")
@pytest.mark.parametrize("ruleset", TURNING, ids=lambda r: r.name)
@pytest.mark.parametrize(("level", "turned"), [(Rank.NINE, 2), (Rank.EIGHT, 3)])
def test_cards_up_to_the_deciding_one_are_turned_or_all_of_them(ruleset: Ruleset, level: Rank, turned: int):
    """The first level card or joker decides; everybody is told the cards turned for it, in baomahui all eight."""
    if ruleset.no_declare_later == "turn_all":
        turned = len(BOTTOM)
    elif level == Rank.EIGHT and ruleset.no_declare_first == "turn_for_dealer":
        turned = len(BOTTOM)  # jokers take no part there, and no level card lies in it (S4-34)
    hands = {Seat.S0: parse_cards("H6 H7")}
    deal = Deal.from_position(ruleset, hands, bottom=BOTTOM, dealer=Seat.S0, levels=(level, level))

    events = deal.close()

    for seat in SEATS:
        (closed,) = [seen for event in events if isinstance(seen := visible(event, seat), WindowClosed)]
        assert closed.turned == BOTTOM[:turned]
        assert closed.undeclared
