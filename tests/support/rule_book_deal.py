"""The ``deal`` blocks of the rule books: scripts of one deal, in words that a person reads."""

import re
from collections import Counter
from typing import Any

from chaodipi.engine.ruleset import preset_names, resolve

from tests.support import rule_book_zh as zh
from tests.support.golden import Line

_CARDS = re.compile(r"(?:[CDHS][2-9TJQKA]|bj|rj)(?: (?:[CDHS][2-9TJQKA]|bj|rj))*")
_VERBS = {"shows": "declare", "stirs": "stir", "buries": "bury", "passes": "pass", "plays": "play"}
_BOTTOM = "C3 C3 D3 D3 C4 C4 D4 D4"
_BOTTOM_OF_ONE_PACK = "C3 D3 C4 D4 H3 H4"
_NAMES = {"owner": "bottom_owner", "next": "to_act"}


def read_deal(lines: list[str], at: int) -> Line:
    """
    A ``deal`` block as a question to op ``play`` and the end that it must have.

    The first line names preset, level, dealer and the like. What a seat shows and plays is in its hand, beside what a
    ``hand`` line gives; ``buries`` without cards buries the bottom as it was; ``=>`` lists what holds at the end.

    Args:
        lines: The block without its fences.
        at: The number of its first line in the book, for the id.
    """
    head = [part.strip() for part in zh.english(lines[0], zh.SCRIPT).split(",")]
    ask: dict[str, Any] = {"op": "play", "ruleset": head[0], "dealer": None}
    for part in head[1:]:
        _heading(ask, part)
    bottom, bottom_given = _bottom(head[0]), False
    shown: dict[str, Counter[str]] = {}
    plays: dict[str, set[str]] = {}
    given: dict[str, Counter[str]] = {}
    actions: list[list[Any]] = []
    results: list[dict[str, Any]] = []
    expect: dict[str, Any] = {}
    for text in (zh.english(line, zh.SCRIPT) for line in lines[1:]):
        order, _, remark = text.partition("  ")
        if order.startswith("=>"):
            expect |= dict(_end(part.strip()) for part in text[2:].split(","))
        elif order.startswith("hand "):
            seat, _, cards = order.removeprefix("hand ").partition(": ")
            given[seat] = Counter(cards.split())
        elif order.startswith("bottom "):
            bottom, bottom_given = order.removeprefix("bottom "), True
        elif order.startswith("start: "):
            ask["from"] = dict(_start(part) for part in order.removeprefix("start: ").split(", "))
        elif order == "window closes":
            actions.append(["close"])
            results.append({"accepted": True})
        elif found := re.fullmatch(r"([0-3]) times out, (?:buries|plays) (.+)", order):
            actions.append([int(found[1]), "timeout"])
            results.append({"accepted": True, "played": found[2].split()})
        else:
            action = _action(order, bottom)
            seat = str(action[0])
            actions.append(action)
            results.append(_verdict(remark.strip()))
            if action[1] == "play":
                plays.setdefault(seat, set()).add(action[2])
            elif action[1] in ("declare", "stir"):
                shown[seat] = shown.get(seat, Counter()) | Counter(action[2].split())
    for seat, played_cards in plays.items():
        shown[seat] = shown.get(seat, Counter()) | Counter(" ".join(played_cards).split())
    hands = {seat: shown.get(seat, Counter()) | given.get(seat, Counter()) for seat in {*shown, *given}}
    ask |= {"hands": {seat: sorted(hand.elements()) for seat, hand in sorted(hands.items())}}
    ask |= {"actions": actions} | ({"bottom": bottom} if bottom_given or "from" not in ask else {})
    expect |= {"results": results}
    return {"id": str(at), "preset": head[0], "clauses": [], "ask": ask, "expect": expect}


def _verdict(remark: str) -> dict[str, Any]:
    """What a remark behind an action says: a refusal names its reason in brackets, so that the why can be checked."""
    if not remark.startswith("refused"):
        return {"accepted": True}
    reason = re.search(r"[(（]([A-Z_]+)[)）]$", remark)
    assert reason, f"a refusal without its reason: {remark}"
    return {"accepted": False, "reason": reason[1]}


def _bottom(preset: str) -> str:
    if preset not in preset_names():
        return _BOTTOM
    ruleset = resolve(preset)
    cards = (_BOTTOM_OF_ONE_PACK if ruleset.decks == 1 else _BOTTOM).split()
    return " ".join(cards[: ruleset.bottom])


def _heading(ask: dict[str, Any], part: str) -> None:
    word, value = part.rsplit(" ", 1)
    match word:
        case "level":
            ask["levels"] = {"02": value, "13": value}
        case "dealer":
            ask["dealer"] = None if value == "open" else int(value)
        case "on stage":
            ask["on_stage"] = value
        case "mode":
            ask["mode"] = value
        case "first":
            assert value == "deal", part
            ask["first_deal"] = True
        case _:
            raise AssertionError(part)


def _action(order: str, bottom: str) -> list[Any]:
    found = re.fullmatch(r"([0-3]) (\w+) ?(.*)", order.strip())
    assert found and found[2] in _VERBS, order
    kind, rest = _VERBS[found[2]], found[3]
    if kind == "pass":
        return [int(found[1]), kind]
    if kind == "bury":
        return [int(found[1]), kind, rest or bottom]
    cards = _CARDS.match(rest)
    assert cards, order
    extra = rest[cards.end() :].strip()
    options: dict[str, Any] = {}
    if extra == "looking back":
        options = {"looking_back": True}
    elif extra:
        options = {"named": extra.removeprefix("naming ")}
    return [int(found[1]), kind, cards[0], *([options] if options else [])]


def _start(part: str) -> tuple[str, Any]:
    word, _, value = part.rpartition(" ")
    if not word:
        return "phase", value
    return word.replace(" ", "_"), value if word == "trump" else int(value)


def _end(part: str) -> tuple[str, Any]:
    word, _, value = part.partition(" ")
    name = _NAMES.get(word, word)
    if word == "redeal":
        return name, True
    if word in ("asked", "order"):
        return name, [int(seat) for seat in value.split()]
    if word in ("returned", "table"):
        seat, _, cards = value.partition(" ")
        return name, [[int(seat), cards.split()]]
    return name, int(value) if value.lstrip("-").isdigit() and word != "trump" else value
