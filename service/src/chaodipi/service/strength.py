"""`make strength`: whether random < greedy < rules holds, measured on duplicate boards.

In one process, since strength is a matter of decisions and not of sockets: the same bot classes
that play over the wire, each board at two tables with the sides swapped. Boards are split over
processes; a seed is a name, hashed, so that anybody can repeat a line.
"""

import argparse
import hashlib
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from chaodipi.sdk import play_local
from chaodipi.sdk.baselines.greedy import GreedyBot
from chaodipi.sdk.baselines.random import RandomBot
from chaodipi.sdk.baselines.rules import RulesBot

STEPS = {"random < greedy": (GreedyBot, RandomBot), "greedy < rules": (RulesBot, GreedyBot)}
SEEDS = ("spring", "summer", "autumn")
LEAST = 3.0
"""Standard errors by which every step must hold."""


def measure(task: tuple[str, str, str, int]) -> tuple[str, str, float, float]:
    """(step, seed name, mean points a table of the better bot, standard error) for one task."""
    preset, step, seed, boards = task
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4], "big")
    result = play_local(preset, STEPS[step], boards, number)
    return step, seed, result.mean, result.error


def main() -> int:
    """Print each step for each seed; exit code 1 if one does not hold."""
    parser = argparse.ArgumentParser(prog="strength", description="Measure the order of the baseline bots.")
    parser.add_argument("--ruleset", default="ming_chao")
    parser.add_argument("--boards", type=int, default=300, help="boards a step and seed, two tables each")
    arguments = parser.parse_args()
    tasks = [(arguments.ruleset, step, seed, arguments.boards) for step in STEPS for seed in SEEDS]
    holds = True
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for step, seed, mean, error in pool.map(measure, tasks):
            sigmas = mean / error
            holds = holds and sigmas >= LEAST
            print(
                f"{step:16} {seed:8} {mean:+7.2f} points a table, standard error {error:.2f}: {sigmas:5.1f}", flush=True
            )
    print("every step holds" if holds else f"a step is below {LEAST} standard errors")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
