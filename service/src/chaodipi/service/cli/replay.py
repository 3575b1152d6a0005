"""``chaodipi replay verify``: records and folders of them, with what their league revealed where that is known."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from chaodipi.service.cli.errors import UsageError
from chaodipi.service.records.revealed import KeptNonce, Revealed, RevealedError
from chaodipi.service.records.verify import verify

__all__ = ["verify_files"]

_KEPT = "chaodipi/nonce/1"


def verify_files(paths: Sequence[Path], nonces: Path | None = None) -> bool:
    """
    Verify every record of *paths* and print what does not match; whether all match.

    A ``results.json`` in the folder above a record gives the league's seed and nonces. *nonces* is what a bot of
    ours kept (``--nonces`` of the SDK): with it nobody needs to believe the league's word for its commitment and for
    the bot's nonce.
    """
    kept = None if nonces is None else _kept(nonces)
    leagues: dict[Path, Revealed | None] = {}
    checked = wrong = 0
    matching = True
    known: list[str] = []
    for path in _records(paths):
        folder = path.resolve().parent.parent
        if folder not in leagues:
            leagues[folder] = league = _league(folder / "results.json")
            for fault in [] if league is None else [*league.faults(), *league.faults_of_kept(kept or [])]:
                print(f"{folder / 'results.json'}: {fault}")
                matching = False
            if league is not None and league.secrets is not None:
                known += league.entries_of_kept(kept or [])
        found = verify(path, leagues[folder])
        checked += 1
        wrong += bool(found)
        for mismatch in found:
            print(f"{path}: {mismatch}")
    if nonces is not None and not known:
        raise UsageError(f"{nonces}: no nonce of an entry of these records, or their seed is not revealed yet")
    seeds = "with" if any(league and league.secrets for league in leagues.values()) else "without"
    print(f"{checked} records, {checked - wrong} match, {wrong} do not ({seeds} the league's seed)")
    if nonces is not None and matching:
        print(f"commitment and nonce are those of {', '.join(known)}")
    return matching and not wrong


def _records(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        found = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not found:
            raise UsageError(f"no records in {path}")
        yield from found


def _league(path: Path) -> Revealed | None:
    try:
        league = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        return None
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    if not isinstance(league, dict) or league.get("schema") != "chaodipi/results/1":
        return None
    try:
        return Revealed.of(league)
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
