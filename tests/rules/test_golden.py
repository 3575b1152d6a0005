"""The golden positions: every line of ``golden/`` has exactly one right answer.

A line has ``id``, ``clauses``, ``preset``, ``ask`` (a question to the judge) and ``expect``, the part of
the result that must match. Cards are compared as multisets; where a list is nested by strength, the
order of the inner lists counts as well. ``one_tractor`` is worked out here from ``components``.
"""

import json
import re
from collections import Counter

import pytest
from chaodipi.engine.ruleset import preset_names, resolve

from tests.support.golden import golden_lines

LINES = golden_lines()
CARD = re.compile(r"[CDHS][23456789TJQKA]|bj|rj")


def _names():
    seen = Counter()
    for line in LINES:
        seen[line["id"]] += 1
        yield f"{line['id']}/{seen[line['id']]}"


NAMES = list(_names())
BY_STRENGTH = {"order", "classes", "trumps"}


def is_cards(value):
    return isinstance(value, list) and bool(value) and all(isinstance(x, str) and CARD.fullmatch(x) for x in value)


def tokens(value):
    """Cards in either form, text or list, flattened."""
    if isinstance(value, str):
        return value.split()
    if isinstance(value, list):
        return [card for part in value for card in tokens(part)]
    return [value]


def differences(expected, got, path="", key=""):
    """The places at which ``got`` does not have what is expected; empty if all of it is there."""
    if isinstance(expected, dict):
        if not isinstance(got, dict):
            return [f"{path}: expected an object, got {got!r}"]
        found = []
        for name, value in expected.items():
            if name not in got:
                found.append(f"{path}.{name}: missing")
            else:
                inner = key if key in BY_STRENGTH else name
                found += differences(value, got[name], f"{path}.{name}", inner)
        return found
    if is_cards(expected):
        if Counter(expected) != Counter(tokens(got)):
            return [f"{path}: expected {' '.join(expected)}, got {got!r}"]
        return []
    if isinstance(expected, list):
        if not isinstance(got, list) or len(expected) != len(got):
            return [f"{path}: expected {expected!r}, got {got!r}"]
        if all(is_cards(x) for x in expected) and key not in BY_STRENGTH:
            if sorted(sorted(x) for x in expected) != sorted(sorted(tokens(x)) for x in got):
                return [f"{path}: expected {expected!r}, got {got!r}"]
            return []
        return [
            d
            for i, (e, g) in enumerate(zip(expected, got, strict=True))
            for d in differences(e, g, f"{path}[{i}]", key)
        ]
    if expected != got or isinstance(expected, bool) != isinstance(got, bool):
        return [f"{path}: expected {expected!r}, got {got!r}"]
    return []


def is_one_tractor(result):
    components = result.get("components") or []
    return result.get("legal", True) and len(components) == 1 and components[0]["kind"] == "tractor"


@pytest.mark.parametrize("line", LINES, ids=NAMES)
def test_position(line):
    from chaodipi.engine.judge import answer

    got = answer(dict(line["ask"]))
    expected = dict(line["expect"])
    one_tractor = expected.pop("one_tractor", None)
    if not got.get("ok"):
        found = ["not ok"]
    else:
        found = differences(expected, got["result"])
        if one_tractor is not None and is_one_tractor(got["result"]) is not one_tractor:
            found.append(f"one tractor: expected {one_tractor}")
    if found:
        ask, want, have = (json.dumps(x, ensure_ascii=False) for x in (line["ask"], line["expect"], got))
        pytest.fail(
            f"{line['id']} ({', '.join(line['clauses'])})\nquestion: {ask}\nexpected: {want}\ngot:      {have}\n"
            + "\n".join(found),
            pytrace=False,
        )


def test_lines_are_unique():
    assert len(set(NAMES)) == len(NAMES)
    questions = [json.dumps([x["id"], x["ask"]], sort_keys=True) for x in LINES]
    assert len(set(questions)) == len(questions)


@pytest.mark.parametrize("line", LINES, ids=NAMES)
def test_line_is_well_formed(line):
    assert re.fullmatch(r"G-[A-Z]{2}-\d\d", line["id"])
    assert line["clauses"]
    assert all(re.match(r"S\d[a-d]?-|Q\d", x) for x in line["clauses"])
    assert line["preset"] in preset_names()
    assert line["ask"]["op"]
    assert line["expect"]
    assert json.dumps(line["ask"]["ruleset"]).count(line["preset"]) == 1
    decks = resolve(line["preset"]).decks
    for cards in _card_fields(line["ask"]):
        assert all(CARD.fullmatch(x) for x in cards), cards
        assert all(n <= decks for n in Counter(cards).values()), cards
    # no position uses more copies of a card than the decks hold
    ask = line["ask"]
    if ask["op"] == "trick":
        _within_decks(decks, tokens(ask["plays"]))
    elif ask["op"] == "lead":
        _within_decks(decks, tokens(ask["hand"]) + tokens(ask["others"]))
    elif ask["op"] == "play":
        _within_decks(decks, tokens(list(ask["hands"].values())) + tokens(ask.get("bottom", "")))


def _within_decks(decks, cards):
    assert max(Counter(cards).values()) <= decks


def _card_fields(ask):
    for field in ("cards", "hand", "lead", "play", "bottom", "last_play"):
        if field in ask:
            yield tokens(ask[field])
    for field in ("plays", "others"):
        for cards in ask.get(field, ()):
            yield tokens(cards)
    for cards in ask.get("hands", {}).values():
        yield tokens(cards)
    for action in ask.get("actions", ()):
        if len(action) > 2:
            yield tokens(action[2])
