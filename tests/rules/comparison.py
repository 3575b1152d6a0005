"""Random positions put to the engine and to the second implementation of ``oracle.py``; they must agree.

Each ``compare_`` function raises an AssertionError at the first difference, with the seed and the cards, and
returns how many positions of each kind it has compared.
"""

import math
import random
from collections import Counter

from chaodipi.engine import preset_names
from chaodipi.engine.judge import answer

from tests.rules.oracle import CARDS, SUITS, Table, alike_of, cards_of, subsets

MOST = 2000
"""Follows that are listed at most; bigger hands lose cards."""

OPTIONS = {"huanle_2": ["", "+2"], "kang_qi": ["", "+flag"]}
TABLES = [name + option for name in preset_names() for option in OPTIONS.get(name, [""])]
"""Presets as they are compared: with permanent 2s and as a flag deal too."""


def ask(table_fields, **question):
    question = {**table_fields, **question}
    got = answer(question)
    assert got["ok"], f"{question} -> {got}"
    return got["result"]


def sorted_cards(value):
    return sorted(value.split() if isinstance(value, str) else value)


def positions(preset, part, seed, count):
    """Random levels and trumps, with a pool of few kinds of card, so that pairs and tractors are common."""
    rng = random.Random(f"{seed} {preset} {part}")
    base, _, option = preset.partition("+")
    two, flag = option == "2", option == "flag"
    for number in range(count):
        level, trump = rng.choice("23456789TJQKA"), rng.choice([*SUITS, "NT"])
        if flag:
            level, trump = None, "NT"
        table = Table(base, level, trump, two)
        ruleset = {"base": base, "overrides": {"two_permanent": True}} if two else base
        fields = {"ruleset": ruleset, "trump": trump} | ({"flag": True} if flag else {"level": level})
        yield rng, table, fields, f"seed {seed}, {preset}, {part} {number}: level {level}, trump {trump}"


def pool_of(rng, table, cls):
    """All copies of the cards of some neighbouring strengths of a class, and of its special cards."""
    kinds = sorted((c for c in CARDS if table.card_class(c) == cls), key=lambda c: (table.strength(c), c))
    size = rng.randint(4, 8)
    start = rng.randint(0, max(0, len(kinds) - size))
    kinds = kinds[start : start + size]
    if table.rooms and rng.random() < 0.4:  # 510K
        suit = table.trump if cls == "T" else cls
        kinds += [suit + f for f in "5TK" if suit in SUITS and table.card_class(suit + f) == cls]
    return sorted(set(kinds)) * table.packs


def draw(rng, pool, n):
    """n cards out of the pool, which loses them; pairs go together more often than not."""
    got = []
    while len(got) < n and pool:
        card = rng.choice(pool)
        pool.remove(card)
        got.append(card)
        while len(got) < n and card in pool and rng.random() < 0.6:
            pool.remove(card)
            got.append(card)
    return got


def some_class(rng, table):
    classes = sorted({table.card_class(c) for c in CARDS})
    return "T" if rng.random() < 0.4 else rng.choice(classes)


def some_lead(rng, table, pool, cls):
    """A lead of one class out of the pool: a tractor, pair, single, 510K or any throw."""
    if table.rooms and rng.random() < 0.15:
        suit = table.trump if cls == "T" else cls
        for copies in rng.sample([1, 2], 2):
            lead = [suit + f for f in "5TK"] * copies
            found = table.pattern_510k(lead) if suit in SUITS else None
            if found and found[1] == cls:
                for card in lead:
                    if card in pool:
                        pool.remove(card)
                return lead
    copies = 3 if table.packs == 3 and rng.random() < 0.4 else 2
    chains = table.chains(pool, copies)
    if chains and rng.random() < 0.5:
        length = rng.choice(sorted({len(c) for c in chains if copies * len(c) < 9}))
        lead = cards_of((copies, rng.choice([c for c in chains if len(c) == length])))
        for card in lead:
            pool.remove(card)
        if rng.random() < 0.4:
            lead += draw(rng, pool, rng.randint(1, 2) if len(lead) > 4 else rng.randint(1, 4))
        return lead
    return draw(rng, pool, rng.choice([1, 2, 2, 3, 4, 5]))


def hides_510k(table, lead):
    """A throw around a 510K: its components depend on the other hands, so only ``lead`` can judge it."""
    return table.rooms and not table.pattern_510k(lead) and any(set(lead) >= {s + f for f in "5TK"} for s in SUITS)


def compare_follow(preset, seed, count):
    """Legal follows: listed, counted, forced and checked one by one; how many positions of each kind."""
    compared = Counter()
    for rng, table, fields, where in positions(preset, "follow", seed, count):
        cls = some_class(rng, table)
        pool = pool_of(rng, table, cls)
        lead = some_lead(rng, table, pool, cls)
        if not lead or hides_510k(table, lead):
            continue
        hand = draw(rng, pool, rng.randint(0, len(lead) + 6))
        if len(hand) <= len(lead):
            other = [c for c in CARDS if table.card_class(c) != cls] * table.packs
            for card in lead:  # a heart five in a side 510K
                if card in other:
                    other.remove(card)
            hand += draw(rng, other, len(lead) + 2 - len(hand))
        while math.comb(len(hand), len(lead)) > MOST:
            hand.pop()
        legal = table.follows(hand, lead)
        where = f"{where}: lead {' '.join(lead)}, hand {' '.join(hand)}"
        got = ask(fields, op="follows", hand=hand, lead=lead, limit=MOST)
        plays = {tuple(sorted_cards(p)) for p in got["plays"]}
        assert plays == legal, f"{where}\nonly engine: {plays - legal}\nonly oracle: {legal - plays}"
        assert got["count"] == len(legal), where
        forced = Counter(min(legal))
        for play in legal:
            forced &= Counter(play)
        assert sorted_cards(got["forced"]) == sorted(forced.elements()), where
        choices = sorted(subsets(hand, len(lead)))
        for cards in rng.sample(choices, min(5, len(choices))):
            got = ask(fields, op="follow", hand=hand, lead=lead, cards=list(cards))
            assert got["legal"] is (cards in legal), f"{where}, plays {' '.join(cards)}: {got}"
        compared["free" if len(legal) > 1 else "forced"] += 1
    return compared


def compare_lead(preset, seed, count):
    """Leads: what stands, what fails, what is beaten and what it costs; how many positions of each kind."""
    compared = Counter()
    for rng, table, fields, where in positions(preset, "lead", seed, count):
        cls = some_class(rng, table)
        pool = pool_of(rng, table, cls)
        cards = some_lead(rng, table, pool, cls)
        if table.rooms and rng.random() < 0.2 and cls != "T" and table.pattern_510k([cls + f for f in "5TK"]):
            extra = [c for c in (cls + f for f in "5TK") if c != "H5" and cards.count(c) == 0]
            cards += extra
            for card in extra:
                if card in pool:
                    pool.remove(card)
        if not cards:
            continue
        others = [draw(rng, pool, rng.randint(0, 5)) for _ in range(3)]
        side = rng.choice(["dealer", "catchers"])
        expected = table.lead(cards, others, side)
        got = ask(fields, op="lead", hand=cards, cards=cards, others=others, leader_side=side)
        have = {k: got.get(k) for k in expected}
        if got["legal"]:
            have["played"] = sorted_cards(have["played"])
            have["beaten"] = sorted(sorted_cards(b) for b in have["beaten"])
        assert have == expected, f"{where}: {' '.join(cards)} against {others} ({side})"
        compared["failed" if expected["failed"] else "throw" if expected["throw"] else "pattern"] += 1
    return compared


def compare_trick(preset, seed, count):
    """Tricks: who wins, and how many points; how many positions of each kind."""
    winners = Counter()
    for rng, table, fields, where in positions(preset, "trick", seed, count):
        cls = some_class(rng, table)
        pool = pool_of(rng, table, cls)
        lead = some_lead(rng, table, pool, cls)
        if not lead or hides_510k(table, lead):
            continue
        n = len(lead)
        trumps = pool if cls == "T" else pool_of(rng, table, "T")
        rest = [c for c in CARDS if table.card_class(c) not in {cls, "T"}] * table.packs
        for card in lead:  # a heart five in a side 510K
            if cls != "T" and card in trumps:
                trumps.remove(card)
        plays = [lead]
        for _ in range(3):
            kind = rng.choice(["class", "ruff", "ruff", "mixed"])
            if kind == "class" or cls == "T":
                play = same_shape(rng, table, pool, lead) or draw(rng, pool, n)
            elif kind == "ruff":
                play = same_shape(rng, table, trumps, lead) or draw(rng, trumps, n)
            else:
                play = draw(rng, pool, rng.randint(0, n))
            play += draw(rng, rest, n - len(play))
            plays.append(play)
        leader = rng.randint(0, 3)
        place = table.winner(plays)
        got = ask(fields, op="trick", plays=plays, leader=leader)
        where = f"{where}: {' / '.join(' '.join(p) for p in plays)}, leader {leader}"
        assert got["winner"] == (leader + place) % 4, f"{where}: oracle says play {place}, engine {got}"
        points = {"5": 5, "T": 10, "K": 10}
        assert got["points"] == sum(points.get(c[1], 0) for p in plays for c in p), where
        winners["lead" if place == 0 else "other"] += 1
    return winners


def same_shape(rng, table, pool, lead):
    """Cards of the pool that could cover the lead, or nothing."""
    if rng.random() < 0.2:
        return []
    before = list(pool)
    if table.pattern_510k(lead) and table.trump in SUITS:
        play = [table.trump + f for f in "5TK"] * (len(lead) // 3)
        if not Counter(play) - Counter(pool):
            for card in play:
                pool.remove(card)
            return play
    play, singles = [], 0
    for copies, chain in sorted(table.split(lead), key=lambda p: (-len(p[1]), -p[0])):
        if copies == 1:
            singles += 1
            continue
        choices = [c for c in table.chains(pool, copies) if len(c) == len(chain)]
        if len(chain) == 1:
            choices = [(card,) for card in alike_of(pool, copies)]
        if not choices:
            pool[:] = before
            return []
        for card in cards_of((copies, rng.choice(choices))):
            play.append(card)
            pool.remove(card)
    if len(pool) < singles:
        pool[:] = before
        return []
    return play + draw(rng, pool, singles)


COMPARE = {"follow": compare_follow, "lead": compare_lead, "trick": compare_trick}
