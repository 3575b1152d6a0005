"""Any one thing that is changed in a league's results or records is found, whoever chains the record anew."""

import copy
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chaodipi.engine.ruleset import resolve
from chaodipi.service.boards.board import Secrets
from chaodipi.service.cli.errors import UsageError
from chaodipi.service.cli.replay import verify_files
from chaodipi.service.records.record import chained
from chaodipi.service.records.verify import RecordError
from chaodipi.service.scheduler.league import play_league, results_json
from chaodipi.service.scheduler.schedule import Entry, Plan

from tests.league.stand_in import StandInHost, default_brain, high, late, shower

BRAINS = {"low": default_brain, "shower": shower, "high": high, "late": late}
PLAN = Plan("t", resolve("ming_chao"), tuple(map(Entry.of_bot, BRAINS)), 1, Secrets(b"s" * 32, (b"a", b"b", b"", b"d")))
CHANGES = 150
Place = tuple[str | int, ...]


@pytest.fixture
async def league(tmp_path: Path) -> Path:
    """A folder with the results and records of a league."""
    outcomes = await play_league(PLAN, StandInHost(BRAINS), tmp_path / "records")
    (tmp_path / "results.json").write_text(json.dumps(results_json(PLAN, outcomes, "points")))
    return tmp_path


def places(value: Any, at: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value within *value* with the way to it, itself last."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*at, key))
    yield at, value


def others(value: Any) -> list[Any]:
    """Values that could stand in the place of *value*."""
    match value:
        case bool():
            return [not value]
        case int() | float():
            return [value + 1]
        case str():
            return [value + "x", value[:-1] if value else "y"]
        case list():
            moved = [*value[1:], *value[:1]]
            return [[*value, *value[:1]], value[1:]][: 2 if value else 0] + ([moved] if moved != value else [])
        case dict():
            return [value | {"more": 1}]
    return [0]


def changed(whole: Any, at: Place, to: Any) -> Any:
    """A copy of *whole* with *to* at *at*; without it if *to* is what nothing is."""
    whole = copy.deepcopy(whole)
    *way, last = at
    inner = whole
    for key in way:
        inner = inner[key]
    if to is ...:
        del inner[last]
    else:
        inner[last] = to
    return whole


def changes(whole: Any, free: Any, rng: random.Random) -> list[tuple[Place, Any]]:
    """Places and what comes there, by chance; none that *free* says may be anything."""
    all_of_them = [
        (at, to) for at, value in places(whole) if at and not free(at) for to in (..., *others(value)) if to != value
    ]
    return rng.sample(all_of_them, min(CHANGES, len(all_of_them)))


def seed() -> int:
    chosen = int(os.environ.get("CHAODIPI_TAMPER_SEED", random.randrange(2**32)))
    print(f"seed {chosen}")
    return chosen


def found(folder: Path) -> bool:
    """Whether the command finds anything wrong; it never fails otherwise."""
    try:
        return not verify_files([folder / "records"])
    except (UsageError, RecordError):
        return True


async def test_what_is_true_is_said_to_be(league: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify_files([league / "records"])
    assert capsys.readouterr().out == (
        "12 records, 12 match, 0 do not (with the league's seed)\npairs and standings are those of the records\n"
    )


async def test_any_change_of_the_results_is_found(league: Path) -> None:
    """But for what the clock says, and fields that nobody knows."""
    path = league / "results.json"
    true = path.read_text()
    results = json.loads(true)

    def free(at: Place) -> bool:
        return at[0] == "timing"

    try:
        for at, to in changes(results, free, random.Random(seed())):
            if isinstance(to, dict) and at in (("ruleset",), *((("entries", i)) for i in range(4))):
                continue  # a field more, which means nothing
            if at == ("missing",):
                continue
            path.write_text(json.dumps(changed(results, at, to)))
            assert found(league), (at, to)
    finally:
        path.write_text(true)


async def test_any_change_of_a_record_is_found(league: Path) -> None:
    """Its chain made anew, and but for the limits of time, which only a clock could have met."""
    rng = random.Random(seed())
    path = rng.choice(sorted((league / "records").glob("*.jsonl")))
    true = path.read_text()
    lines = [json.loads(text) for text in true.splitlines()]
    for line in lines:
        del line["chain"]

    def free(at: Place) -> bool:
        return at[:2] == (0, "time") and len(at) == 3

    print(path.name)
    try:
        for at, to in changes(lines, free, rng):
            if len(at) > 1 or to is not ...:
                text = json.dumps(changed(lines, at, to))
                path.write_text(chained(line for line in json.loads(text) if isinstance(line, dict)))
                assert found(league), (at, to)
    finally:
        path.write_text(true)
