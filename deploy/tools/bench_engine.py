"""Measure the engine: whole tricks beside OpenSpiel's bridge, and its worst hands: ``make bench-engine``.

A *whole trick* is the check of a lead against three hands, of three follows, and the winner: four decisions. The
thousand tricks of a run are of deals with two packs, their leads mixed as in real play: 505 singles, 374 pairs, 37
tractors, 84 throws. Machines differ, so the speed is told as a ratio to random play of OpenSpiel's C++ bridge from
Python, measured in the same minute, all in processor time: runs alternate, and medians count. OpenSpiel is
installed into ``.cache/bench``, and nothing else knows of it.

The worst hands are throws of twenty cards against hands full of pairs and triples. Each question about them is
asked anew, with nothing remembered.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from chaodipi.engine.cards import SUITS, Card, Rank, Suit, deck
from chaodipi.engine.errors import RuleError
from chaodipi.engine.follow import Follows, check_follow, default_follow, legal_follows
from chaodipi.engine.lead import check_lead
from chaodipi.engine.order import TRUMPS, Order, order_for
from chaodipi.engine.ruleset import resolve
from chaodipi.engine.shapes import _shape, decompose, shape_of
from chaodipi.engine.trick import winner_index

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".cache" / "bench"
OPEN_SPIEL = "open_spiel==2.0.2"
MIX = {"single": 505, "pair": 374, "tractor": 37, "throw": 84}
RUNS = 5

BRIDGE = """
import json, random, sys, time
import pyspiel
game = pyspiel.load_game("bridge(use_double_dummy_result=false)")
rng = random.Random(int(sys.argv[1]))
decisions, spent = 0, 0.0
while spent < 1.0:
    start = time.process_time()
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            state.apply_action(rng.choice(state.chance_outcomes())[0])
        else:
            state.apply_action(rng.choice(state.legal_actions()))
            decisions += 1
    spent += time.process_time() - start
print(json.dumps(decisions / spent))
"""

Cards = tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class Trick:
    """One trick to be judged: *lead* is tried, *led* is what lies on the table after it."""

    order: Order
    hands: tuple[Cards, Cards, Cards]
    lead: Cards
    led: Cards
    follows: tuple[Cards, Cards, Cards]


# ---- whole tricks


def tricks(seed: int) -> list[Trick]:
    """The mix of a run, each trick out of a deal of its own after some tricks were played."""
    rng = random.Random(seed)
    wanted = Counter(MIX)
    found: list[Trick] = []
    while +wanted:
        preset = rng.choice(["huanle_2", "ming_chao"])
        order = order_for(resolve(preset), Rank(rng.randint(2, 14)), Suit(rng.randint(1, 5)))
        cards = list(deck(2))
        rng.shuffle(cards)
        size = rng.randint(8, 25)
        hands = [tuple(sorted(cards[i * 25 : i * 25 + size])) for i in range(4)]
        for kind in wanted:
            lead = some_lead(rng, order, hands[0], kind) if wanted[kind] > 0 else None
            if lead is not None:
                wanted[kind] -= 1
                found.append(trick_of(rng, order, hands, lead))
                break
    rng.shuffle(found)
    return found


def some_lead(rng: random.Random, order: Order, hand: Cards, kind: str) -> Cards | None:
    """A lead of *kind* out of *hand*, or None where it has none."""
    options: list[Cards] = []
    for cls in (TRUMPS, *SUITS):
        held = order.of_class(hand, cls)
        parts = decompose(order, cls, held) if held else ()
        if kind == "throw":
            # What people throw: their two or three highest parts of a side suit.
            if cls != TRUMPS and len(parts) > 1:
                best = sorted(parts, key=lambda part: -part.top)[: rng.randint(2, 3)]
                options.append(tuple(card for part in best for card in part.cards))
        else:
            options += [part.cards for part in parts if part.kind == kind]
    return rng.choice(options) if options else None


def trick_of(rng: random.Random, order: Order, hands: list[Cards], lead: Cards) -> Trick:
    others = (hands[1], hands[2], hands[3])
    led = check_lead(order, lead, others).played
    follows = tuple(some_follow(rng, order, hand, led) for hand in others)
    return Trick(order, others, lead, led, (follows[0], follows[1], follows[2]))


def some_follow(rng: random.Random, order: Order, hand: Cards, led: Cards) -> Cards:
    choice = rng.choice(legal_follows(order, hand, led).choice_sets())
    pairs = rng.sample(choice.pair_pool, choice.choose_pairs) * 2
    left = Counter(choice.pool)
    left.subtract(pairs)
    return (*choice.forced, *pairs, *rng.sample(sorted(left.elements()), choice.choose_min))


def tricks_a_second(found: list[Trick]) -> float:
    """Judge every trick of *found* once."""
    _shape.cache_clear()  # nothing is known of these leads from making them
    start = time.process_time()
    for trick in found:
        order = trick.order
        check_lead(order, trick.lead, trick.hands)
        for hand, cards in zip(trick.hands, trick.follows, strict=True):
            check_follow(order, hand, trick.led, cards)
        winner_index(order, (trick.led, *trick.follows))
    return len(found) / (time.process_time() - start)


# ---- the yardstick


def bridge_python() -> Path:
    """The interpreter of the throw-away environment with OpenSpiel, made once."""
    python = HOME / "bin" / "python"
    stamp = HOME / "stamp"
    if not stamp.exists() or stamp.read_text() != OPEN_SPIEL:
        print(f"bench: installing {OPEN_SPIEL} into {HOME.relative_to(ROOT)} ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(HOME)], check=True)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--only-binary=:all:"]
        subprocess.run([*pip, OPEN_SPIEL], check=True, stderr=subprocess.DEVNULL)
        stamp.write_text(OPEN_SPIEL)
    return python


def bridge_decisions_a_second(python: Path, seed: int) -> float:
    done = subprocess.run([str(python), "-c", BRIDGE, str(seed)], check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout))


# ---- the worst hands


@dataclass(frozen=True, slots=True)
class Worst:
    """A lead against a hand; *name* says what is bad about it."""

    name: str
    order: Order
    hand: Cards
    lead: Cards


def worst_hands() -> Iterator[Worst]:
    """
    Throws of twenty trumps against 25 and 39 trumps, rich in pairs and triples.

    Hand and throw are drawn without regard to each other: together they may hold more copies than there are, which
    makes worse cases than a deal can.
    """
    for preset, size in (("huanle_2", 25), ("huanle_2", 33), ("huanle_3", 25), ("huanle_3", 39)):
        order = order_for(resolve(preset), Rank.TWO, Suit.SPADES)
        packs = order.ruleset.decks
        for seed in range(60):
            rng = random.Random(f"{preset} {size} {seed}")
            name = f"{packs} packs, {size} trumps, number {seed}"
            yield Worst(name, order, _rich_hand(rng, order, size), _rich_throw(rng, order))


def _rich_hand(rng: random.Random, order: Order, size: int) -> Cards:
    """Trumps, most of them in pairs or triples."""
    packs = order.ruleset.decks
    kinds = [card for card in Card if order.is_trump(card)]
    rng.shuffle(kinds)
    hand: list[Card] = []
    for copies in (packs, packs, 2, 1):
        for card in kinds:
            if len(hand) + copies <= size and hand.count(card) + copies <= packs and rng.random() < 0.7:
                hand += [card] * copies
    return tuple(hand)


def _rich_throw(rng: random.Random, order: Order) -> Cards:
    """Twenty trumps: tractors of two to four places, then whatever fits."""
    packs = order.ruleset.decks
    left = Counter({card: packs for card in Card if order.is_trump(card)})
    throw: list[Card] = []
    for _ in range(200):
        copies, length = rng.randint(2, packs), rng.choice([1, 2, 2, 3, 4])
        run = rng.choice(order.runs(TRUMPS, length)).cards
        if len(throw) + copies * length <= 20 and all(left[card] == packs for card in run):
            throw += [card for card in run for _ in range(copies)]
            left.subtract(dict.fromkeys(run, packs))
    singles = [card for card in left if left[card] == packs]
    return tuple(throw + singles[: 20 - len(throw)])


def milliseconds(ask: Callable[[], object]) -> float:
    """The best of three: a single one tells what else the machine was doing."""
    spent = []
    for _ in range(3):
        start = time.process_time()
        ask()
        spent.append(time.process_time() - start)
    return 1000 * min(spent)


def ask_all(worst: Worst) -> dict[str, float]:
    """How long each question about *worst* takes, in ms; the order's tables are there, nothing else is."""
    order, hand, lead = worst.order, worst.hand, worst.lead

    def follows() -> Follows:
        return Follows(order, hand, lead)

    legal = follows().first()
    highest = tuple(order.sort(hand)[: len(lead)])

    def refused() -> None:
        try:
            check_follow(order, hand, lead, highest)
        except RuleError:
            return

    shape_of(order, lead)
    return {
        "check": milliseconds(lambda: check_follow(order, hand, lead, legal)),
        "refuse": milliseconds(refused),
        "default": milliseconds(lambda: default_follow(order, hand, lead)),
        "sets": milliseconds(lambda: follows().choice_sets()),
        "forced": milliseconds(lambda: follows().forced()),
        "count": milliseconds(lambda: follows().count()),
    }


# ---- the report


def main() -> None:
    """Print both parts; ``--json`` for programs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of each side; medians are told")
    parser.add_argument("--no-bridge", action="store_true", help="without OpenSpiel: no ratio")
    asked = parser.parse_args()
    python = None if asked.no_bridge else bridge_python()
    ours, theirs = [], []
    for run in range(asked.runs):
        ours.append(tricks_a_second(tricks(run)))
        if python is not None:
            theirs.append(bridge_decisions_a_second(python, run))
    speed = statistics.median(ours)
    slowest: dict[str, tuple[float, str]] = {}
    for worst in worst_hands():
        for question, ms in ask_all(worst).items():
            slowest[question] = max(slowest.get(question, (0.0, "")), (ms, worst.name))
    report: dict[str, object] = {"tricks_per_s": round(speed), "decisions_per_s": round(4 * speed)}
    if theirs:
        bridge = statistics.median(theirs)
        report["bridge_decisions_per_s"] = round(bridge)
        report["decisions_ratio"] = round(4 * speed / bridge, 3)
        report["tricks_ratio"] = round(speed / bridge, 4)
    report["worst_ms"] = {question: round(ms, 2) for question, (ms, _) in slowest.items()}
    if asked.json:
        print(json.dumps(report))
        return
    for name, value in report.items():
        if name != "worst_ms":
            print(f"{name:24} {value:>10}")
    for question, (ms, name) in slowest.items():
        print(f"worst {question:18} {ms:>10.2f} ms  {name}")


if __name__ == "__main__":
    main()
