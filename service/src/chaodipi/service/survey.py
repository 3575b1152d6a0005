"""`make survey`: every preset over the real service, and how often each kind of event occurred.

For each preset the three baseline bots play a league through ``chaodipi demo``: real processes, real sockets. Then
every record is verified, which plays each decision again by the rules, and its events are counted. The exit code is 1
if a table had a fault of a bot or of the host, if a record does not verify, or if a common event did not occur in a
preset that allows it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from chaodipi.engine.deal import Deal
from chaodipi.engine.events import (
    Booked,
    CardsReturned,
    DealEnded,
    Event,
    Played,
    ShowKind,
    Shown,
    WindowClosed,
)
from chaodipi.engine.ruleset import Ruleset, preset_names, resolve
from chaodipi.engine.shapes import shape_of
from chaodipi.service.records.verify import Record, replayed, verify

__all__ = ["common_events", "events_of", "main", "survey"]

_SHOWN = {
    ShowKind.DECLARATION: "declared",
    ShowKind.OVERCALL: "overcalled",
    ShowKind.SELF_PROTECT: "self-protected",
    ShowKind.SELF_OVERCALL: "self-overcalled",
    ShowKind.STIR: "stirred",
    ShowKind.LOOKING_BACK: "looked back",
}


def common_events(ruleset: Ruleset) -> set[str]:
    """Events that bots worth their name bring about in 200 deals of *ruleset*."""
    wanted = {"declared", "thrown", "throw failed", "ruffed", "dug"}
    if ruleset.hand > 20:  # with one pack of twelve cards there is little to overcall with
        wanted.add("overcalled")
    if ruleset.stir != "none":
        wanted.add("stirred")
    if ruleset.blind_stir_fail:
        wanted.add("blind stir failed")
    if ruleset.k510:
        wanted.add("510K led")
    return wanted


def events_of(record: Record) -> Iterator[str]:
    """What happened at one table, one word or two for each event."""
    ruleset = record.ruleset()
    for step in replayed(record, record.board(ruleset)):
        for event in step.events:
            yield from _names(event, step.deal)


def _names(event: Event, deal: Deal) -> Iterator[str]:
    match event:
        case Shown():
            yield _SHOWN[event.kind]
        case WindowClosed() if event.undeclared:
            yield "nobody declared"
        case CardsReturned() if event.returned:
            yield "cards returned"
        case Booked():
            yield event.kind.replace("_", " ").replace("failed throw", "throw failed")
        case Played():
            yield from _play_names(event, deal)
        case DealEnded():
            yield {"played": "played out"}.get(event.how, event.how)
            if event.dig_multiplier:
                yield "dug"
                if event.dig_points:
                    yield "points dug"


def _play_names(event: Played, deal: Deal) -> Iterator[str]:
    order = deal.view.order
    trick = deal.view.trick or deal.view.tricks[-1].plays
    lead = trick[0]
    if event.attempted is not None and not deal.ruleset.throw_penalty:
        yield "throw failed"  # where it costs points, the booking is counted
    if event.seat == lead.seat and event.cards == lead.cards:
        shape = shape_of(order, event.attempted or event.cards)
        if shape is not None and len(shape.components) > 1:
            yield "thrown"
        if shape is not None and shape.k510:
            yield "510K led"
    elif order.class_of(lead.cards[0]) != order.class_of(event.cards[0]) and all(map(order.is_trump, event.cards)):
        yield "ruffed"


def survey(preset: str, boards: int, out: Path, seed: str) -> tuple[int, Counter[str], list[str]]:
    """Play *preset* into *out*; tables, events, and what was wrong."""
    folder = out / preset
    command = [sys.executable, "-c", "from chaodipi.service.cli import main; main()", "demo", "--ruleset", preset]
    command += ["--boards", str(boards), "--seed", seed, "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return 0, Counter(), [f"exit code {done.returncode}: {done.stderr.strip()}"]
    wrong: list[str] = []
    counts: Counter[str] = Counter()
    paths = sorted((folder / "records").glob("*.jsonl"))
    for path in paths:
        wrong += [f"{path.name}: {mismatch}" for mismatch in verify(path)]
        record = Record.read(path)
        counts.update(events_of(record))
        if record.result["how"] != "played" or record.result["faults"]:
            wrong.append(f"{path.name}: {record.result['how']}, faults {json.dumps(record.result['faults'])}")
    missing = sorted(common_events(resolve(preset)) - set(counts))
    return len(paths), counts, wrong + [f"never {name}" for name in missing]


def main() -> int:
    """Survey the presets and print a line for each; exit code 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="survey", description="Play every preset and count what happens.")
    parser.add_argument("--ruleset", choices=preset_names(), action="append", help="only this preset; may be repeated")
    parser.add_argument("--boards", type=int, default=34, help="boards for each of the three pairings, two tables each")
    parser.add_argument("--seed", default="survey")
    arguments = parser.parse_args()
    fine = True
    with tempfile.TemporaryDirectory() as out:
        for preset in arguments.ruleset or preset_names():
            tables, counts, wrong = survey(preset, arguments.boards, Path(out), arguments.seed)
            said = ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))
            print(f"{preset}: {tables} tables; {said}", flush=True)
            for line in wrong[:20]:
                print(f"  wrong: {line}", flush=True)
            fine = fine and not wrong
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
