"""Launches bots as processes, and leaves none behind, however this process ends.

Every bot has a keeper (:mod:`chaodipi.service.keeper`), a small process that limits it, caps its log, and kills it and
all that it started as soon as this process stops it or is gone.
"""

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

__all__ = ["BotExitedError", "Launcher", "Limits", "baseline_command"]

BASELINES = ("random", "greedy", "rules")
_KEEPER = Path(__file__).with_name("keeper.py")
# What a keeper may need beyond the grace to kill, reap and write the end of the log.
_KEEPER_S = 2.0


class BotExitedError(RuntimeError):
    """A launched bot ended while it was needed; the message says how and what it last printed."""


def baseline_command(name: str) -> list[str]:
    """The command of one of our own bots, see :data:`BASELINES`."""
    return [sys.executable, "-m", "chaodipi.sdk.cli", "run", name]


@dataclass(frozen=True, slots=True)
class Limits:
    """
    What a launched bot may use; 0: no limit.

    Attributes:
        cpu_s: Seconds of processor time, each process; the kernel kills at the limit.
        memory_mb: Address space, MiB, each process; allocations beyond it fail.
        processes: The bot and all it started, threads not counted; looked at twice a second, all are killed beyond it.
        file_mb: Size of a file that it writes, MiB; writes beyond it fail.
        log_kb: What is kept of its output, KiB, and its last 2,000 bytes.
    """

    cpu_s: int = 0
    memory_mb: int = 0
    processes: int = 256
    file_mb: int = 1024
    log_kb: int = 1024


@dataclass(slots=True)
class _Bot:
    name: str
    keeper: subprocess.Popen[bytes]
    log: Path


class Launcher:
    """
    Bots as child processes; a context manager that stops them all on the way out.

    Args:
        logs: Folder for what the bots print, one ``NAME.log`` each; made if missing.
        grace_s: Seconds between SIGTERM and SIGKILL.
        limits: For every bot.
    """

    def __init__(self, logs: Path, grace_s: float = 3.0, limits: Limits = Limits()) -> None:
        self.logs = logs
        self.grace_s = grace_s
        self.limits = limits
        self._bots: list[_Bot] = []

    def start(self, name: str, command: Sequence[str], server: str, token: str) -> None:
        """
        Launch bot *name*; it finds the host by ``CHAODIPI_SERVER`` and ``CHAODIPI_TOKEN``.

        Raises:
            BotExitedError: the command cannot be run; the organiser's mistake.
        """
        self.logs.mkdir(parents=True, exist_ok=True)
        log = self.logs / f"{name}.log"
        environment = os.environ | {"CHAODIPI_SERVER": server, "CHAODIPI_TOKEN": token, "PYTHONUNBUFFERED": "1"}
        if shutil.which(command[0]) is None:
            raise BotExitedError(f"bot {name}: cannot run {command[0]!r}: no such program")
        keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_KEEPER), self._settings(log), *command],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._bots.append(_Bot(name, keeper, log))

    def _settings(self, log: Path) -> str:
        limits = self.limits
        return json.dumps(
            {
                "log": str(log),
                "log_bytes": limits.log_kb << 10,
                "grace_ms": int(self.grace_s * 1000),
                "cpu_s": limits.cpu_s,
                "memory": limits.memory_mb << 20,
                "file": limits.file_mb << 20,
                "processes": limits.processes,
            }
        )

    def check(self) -> None:
        """Raise :class:`BotExitedError` if a bot has ended."""
        for bot in self._bots:
            code = bot.keeper.poll()
            if code is not None:
                how = f"signal {code - 128}" if code > 128 else f"signal {-code}" if code < 0 else f"exit code {code}"
                said = _last_line(bot.log)
                raise BotExitedError(f"bot {bot.name} ended ({how}){': ' + said if said else ''}; see {bot.log}")

    async def watch(self) -> None:
        """Run until a bot ends, then raise :class:`BotExitedError`."""
        while True:
            self.check()
            await asyncio.sleep(0.2)

    def stop(self) -> None:
        """Stop every bot and all it started; blocks up to the grace period and a little. Safe to call twice."""
        bots, self._bots = self._bots, []
        for bot in bots:
            assert bot.keeper.stdin is not None
            with contextlib.suppress(OSError):
                bot.keeper.stdin.close()
        until = time.monotonic() + self.grace_s + _KEEPER_S
        for bot in bots:
            try:
                bot.keeper.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                # The kernel kills the bot when its keeper dies.
                bot.keeper.kill()
                bot.keeper.wait()

    def __enter__(self) -> "Launcher":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()


def _last_line(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 2000))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")[:300]
