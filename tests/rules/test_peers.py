"""Positions on which three other engines agree, see ``peers/README.md``; all lines that fail are named."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaodipi.engine import Card, Follows, Order, Rank, Ruleset, Suit, order_for, parse_cards, preset_names, resolve
from chaodipi.engine import winner_index as winner_of

FOLDER = Path(__file__).with_name("peers")
ALIKE = [name for name in preset_names() if (r := resolve(name)).adjacency == "order" and r.decks == 2]
PRESETS = pytest.mark.parametrize("ruleset", [resolve(name) for name in ALIKE], ids=ALIKE)


def _lines(file: str, ruleset: Ruleset) -> Iterator[tuple[str, Order, list[str]]]:
    """Where the line stands, its order of cards, and its other fields."""
    for number, text in enumerate((FOLDER / file).read_text("utf-8").splitlines(), 1):
        level, trump, *fields = text.split("\t")
        if level == "2" or not ruleset.two_permanent:
            order = order_for(ruleset, Rank.parse(level), Suit.parse(trump))
            yield f"{file}:{number} level {level} trump {trump}: {' on '.join(fields[:2])}", order, fields


def _sets(text: str, order: Order) -> list[tuple[Card, ...]]:
    return [order.sort(parse_cards(cards)) for cards in text.split(" / ") if cards]


def _follow_differences(ruleset: Ruleset) -> list[str]:
    """Every line whose legal follows are listed, counted or checked otherwise here."""
    wrong = []
    for where, order, (lead, hand, legal, illegal) in _lines("follows.tsv", ruleset):
        follows = Follows(order, parse_cards(hand), parse_cards(lead))
        good, bad = _sets(legal, order), _sets(illegal, order)
        if Counter(follows) != Counter(good) or follows.count() != len(good):
            wrong.append(f"{where}: the others list {legal}")
        wrong += [f"{where}: {cards} refused" for cards in good if cards not in follows]
        wrong += [f"{where}: {cards} accepted" for cards in bad if cards in follows]
    return wrong


def _winner_differences(ruleset: Ruleset) -> list[str]:
    """Every trick that another play wins here."""
    wrong = []
    for where, order, (plays, winner) in _lines("winners.tsv", ruleset):
        got = winner_of(order, [parse_cards(cards) for cards in plays.split(" / ")])
        if got != int(winner):
            wrong.append(f"{where}: place {got} wins here")
    return wrong


@PRESETS
def test_the_legal_follows_are_those_of_the_others(ruleset: Ruleset):
    """Exactly the legal sets and none of the illegal ones, whether listed, counted or checked."""
    wrong = _follow_differences(ruleset)

    assert not wrong, "\n".join(wrong)


@PRESETS
def test_the_winners_are_those_of_the_others(ruleset: Ruleset):
    """One winner a trick, the same."""
    wrong = _winner_differences(ruleset)

    assert not wrong, "\n".join(wrong)


def test_other_rules_would_be_noticed():
    """The lines do tell rulesets apart: neighbours by face, or 2s that are always trumps, fail many of them."""
    by_face = resolve("huanle_2", {"adjacency": "face", "level_gap": "none"})

    assert len(_follow_differences(by_face)) > 20
    assert len(_winner_differences(by_face)) > 2
    assert sum(1 for _ in _lines("follows.tsv", resolve("huanle_2", {"two_permanent": True}))) == 53
