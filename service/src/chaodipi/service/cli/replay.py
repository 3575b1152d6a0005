"""``chaodipi replay verify``: records and folders of them, with the league's seed where it is known."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from chaodipi.service.cli.errors import UsageError
from chaodipi.service.records.verify import verify

__all__ = ["verify_files"]


def verify_files(paths: Sequence[Path]) -> bool:
    """
    Verify every record of *paths* and print what does not match; whether all match.

    A ``results.json`` in the folder above a record gives the league's seed and nonces.
    """
    leagues: dict[Path, dict[str, Any] | None] = {}
    checked = wrong = 0
    for path in _records(paths):
        folder = path.resolve().parent.parent
        if folder not in leagues:
            leagues[folder] = _league(folder / "results.json")
        found = verify(path, leagues[folder])
        checked += 1
        wrong += bool(found)
        for mismatch in found:
            print(f"{path}: {mismatch}")
    seeds = "with" if any(leagues.values()) else "without"
    print(f"{checked} records, {checked - wrong} match, {wrong} do not ({seeds} the league's seed)")
    return wrong == 0


def _records(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        found = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not found:
            raise UsageError(f"no records in {path}")
        yield from found


def _league(path: Path) -> dict[str, Any] | None:
    try:
        league = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        return None
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    if not isinstance(league, dict) or league.get("schema") != "chaodipi/results/1":
        return None
    return league
