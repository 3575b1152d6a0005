"""Whole deals as text: whatever changes in a deal, its choices or its views shows as a change of a file.

After a change that is meant: ``make golden-deals``, and read the difference.
"""

from collections import Counter

import pytest
from chaodipi.engine import Rank, Suit, order_for, parse_cards, preset_names, resolve

from tests.support.deal_story import single_patterns
from tests.support.golden_deals import FOLDER, WANTED, deal_text, seed_of


def test_every_preset_that_is_played_has_its_deal_and_no_other_has() -> None:
    """A new preset gets its file by ``make golden-deals``."""
    assert sorted(file.name for file in FOLDER.iterdir()) == [f"{preset}.txt" for preset in preset_names()]


@pytest.mark.parametrize("preset", preset_names())
def test_the_deal_goes_as_it_is_written(preset: str) -> None:
    """Byte for byte: events, choices, views, points."""
    written = (FOLDER / f"{preset}.txt").read_bytes()

    assert deal_text(preset, seed_of(written.decode())).encode() == written


@pytest.mark.parametrize("preset", preset_names())
def test_the_deal_is_worth_reading(preset: str) -> None:
    """What the preset knows of overcalls, stirs, failed throws, ruffs and digs is in it."""
    ruleset = resolve(preset)
    unknown = {"stir"} if ruleset.stir == "none" else set()
    if ruleset.overcall not in ("ladder", "four_modes"):
        unknown |= {"overcall"}
    happens = (FOLDER / f"{preset}.txt").read_text("utf-8").splitlines()[2].removeprefix("# Here: ").rstrip(".")

    assert WANTED - unknown - set(happens.split(", ")) == set()


def test_patterns_that_are_counted_are_those_of_the_hand() -> None:
    """The choices of a lead are counted here and not by the rules: a hand counted by eye."""
    order = order_for(resolve("ming_chao"), Rank.EIGHT, Suit.SPADES)
    hand = parse_cards("H2 H2 H3 H3 H4 H4 HK HT H5 H5 C5 CT CK S8 S8 D8")

    found = Counter(kind for kind, _ in single_patterns(order, hand))

    # Tractors: 2233, 3344, 223344. 510K: of clubs, and of hearts with a heart five.
    assert found == {"single": 11, "pair": 5, "tractor": 3, "510k": 2}
