"""``make rules-mutants``: change one value of a preset at a time; exit 1 if no position notices.

For each preset, each key and each other value that is allowed (:func:`others`) the positions of the preset are
asked again: golden and extra lines and situations. A change that none of them notices is a rule that is not shown.
Left out are combinations that a ruleset refuses, and what ``not_mutated.tsv`` gives a reason for.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import Any

from chaodipi.engine import RulesetError, preset_names, resolve
from chaodipi.engine.ruleset import KEYS, Ruleset, check_playable

from tests.support.golden import RULES, Line, extra_lines, golden_lines, mistakes, situations

Mutant = tuple[str, str, Any]
"""Preset, key, value."""


def others(key: str, value: Any) -> list[Any]:
    """Other values of *key* that are near *value*: all of a list of allowed ones, a step to each side of a number."""
    spec = KEYS[key]
    if key == "ladder":
        swaps = [(*value[:i], value[i + 1], value[i], *value[i + 2 :]) for i in range(len(value) - 1)]
        return [*swaps, value[:-1]] if value else [("single", "D", "C", "H", "S", "bj", "rj")]
    if key == "must_play":
        fewer = [tuple(level for level in value if level != gone) for gone in value]
        return [*fewer, (*value, "K")] if "K" not in value else fewer
    if spec.allowed:
        return [other for other in spec.allowed if other != value]
    step = 20 if value >= 40 else 1 if value else 3
    return [other for other in (value - step, value + step) if spec.low <= other <= spec.high]


@cache
def reasons() -> list[tuple[str, str, str]]:
    """Key, the condition under which it changes nothing that a position could show, and why."""
    rows = [line.split("\t") for line in (RULES / "not_mutated.tsv").read_text("utf-8").splitlines()]
    return [(row[0], row[1], row[2]) for row in rows if row[0] and not row[0].startswith("#")]


def is_left_out(ruleset: Ruleset, key: str, value: Any) -> bool:
    """Whether a reason is given against setting *key* to *value* in this ruleset."""
    names = (key, f"{key}={text_of(value)}")
    return any(
        name in names and all(_holds(ruleset, part) for part in condition.split(", "))
        for name, condition, _ in reasons()
    )


def text_of(value: Any) -> str:
    """A value as it is printed and as ``not_mutated.tsv`` has it."""
    return " ".join(value) if isinstance(value, tuple) else str(value)


def _holds(ruleset: Ruleset, part: str) -> bool:
    """One condition: ``always``, ``key=value`` or ``key=value|value``."""
    if part == "always":
        return True
    key, _, values = part.partition("=")
    return text_of(getattr(ruleset, key)) in values.split("|")


def mutants(preset: str) -> Iterator[Mutant]:
    """Every change of one value of *preset* that can be played and has no reason against it."""
    base = resolve(preset)
    for key in KEYS:
        for value in others(key, getattr(base, key)):
            if is_left_out(base, key, value):
                continue
            try:
                check_playable(resolve(preset, {key: list(value) if isinstance(value, tuple) else value}))
            except RulesetError:
                continue
            yield preset, key, value


def lines_of(preset: str) -> list[Line]:
    """All positions of *preset*, the quick ones first."""
    lines = [line for line in [*golden_lines(), *extra_lines(), *situations()] if line["preset"] == preset]
    return sorted(lines, key=lambda line: line["ask"]["op"] == "play")


def is_noticed(lines: list[Line], mutant: Mutant) -> bool:
    """Whether the answer to one of the lines changes."""
    _, key, value = mutant
    overrides = {key: list(value) if isinstance(value, tuple) else value}
    return any(mistakes(line, overrides) for line in lines)


def survivors(preset: str) -> tuple[int, list[Mutant]]:
    """How many changes of *preset* were tried, and those that no position notices."""
    lines, tried = lines_of(preset), list(mutants(preset))
    return len(tried), [mutant for mutant in tried if not is_noticed(lines, mutant)]


def main() -> int:
    names = sys.argv[1:] or preset_names()
    alive: dict[str, list[str]] = defaultdict(list)
    with ProcessPoolExecutor() as pool:
        for name, (tried, left) in zip(names, pool.map(survivors, names), strict=True):
            print(f"{name:10} {tried:4} changes, {len(left)} unnoticed", flush=True)
            for _, key, value in left:
                alive[name].append(f"{key} = {text_of(value)}")
    for name, changes in alive.items():
        print(f"\n{name}: no position notices\n  " + "\n  ".join(changes))
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
