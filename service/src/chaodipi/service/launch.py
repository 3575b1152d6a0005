"""Launches bots as processes, and leaves none behind, however this process ends.

Every bot has a keeper (:mod:`chaodipi.service.keeper`), a small process that limits it, caps its log, and kills it and
all that it started as soon as this process stops it or is gone.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

__all__ = ["RESTARTS", "BotEnd", "BotExitedError", "Launcher", "Limits", "baseline_command"]

BASELINES = ("random", "greedy", "rules")
_KEEPER = Path(__file__).with_name("keeper.py")
RESTARTS = 10
"""How often a launched bot is started again."""
_LOOK_S = 0.2
_AGAIN_FIRST_S, _AGAIN_MOST_S = 0.5, 30.0
_TLS = ("CHAODIPI_CA", "CHAODIPI_CERT", "CHAODIPI_KEY")
"""What would have a bot speak TLS to the host that launched it, which serves it in the clear."""
_SIGNALS = {number.value: number.name for number in signal.Signals}
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
        cpu_s: Seconds of processor time, each process; SIGXCPU at the limit, SIGKILL a second later.
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


@dataclass(frozen=True, slots=True)
class BotEnd:
    """A launched bot has ended; *how* says by what and what it last printed. ``again_s`` None: it stays away."""

    name: str
    how: str
    again_s: float | None

    def __str__(self) -> str:
        then = "not started again" if self.again_s is None else f"started again in {self.again_s:g} s"
        return f"bot {self.name} ended {self.how}; {then}"


@dataclass(slots=True)
class _Bot:
    """``due``: when it is started again. ``ends``: how often it has ended; ``gone``: it stays away."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str]
    log: Path
    keeper: subprocess.Popen[bytes]
    ends: int = 0
    due: float | None = None
    gone: bool = False


class Launcher:
    """
    Bots as child processes; a context manager that stops them all on the way out.

    Args:
        logs: Folder for what the bots print, one ``NAME.log`` each; made if missing.
        grace_s: Seconds between SIGTERM and SIGKILL.
        limits: For every bot.
        restarts: How often :meth:`tend` starts one bot again.
    """

    def __init__(
        self, logs: Path, grace_s: float = 3.0, limits: Limits = Limits(), *, restarts: int = RESTARTS
    ) -> None:
        self.logs = logs
        self.grace_s = grace_s
        self.limits = limits
        self.restarts = restarts
        self._bots: list[_Bot] = []

    def start(self, name: str, command: Sequence[str], server: str, token: str) -> None:
        """
        Launch bot *name*; it finds the host by ``CHAODIPI_SERVER`` and ``CHAODIPI_TOKEN``.

        Raises:
            BotExitedError: the command cannot be run; the organiser's mistake.
        """
        self.logs.mkdir(parents=True, exist_ok=True)
        log = self.logs / f"{name}.log"
        environment = {name: value for name, value in os.environ.items() if name not in _TLS}
        environment |= {"CHAODIPI_SERVER": server, "CHAODIPI_TOKEN": token, "PYTHONUNBUFFERED": "1"}
        if shutil.which(command[0]) is None:
            raise BotExitedError(f"bot {name}: cannot run {command[0]!r}: no such program")
        keeper = self._keeper(log, command, environment, append=False)
        self._bots.append(_Bot(name, tuple(command), environment, log, keeper))

    def _keeper(
        self, log: Path, command: Sequence[str], environment: dict[str, str], *, append: bool
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(_KEEPER), self._settings(log, append=append), *command],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _settings(self, log: Path, *, append: bool) -> str:
        limits = self.limits
        return json.dumps(
            {
                "log": str(log),
                "append": append,
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
                raise BotExitedError(f"bot {bot.name} ended {_how(bot, code)}; see {bot.log}")

    async def watch(self) -> None:
        """Run until a bot ends, then raise :class:`BotExitedError`."""
        while True:
            self.check()
            await asyncio.sleep(_LOOK_S)

    def tend(self) -> list[BotEnd]:
        """
        Start bots again whose pause is over, and say which have ended since the last call; call it now and then.

        The pause doubles from half a second to half a minute. A bot that has been started again ``restarts`` times
        stays away.
        """
        ends: list[BotEnd] = []
        for bot in self._bots:
            if bot.due is not None and time.monotonic() >= bot.due:
                bot.due = None
                _close(bot.keeper)
                bot.keeper = self._keeper(bot.log, bot.command, bot.environment, append=True)
            elif bot.due is None and not bot.gone and (code := bot.keeper.poll()) is not None:
                ends.append(self._ended(bot, code))
        return ends

    def _ended(self, bot: _Bot, code: int) -> BotEnd:
        again_s = min(_AGAIN_MOST_S, _AGAIN_FIRST_S * 2.0 ** min(bot.ends, 16))
        bot.ends += 1
        if bot.ends > self.restarts:
            bot.gone = True
            return BotEnd(bot.name, _how(bot, code), None)
        bot.due = time.monotonic() + again_s
        return BotEnd(bot.name, _how(bot, code), again_s)

    async def keep(self, told: Callable[[BotEnd], None]) -> None:
        """Tend the bots until cancelled; *told* hears of every end."""
        while True:
            for end in self.tend():
                told(end)
            await asyncio.sleep(_LOOK_S)

    def stop(self) -> None:
        """Stop every bot and all it started; blocks up to the grace period and a little. Safe to call twice."""
        bots, self._bots = self._bots, []
        for bot in bots:
            _close(bot.keeper)
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


def _close(keeper: subprocess.Popen[bytes]) -> None:
    """Let go of the pipe that keeps *keeper* at work."""
    assert keeper.stdin is not None
    with contextlib.suppress(OSError):
        keeper.stdin.close()


def _how(bot: _Bot, code: int) -> str:
    """By what *bot* ended, and what it last said."""
    number = code - 128 if code > 128 else -code
    how = _SIGNALS.get(number, f"signal {number}") if number > 0 else f"exit code {code}"
    said = _last_line(bot.log)
    return f"({how}){': ' + said if said else ''}"


def _last_line(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 2000))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")[:300]
