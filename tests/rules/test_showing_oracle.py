"""The engine against the second implementation of declaring and stirring, on random scripts.

A failure prints the seed; ``CHAODIPI_ORACLE_SEED`` and ``CHAODIPI_ORACLE_SCRIPTS`` repeat or extend a run.
"""

import os
import random
from collections import Counter

import pytest
from chaodipi.engine.judge import answer

from tests.rules.oracle import CARDS, SUITS
from tests.rules.showing_oracle import BACK, JOKERS, LADDERS, Deal

SEED = int(os.environ.get("CHAODIPI_ORACLE_SEED", "20240229"))
SCRIPTS = int(os.environ.get("CHAODIPI_ORACLE_SCRIPTS", "300"))


@pytest.mark.parametrize("preset", LADDERS)
def test_the_engine_shows_and_stirs_as_the_oracle(preset):
    """Every attempt accepted or refused alike, and the same trump, dealer, owner, seats asked, stake and bookings."""
    met = compare(preset, SEED, SCRIPTS)

    kinds = ["overcall", "stir", "refused", *([BACK] if BACK in LADDERS[preset] else [])]
    assert all(met[kind] > SCRIPTS // 60 for kind in kinds), met
    assert preset != "an_chao" or met["failed"] > SCRIPTS // 30, met


@pytest.mark.parametrize("name", ["higher", "may_look_back"])
def test_a_wrong_rule_is_noticed(name, monkeypatch):
    """If the oracle had no ladder, or anybody might look back, the scripts would show it."""
    monkeypatch.setattr(Deal, name, lambda self, *args: True)
    with pytest.raises(AssertionError, match="seed"):
        compare("ming_chao", SEED, SCRIPTS)


def compare(preset, seed, scripts):
    """Put *scripts* random scripts to both; how often each kind of thing happened in them."""
    rng = random.Random(f"{seed} {preset} showing")
    met: Counter[str] = Counter()
    for number in range(scripts):
        deal, question, expected = script(rng, preset)
        where = f"seed {seed}, {preset}, script {number}: {question}"
        got = answer(question)
        assert got["ok"], f"{where} -> {got}"
        result = got["result"]
        assert [each["accepted"] for each in result["results"]] == expected, f"{where} -> {result}"
        assert seen(result) == wanted(deal, result), f"{where} -> {result}"
        met["refused"] += expected.count(False)
        met["overcall"] += len(deal.shown) - deal.stirs > 1
        met["stir"] += deal.stirs
        met["failed"] += len(deal.failed)
        met[BACK] += sum(shown.rung == BACK for shown in deal.shown)
    return met


def seen(result):
    keys = ("dealer", "bottom_owner", "phase", "to_act", "asked", "stake", "trump", "score")
    standing = result["standing"]
    return (
        {key: result[key] for key in keys},
        standing and (standing["seat"], tuple(standing["cards"])),
        [(each["seat"], each["points"]) for each in result["adjustments"]],
    )


def wanted(deal, result):
    """What the oracle has; the trump of a deal that nobody declared is not its business."""
    standing = deal.standing
    values = {
        "dealer": deal.dealer, "bottom_owner": deal.owner, "phase": "play", "to_act": deal.dealer,
        "asked": deal.asked, "stake": deal.stake, "trump": standing.trump if standing else result["trump"],
        "score": sum(points for _, points in deal.booked),
    }  # fmt: skip
    return values, standing and (standing.seat, standing.cards), deal.booked


def script(rng, preset):
    """A deal that was driven to its first lead, the question that repeats it, and what of it was accepted."""
    first = rng.random() < 0.3
    level = "2" if first else rng.choice("258TA")
    packs, size = (3, 6) if preset == "huanle_3" else (2, 8)
    showable = [card for card in CARDS if card in JOKERS or card == "H5" or card[1] == level]
    plain = [card for card in CARDS if card not in showable] * packs
    rng.shuffle(plain)
    hands, bottom = deal_out(rng, showable, plain, packs, size)
    deal = Deal(preset, level, hands, bottom, None if first else rng.randrange(4))
    question = {
        "op": "play", "ruleset": preset, "levels": {"02": level, "13": level}, "dealer": deal.dealer,
        "first_deal": first, "hands": {str(seat): list(cards) for seat, cards in hands.items()}, "bottom": bottom,
    }  # fmt: skip
    actions, accepted = [], []
    for _ in range(rng.randrange(1 if first else 0, 9)):
        attempt(rng, deal, showable, actions, accepted)
    while first and not deal.shown:
        attempt(rng, deal, showable, actions, accepted)
    deal.close()
    actions.append(["close"])
    accepted.append(True)
    while deal.phase != "play":
        if deal.phase == "stir" and rng.random() < 0.5:
            attempt(rng, deal, showable, actions, accepted)
            continue
        if deal.phase == "stir":
            actions.append([deal.to_act, "pass"])
            deal.next()
        else:
            # Mostly what cannot be shown is buried, at times anything.
            held = list(deal.hands[deal.owner].elements())
            rng.shuffle(held)
            if rng.random() < 0.8:
                held.sort(key=showable.__contains__)
            actions.append([deal.owner, "bury", held[:size]])
            deal.bury(held[:size])
        accepted.append(True)
    return deal, question | {"actions": actions}, accepted


def deal_out(rng, showable, plain, packs, size):
    """Four hands and a bottom; the copies of a card that can be shown are often together."""
    hands = {seat: [plain.pop() for _ in range(4)] for seat in range(4)}
    bottom = []
    for card in showable:
        together = rng.randrange(4) if rng.random() < 0.6 else None
        for _ in range(packs):
            if together is None and len(bottom) < size and rng.random() < 0.1:
                bottom.append(card)
            else:
                hands[rng.randrange(4) if together is None else together].append(card)
    bottom += [plain.pop() for _ in range(size - len(bottom))]
    rng.shuffle(bottom)
    return hands, bottom


def attempt(rng, deal, showable, actions, accepted):
    """One seat tries to show something, by the rules or not."""
    stirring = deal.phase == "stir"
    seat = deal.to_act if stirring and rng.random() < 0.9 else rng.randrange(4)
    held = [card for card in showable if deal.hands[seat][card]]
    card = rng.choice(held if held and rng.random() < 0.95 else showable)
    first = deal.shown[0] if deal.shown else None
    count = max(1, deal.hands[seat][card]) if rng.random() < 0.5 else rng.randint(1, deal.copies)
    if first is None and rng.random() < 0.5:
        count = 1  # so that there is something to look back to
    back = False
    if first is not None and len(first.cards) == 1 and rng.random() < 0.3:
        card, count, back = first.cards[0], 2, rng.random() < 0.7
        seat = seat if stirring or rng.random() < 0.2 else first.seat
    leaves_open = card == "H5" and count == 2 and not back
    named = rng.choice([*SUITS, "NT"]) if rng.random() < (0.9 if leaves_open else 0.03) else None
    options = ({"named": named} if named else {}) | ({"looking_back": True} if back else {})
    actions.append([seat, "stir" if stirring else "declare", [card] * count, options])
    accepted.append(deal.show(seat, [card] * count, named, back))
