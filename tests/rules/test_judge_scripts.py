"""Scripts of the judge's ``play`` over positions of all kinds: each is answered, and each refusal is explained."""

import random
from typing import Any

import pytest
from chaodipi.engine import preset_names, resolve
from chaodipi.engine.cards import deck
from chaodipi.engine.judge import answer

LEVELS = "23456789TJQKA"
KINDS = ("declaration", "overcall", "stir", "self_protect", "self_overcall")
SCRIPTS = 250
"""Positions of each preset; five times as many actions."""


def _position(rng: random.Random, preset: str) -> dict[str, Any]:
    """Small hands with many cards that can be shown, in any phase, with or without a standing showing."""
    rules, level = resolve(preset), rng.choice(LEVELS)
    cards = [card.text for card in deck(rules.decks)]
    shown = [card for card in cards if card in ("rj", "bj", "H5") or card[1] == level]
    cards = [*shown, *rng.sample([card for card in cards if card not in shown], 26)]
    rng.shuffle(cards)
    hands = {}
    for seat in rng.sample("0123", rng.choice((3, 4))):
        hands[seat], cards = cards[: rng.randint(2, 8)], cards[8:]
    phase = rng.choice(("declare", "bury", "stir", "play"))
    dealer = rng.choice((0, 1, 2, 3, None)) if phase == "declare" else rng.randrange(4)
    trump, single = rng.choice(("C", "D", "H", "S", "NT")), rng.choice("CDHS") + level
    start: dict[str, Any] = {"phase": phase}
    if rng.random() < 0.5:
        start["standing"] = {"seat": rng.randrange(4), "cards": single, "kind": rng.choice(KINDS)}
    elif rng.random() < 0.8 and phase != "declare":
        start["trump"] = trump
    if rng.random() < 0.3 and phase != "declare":
        start["bottom_owner"] = rng.randrange(4)
    return {
        "op": "play", "ruleset": preset, "levels": {"02": level, "13": level}, "dealer": dealer, "on_stage": "02",
        "first_deal": rng.random() < 0.3, "mode": rng.choice(("prevent", "penalise")), "hands": hands,
        "bottom": [] if phase == "bury" else cards[: rules.bottom], "from": start,
    }  # fmt: skip


def _action(rng: random.Random, question: dict[str, Any]) -> list[Any]:
    seat, kind = rng.randrange(4), rng.choice(("declare", "stir", "bury", "play", "pass", "timeout", "close"))
    hand = question["hands"].get(str(seat), ["C3"])
    if kind == "close":
        return [kind]
    if kind in ("pass", "timeout"):
        return [seat, kind]
    if kind == "bury":
        return [seat, kind, (hand + question["bottom"])[: rng.choice((5, 6, 7, 8, 9))]]
    card = rng.choice(hand)
    cards = [card] * rng.randint(1, hand.count(card) or 1)
    named = rng.choice(({}, {}, {"named": "NT"}, {"looking_back": True})) if kind in ("declare", "stir") else {}
    return [seat, kind, cards, named]


@pytest.mark.parametrize("preset", preset_names())
def test_every_script_is_answered_and_every_refusal_explained(preset: str) -> None:
    """No traceback; a refusal names a reason and clauses; and whoever is to act has a default that is accepted."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(SCRIPTS):
        question = _position(rng, preset)
        actions: list[Any] = []
        for _ in range(5):
            tried = [*actions, _action(rng, question)]
            got = answer(question | {"actions": tried})
            if not got["ok"]:
                assert got["error"]["field"], (question, tried, got)
                continue
            actions, last = tried, got["result"]["results"][-1]
            assert last["accepted"] or (last["reason"] and last["clauses"]), (question, tried, last)
        end = answer(question | {"actions": actions})
        if end["ok"] and end["result"]["to_act"] is not None:
            tried = [*actions, [end["result"]["to_act"], "timeout"]]
            got = answer(question | {"actions": tried})
            if got["ok"]:  # of a hand that is given in part there may be too few cards
                last = got["result"]["results"][-1]
                assert last["accepted"] or last["reason"] == "BURY_COUNT", (question, tried, last)
