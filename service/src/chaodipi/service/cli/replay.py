"""``chaodipi replay verify``: records and folders of them, with what their league revealed where that is known."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from chaodipi.service.cli.errors import UsageError
from chaodipi.service.records.revealed import KeptNonce, Revealed, RevealedError
from chaodipi.service.records.verify import Record, verify
from chaodipi.service.scheduler.recheck import recheck

__all__ = ["verify_files"]

_KEPT = "chaodipi/nonce/1"
_RESULTS = "chaodipi/results/1"


def verify_files(paths: Sequence[Path], nonces: Path | None = None) -> bool:
    """
    Verify every record of *paths* and print what does not match; whether all match.

    A ``results.json`` in the folder above a record gives the league's seed and nonces; where a whole folder of records
    is verified, its pairs and standings are made from them again. *nonces* is what a bot of
    ours kept (``--nonces`` of the SDK): with it nobody needs to believe the league's word for its commitment and for
    the bot's nonce.
    """
    kept = None if nonces is None else _kept(nonces)
    leagues: dict[Path, _League | None] = {}
    checked = wrong = 0
    matching = True
    known: list[str] = []
    for path in _records(paths):
        folder = path.resolve().parent.parent
        if folder not in leagues:
            leagues[folder] = league = _league(folder / "results.json")
            for fault in [] if league is None else league.faults(kept or []):
                print(f"{folder / 'results.json'}: {fault}")
                matching = False
            if league is not None and league.revealed.secrets is not None:
                known += league.revealed.entries_of_kept(kept or [])
        at = leagues[folder]
        found = verify(path, None if at is None else at.revealed)
        checked += 1
        wrong += bool(found)
        for mismatch in found:
            print(f"{path}: {mismatch}")
        if at is not None:
            at.take(path)
    if nonces is not None and not known:
        raise UsageError(f"{nonces}: no nonce of an entry of these records, or their seed is not revealed yet")
    whole = {path.resolve().parent for path in paths if path.is_dir()}
    again = {folder: league for folder, league in leagues.items() if league is not None and folder in whole}
    for folder, league in again.items():
        for fault in league.pair_faults():
            print(f"{folder / 'results.json'}: {fault}")
            matching = False
    seeds = "with" if any(league and league.revealed.secrets for league in leagues.values()) else "without"
    print(f"{checked} records, {checked - wrong} match, {wrong} do not ({seeds} the league's seed)")
    if again and matching and not wrong:
        print("pairs and standings are those of the records")
    if nonces is not None and matching:
        print(f"commitment and nonce are those of {', '.join(known)}")
    return matching and not wrong


class _League:
    """A ``results.json`` and the records of its league that were read."""

    def __init__(self, results: Mapping[str, Any]) -> None:
        self.revealed = Revealed.of(results)
        self._results = results
        self._records: dict[str, Record] = {}

    def take(self, path: Path) -> None:
        record = Record.read(path)
        self._records[record.header["table"]] = record

    def faults(self, kept: list[KeptNonce]) -> list[str]:
        """What does not match in it without any record."""
        return [*self.revealed.faults(), *self.revealed.faults_of_kept(kept)]

    def pair_faults(self) -> list[str]:
        """What does not match in its pairs and standings, by the records."""
        try:
            return list(recheck(self._results, self._records))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            return [f"a field is missing or of the wrong type: {error!r}"]


def _records(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        found = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not found:
            raise UsageError(f"no records in {path}")
        yield from found


def _league(path: Path) -> _League | None:
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        return None
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    if not isinstance(results, dict) or results.get("schema") != _RESULTS:
        raise UsageError(f"{path} is no {_RESULTS}: of another version, or not of a league")
    try:
        return _League(results)
    except RevealedError as error:
        raise UsageError(f"{path}: {error}") from error


def _kept(path: Path) -> list[KeptNonce]:
    """What a bot kept of its nonces."""
    kept: list[KeptNonce] = []
    for number, text in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        try:
            line = json.loads(text)
            if line["schema"] != _KEPT:
                raise ValueError(line["schema"])
            commitment = bytes.fromhex(line["seed_commitment"])
            kept.append(KeptNonce(line["entry"], bytes.fromhex(line["nonce"]), commitment))
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{path}: line {number} is no nonce that the SDK kept") from error
    return kept
