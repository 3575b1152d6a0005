"""A league's file: what is played between whom, and how the bots are launched.

::

    name = "spring"
    ruleset = "ming_chao"     # a preset, or a ruleset file: "house.toml"
    boards = 100              # of each pairing; a board is two tables
    rank_by = "points"        # or steps, or win: named before play
    seed = "..."              # optional; 64 hex digits or a text. Without it: random, revealed at the end, and the
                              # bots are asked for nonces, unless a bot has one here
    shared_boards = false
    tables_in_flight = 16
    mode = "prevent"          # or "penalise": a referee books breaches by the ruleset's table
    same_owner = "report"     # or "refuse": two entries of one owner, who meet in a round robin
    restarts = 10             # of a launched bot that ends; then its seats are played by default actions

    [labels]                  # optional: what readers of matches and leagues may look for
    season = "2026"

    [overrides]               # optional: single values of the ruleset
    stage = 100

    [time]                    # optional; what it does not say is the ruleset's, see docs/faults.md
    play_ms = 2000            # and bury_ms, bank_ms, ready_ms, attempts, max_faults, …

    [limits]                  # optional: of every launched bot; 0: none
    memory_mb = 4096          # and cpu_s, processes, file_mb, log_kb

    [[bots]]
    name = "alpha"
    command = ["python", "alpha.py"]   # or: baseline = "greedy"; or: remote = true, it connects by itself
    owner = "Ada"                      # optional; of a remote bot the one that `bot add` was told
    nonce = "..."                      # optional: its owner's share in the seeds, 64 hex digits or a text of 32 bytes

    [[teams]]                 # optional; without teams every bot is an entry in both seats
    name = "alpha+beta"
    bots = ["alpha", "beta"]
"""

import hashlib
import json
import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from chaodipi.engine.errors import RulesetError
from chaodipi.engine.referee import MODES
from chaodipi.engine.ruleset import Ruleset
from chaodipi.service.boards.shuffle import MAX_NONCE_BYTES
from chaodipi.service.config import ConfigError, TomlFile, read_time
from chaodipi.service.launch import BASELINES, RESTARTS, Limits, baseline_command
from chaodipi.service.match.clock import TimeControl
from chaodipi.service.rulefile import find_ruleset
from chaodipi.service.scheduler.margins import SCALES
from chaodipi.service.scheduler.owners import SAME_OWNER
from chaodipi.service.scheduler.schedule import Entry

__all__ = ["BotLine", "LeagueFile", "check_name", "load_league"]

_TOP: dict[str, type] = {
    "name": str, "ruleset": str, "boards": int, "rank_by": str, "seed": str, "shared_boards": bool,
    "tables_in_flight": int, "mode": str, "same_owner": str, "restarts": int,
    "overrides": dict, "time": dict, "limits": dict, "labels": dict, "bots": list, "teams": list,
}  # fmt: skip
_LIMITS: dict[str, type] = dict.fromkeys((field.name for field in fields(Limits)), int)
_BOT: dict[str, type] = {"name": str, "command": list, "baseline": str, "remote": bool, "owner": str, "nonce": str}
_WAYS = ("command", "baseline", "remote")
"""How a bot comes to play; exactly one of them."""
_TEAM: dict[str, type] = {"name": str, "bots": list}
_HEX = re.compile(r"[0-9A-Fa-f]{64}")
MAX_LABELS = 16
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+]{0,31}")


@dataclass(frozen=True, slots=True)
class BotLine:
    """A bot of the league; ``command`` is None if it connects by itself, ``owner`` "" if the file names none."""

    name: str
    command: tuple[str, ...] | None
    nonce: bytes
    owner: str = ""


@dataclass(frozen=True, slots=True)
class LeagueFile:
    """A checked league file."""

    name: str
    ruleset: Ruleset
    boards: int
    rank_by: str
    seed: str | None
    shared_boards: bool
    tables_in_flight: int
    mode: str
    restarts: int
    time: TimeControl
    limits: Limits
    bots: tuple[BotLine, ...]
    entries: tuple[Entry, ...]
    same_owner: str = "report"
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def nonces(self) -> tuple[bytes, ...]:
        """One for each entry: its bots' nonces, joined."""
        by_name = {bot.name: bot.nonce for bot in self.bots}
        return tuple(b"".join(by_name[bot] for bot in dict.fromkeys(entry.bots)) for entry in self.entries)

    @property
    def asks_nonces(self) -> bool:
        """Whether the bots are asked for nonces: not where the file names a seed or a nonce, to be repeated."""
        return self.seed is None and not any(bot.nonce for bot in self.bots)

    @property
    def digest(self) -> str:
        """SHA-256 (hex) over all that decides the schedule and the results, commands excepted."""
        parts: dict[str, Any] = {
            "name": self.name,
            "ruleset": self.ruleset.digest,
            "boards": self.boards,
            "rank_by": self.rank_by,
            "seed": self.seed,
            "shared_boards": self.shared_boards,
            "mode": self.mode,
            "time": self.time.as_json(),
            "entries": [[entry.name, *entry.bots] for entry in self.entries],
            "nonces": [nonce.hex() for nonce in self.nonces],
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def check_name(name: str) -> None:
    """Raise :class:`ConfigError` unless *name* can be a bot's, an entry's or a league's."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"name {name!r}: letters, digits, '_', '.', '+', at most 32")


def load_league(path: Path) -> LeagueFile:
    """
    Read and check a league file.

    Raises:
        ConfigError: the first mistake, with its line; the organiser's.
    """
    file = TomlFile(path)
    values = file.take(file.values, _TOP)
    for key in ("name", "ruleset", "bots"):
        if key not in values:
            raise file.error(f"{key} is missing", key)
    if not _NAME.fullmatch(values["name"]):
        raise file.error(f"name = {values['name']!r}: letters, digits, '_', '.', '+', at most 32", "name")
    for key in ("boards", "tables_in_flight"):
        if values.get(key, 1) < 1:
            raise file.error(f"{key} = {values[key]}: 1 or more", key)
    if values.get("restarts", 0) < 0:
        raise file.error(f"restarts = {values['restarts']}: 0 (never) or more", "restarts")
    if values.get("rank_by", "points") not in SCALES:
        raise file.error(f"rank_by = {values['rank_by']!r}: one of {', '.join(SCALES)}", "rank_by")
    if values.get("mode", "prevent") not in MODES:
        raise file.error(f"mode = {values['mode']!r}: one of {', '.join(MODES)}", "mode")
    if values.get("same_owner", "report") not in SAME_OWNER:
        known = ", ".join(SAME_OWNER)
        raise file.error(f"same_owner = {values['same_owner']!r}: one of {known}", "same_owner")
    bots = _bots(file, values["bots"])
    ruleset = _ruleset(file, values)
    return LeagueFile(
        name=values["name"],
        ruleset=ruleset,
        boards=values.get("boards", 20),
        rank_by=values.get("rank_by", "points"),
        seed=values.get("seed"),
        shared_boards=values.get("shared_boards", False),
        tables_in_flight=values.get("tables_in_flight", 16),
        mode=values.get("mode", "prevent"),
        restarts=values.get("restarts", RESTARTS),
        time=_time(file, values.get("time", {}), ruleset),
        limits=_limits(file, values.get("limits", {})),
        bots=bots,
        entries=_entries(file, values, bots),
        same_owner=values.get("same_owner", "report"),
        labels=_labels(file, values.get("labels", {})),
    )


def _labels(file: TomlFile, values: dict[str, Any]) -> dict[str, str]:
    if len(values) > MAX_LABELS:
        raise file.error(f"[labels]: at most {MAX_LABELS}, here {len(values)}", "labels")
    for key, value in values.items():
        if not isinstance(value, str) or len(value) > 64 or not _NAME.fullmatch(key):
            raise file.error(
                f"{key} = {value!r} in [labels]: a name and a text of at most 64 characters expected", key, "labels"
            )
    return values


def _time(file: TomlFile, table: dict[str, Any], ruleset: Ruleset) -> TimeControl:
    time = read_time(file, table, TimeControl.of(ruleset))
    if time.untimed:
        raise file.error("[time]: untimed = true is for debugging, never for a league", "untimed", "time")
    return time


def _ruleset(file: TomlFile, values: dict[str, Any]) -> Ruleset:
    try:
        ruleset = find_ruleset(values["ruleset"], file.path.parent)
    except RulesetError as error:
        raise file.error(error.message, "ruleset") from error
    overrides = values.get("overrides")
    try:
        return ruleset.override(overrides, f"{ruleset.name}*") if overrides else ruleset
    except RulesetError as error:
        raise file.error(error.message, error.key, "overrides") from error


def _limits(file: TomlFile, values: dict[str, Any]) -> Limits:
    for key, value in file.take(values, _LIMITS, "limits").items():
        if value < 0:
            raise file.error(f"{key} = {value} in [limits]: 0 (none) or more", key, "limits")
    return Limits(**values)


def _named(file: TomlFile, line: Any, kinds: dict[str, type], table: str, nth: int) -> dict[str, Any]:
    """A checked table of the list *table* with a good ``name``."""
    if not isinstance(line, dict):
        raise file.error(f"{table}: tables [[{table}]] expected", table)
    taken = file.take(line, kinds, table, nth)
    name = taken.get("name")
    if name is None or not _NAME.fullmatch(name):
        raise file.error(f"name = {name!r}: letters, digits, '_', '.', '+', at most 32", "name", table, nth)
    return taken


def _bots(file: TomlFile, lines: list[Any]) -> tuple[BotLine, ...]:
    bots: list[BotLine] = []
    for nth, line in enumerate(lines):
        taken = _named(file, line, _BOT, "bots", nth)
        name = taken["name"]
        if name in [bot.name for bot in bots]:
            raise file.error(f"bot {name!r} stands twice", "name", "bots", nth)
        command: tuple[str, ...] | None = None
        ways = [way for way in _WAYS if taken.get(way, False) is not False]
        if len(ways) != 1:
            text = f"bot {name!r} needs one of command, baseline, remote = true; here: {' and '.join(ways) or 'none'}"
            raise file.error(text, ways[-1] if ways else "name", "bots", nth)
        if "baseline" in taken:
            if taken["baseline"] not in BASELINES:
                known = ", ".join(BASELINES)
                raise file.error(f"unknown baseline {taken['baseline']!r}; known: {known}", "baseline", "bots", nth)
            command = tuple(baseline_command(taken["baseline"]))
        elif "command" in taken:
            command = tuple(map(str, taken["command"]))
            if not command:
                raise file.error("command is empty", "command", "bots", nth)
        nonce = _bytes(taken.get("nonce", ""))
        if len(nonce) > MAX_NONCE_BYTES:
            raise file.error(f"nonce has {len(nonce)} bytes, at most {MAX_NONCE_BYTES}", "nonce", "bots", nth)
        bots.append(BotLine(name, command, nonce, taken.get("owner", "")))
    return tuple(bots)


def _bytes(text: str) -> bytes:
    """32 bytes of 64 hex digits, other text as UTF-8."""
    return bytes.fromhex(text) if _HEX.fullmatch(text) else text.encode()


def _entries(file: TomlFile, values: dict[str, Any], bots: tuple[BotLine, ...]) -> tuple[Entry, ...]:
    names = [bot.name for bot in bots]
    entries: list[Entry] = []
    for nth, line in enumerate(values.get("teams", [])):
        taken = _named(file, line, _TEAM, "teams", nth)
        members = taken.get("bots", [])
        if len(members) != 2:
            raise file.error(f"team {taken['name']!r} needs two bots", "bots", "teams", nth)
        for member in members:
            if member not in names:
                raise file.error(f"unknown bot {member!r}; known: {', '.join(names)}", "bots", "teams", nth)
        if taken["name"] in [entry.name for entry in entries]:
            raise file.error(f"team {taken['name']!r} stands twice", "name", "teams", nth)
        together = sum(len(bot.nonce) for bot in bots if bot.name in members)
        if together > MAX_NONCE_BYTES:
            text = f"the nonces of team {taken['name']!r} have {together} bytes, at most {MAX_NONCE_BYTES}"
            raise file.error(text, "bots", "teams", nth)
        entries.append(Entry(taken["name"], (members[0], members[1])))
    if "teams" not in values:
        entries = [Entry.of_bot(name) for name in names]
    if len(entries) < 2:
        what = "teams" if "teams" in values else "bots"
        raise file.error(f"a league needs two {what} or more, here: {len(entries)}", what)
    return tuple(entries)
