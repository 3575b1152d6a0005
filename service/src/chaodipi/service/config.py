"""Settings and files in TOML, read once at the edge; every mistake is named with its file and line."""

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from chaodipi.service.logs import LEVELS
from chaodipi.service.match.clock import TimeControl, TimeControlError

__all__ = ["QUOTAS", "ConfigError", "ServerConfig", "TomlFile", "load_server_config", "read_time"]

_TIME: dict[str, type] = {f.name: type(f.default) for f in fields(TimeControl)}


class ConfigError(Exception):
    """A mistake in a settings file or variable; the message is one line that names it."""


class TomlFile:
    """
    A TOML file whose mistakes can be named by line.

    Raises:
        ConfigError: unreadable, or no TOML.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise ConfigError(f"{path}: cannot be read: {reason}") from error
        try:
            self.values: dict[str, Any] = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
            where = f"{path}:{found[1]}" if found else str(path)
            what = re.sub(r" \(at .*\)$", "", str(error))
            raise ConfigError(f"{where}: not TOML: {what}") from error

    def line(self, key: str, table: str = "", nth: int = 0) -> int:
        """The line at which *key* is set in the *nth* ``[table]`` or ``[[table]]``; that table's or 1 if it is not."""
        inside, seen, start = table == "", -1, 1
        for number, text in enumerate(self.text.splitlines(), 1):
            heading = re.match(r"\s*\[\[?\s*([\w.-]+)\s*\]", text)
            if heading:
                if table == "" and heading[1] == key:
                    return number
                if heading[1] == table:
                    seen += 1
                inside = heading[1] == table and seen == nth
                start = number if inside else start
            elif inside and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", text):
                return number
        return start

    def error(self, message: str, key: str, table: str = "", nth: int = 0) -> ConfigError:
        """An error about *key*, with the line it stands on."""
        return ConfigError(f"{self.path}:{self.line(key, table, nth)}: {message}")

    def take(
        self, values: Mapping[str, Any], kinds: Mapping[str, type], table: str = "", nth: int = 0
    ) -> dict[str, Any]:
        """*values*, each of a known name and of its kind; ConfigError naming the first that is not."""
        place = f" in [{table}]" if table else ""
        for key, value in values.items():
            kind = kinds.get(key)
            if kind is None:
                raise self.error(f"unknown key {key!r}{place}; known: {', '.join(kinds)}", key, table, nth)
            if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
                raise self.error(f"{key} = {value!r}{place}: {_KIND_NAMES[kind]} expected", key, table, nth)
        return dict(values)


_BOOLS = {"true": True, "1": True, "false": False, "0": False}
_KIND_NAMES: dict[type, str] = {
    int: "a whole number",
    str: "a text",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


def read_time(file: TomlFile, table: Mapping[str, Any], defaults: TimeControl) -> TimeControl:
    """
    The time control of a file's ``[time]``, with *defaults* for what it does not say.

    Raises:
        ConfigError: an unknown key, a number out of range, or limits that do not go together.
    """
    taken = file.take(table, _TIME, "time")
    try:
        return replace(defaults, **taken)
    except TimeControlError as error:
        raise file.error(f"[time]: {error}", error.key, "time") from error


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """
    Settings of ``chaodipi serve``; each also as ``CHAODIPI_NAME`` in the environment, which wins over the file.

    Attributes:
        listen: ``host:port`` for bots.
        metrics_port: Prometheus metrics; 0: none.
        metrics_host: Address at which they are shown; whoever reaches it may read them.
        tls_cert, tls_key: PEM files of the host's certificate, with its chain, and of its key; "": no TLS.
        tls_client_ca: PEM file of who vouches for the certificates of bots, which then need one; "": they do not.
        insecure: Without TLS, listen at addresses of other machines' reach too.
        reflection: Tell anybody which services there are; None: where only this machine can connect.
        store: SQLite file of bots and leagues.
        drain_s: Most seconds that tables in flight are given when the host is told to stop.
        log_level: debug, info, warning, error.
        time: What ``[time]`` says of the clock of house tables; in the file only.
        quotas: What ``[quotas]`` says of the limits of each token; in the file only.
    """

    listen: str = "127.0.0.1:7878"
    metrics_port: int = 0
    metrics_host: str = "127.0.0.1"
    tls_cert: str = ""
    tls_key: str = ""
    tls_client_ca: str = ""
    insecure: bool = False
    reflection: bool | None = None
    store: str = "out/chaodipi.db"
    drain_s: int = 60
    log_level: str = "info"
    time: Mapping[str, Any] = field(default_factory=dict)
    quotas: Mapping[str, int] = field(default_factory=dict)


QUOTAS = (
    "sessions", "matches", "opens_s", "frames_s", "messages_s", "bytes_s", "resyncs_s", "calls_s", "work_ms_s",
)  # fmt: skip
"""What ``[quotas]`` may limit; the host says what each means."""


_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "drain_s": (lambda value: value >= 0, "0 or more"),
    "metrics_port": (lambda value: 0 <= value <= 65535, "a port, 0 to 65535,"),
    "log_level": (lambda value: value.lower() in LEVELS, f"one of {', '.join(LEVELS)}"),
}


def load_server_config(
    path: Path | None, env: Mapping[str, str] = os.environ, defaults: ServerConfig = ServerConfig()
) -> ServerConfig:
    """The settings of *path* (None: *defaults*) and *env*; ConfigError for any mistake."""
    config = defaults
    kinds: dict[str, type] = {f.name: type(getattr(config, f.name)) for f in fields(config)}
    kinds |= {"reflection": bool}
    if path is not None:
        file = TomlFile(path)
        config = replace(config, **file.take(file.values, kinds))
        read_time(file, config.time, TimeControl())
        for key, value in file.take(config.quotas, dict.fromkeys(QUOTAS, int), "quotas").items():
            if value < 1:
                raise file.error(f"{key} = {value} in [quotas]: 1 or more expected", key, "quotas")
    del kinds["time"], kinds["quotas"]
    for name, kind in kinds.items():
        text = env.get(f"CHAODIPI_{name.upper()}")
        if text is None:
            continue
        try:
            found: Any = _BOOLS[text.lower()] if kind is bool else kind(text)
        except (ValueError, KeyError) as error:
            raise ConfigError(f"CHAODIPI_{name.upper()} = {text!r}: {_KIND_NAMES[kind]} expected") from error
        config = replace(config, **{name: found})
    for name, (good, expected) in _CHECKS.items():
        if not good(value := getattr(config, name)):
            text = f"{name} = {value!r}: {expected} expected"
            in_file = path is not None and f"CHAODIPI_{name.upper()}" not in env
            raise file.error(text, name) if in_file else ConfigError(text)
    where = "the settings" if path is None else str(path)
    for name, needed in (("tls_cert", "tls_key"), ("tls_key", "tls_cert"), ("tls_client_ca", "tls_cert")):
        if getattr(config, name) and not getattr(config, needed):
            raise ConfigError(f"{where}: {name} needs {needed}")
    return config
