"""``make rules-oracle``: the engine against the oracle on many positions, on all cores; exit 1 on a difference.

``make rules-oracle POSITIONS=1000000 SEED=7`` looks further. Positions are counted for each preset: a third are
follows, a third leads, a third tricks. Ctrl-C, or SIGTERM, prints what was compared until then.
"""

import argparse
import random
import signal
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.rules.comparison import COMPARE, TABLES

CHUNK = 1000

Task = tuple[str, str, str, int]
"""Table, part, seed, positions."""


def ignore_interrupts() -> None:
    """The workers finish their chunk; the parent reports."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run(task: Task) -> tuple[Task, Counter[str], str]:
    """What was compared, and the first difference."""
    table, part, seed, count = task
    try:
        return task, COMPARE[part](table, seed, count), ""
    except AssertionError as difference:
        return task, Counter(), str(difference)


def tasks(each: int, seed: int) -> list[Task]:
    """All presets, parts and chunks; *each* positions for a preset."""
    part_size = -(-each // len(COMPARE))
    return [
        (table, part, f"{seed}.{start}", min(CHUNK, part_size - start))
        for start in range(0, part_size, CHUNK)
        for table in TABLES
        for part in COMPARE
    ]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--positions", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--processes", type=int, default=None)
    options = parser.parse_args()
    for stop in (signal.SIGINT, signal.SIGTERM):  # in the background too
        signal.signal(stop, signal.default_int_handler)
    print(f"seed {options.seed}, {options.positions} positions of each preset", flush=True)
    started, differences = time.monotonic(), []
    compared: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    with ProcessPoolExecutor(options.processes, initializer=ignore_interrupts) as pool:
        runs = [pool.submit(run, task) for task in tasks(options.positions, options.seed)]
        try:
            for done in as_completed(runs):
                (table, part, _, _), kinds, difference = done.result()
                compared[table, part] += kinds
                if difference:
                    differences.append(difference)
                    print(difference, flush=True)
        except KeyboardInterrupt:
            print("stopped; what was compared until then:")
            pool.shutdown(wait=False, cancel_futures=True)
    for table in TABLES:
        counts = {part: compared[table, part] for part in COMPARE}
        kinds = "; ".join(
            f"{part} " + ", ".join(f"{n} {k}" for k, n in sorted(c.items())) for part, c in counts.items()
        )
        print(f"{table:13}{sum(c.total() for c in counts.values()):8} compared: {kinds}")
    print(f"{len(differences)} differences, {time.monotonic() - started:.0f} s")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
