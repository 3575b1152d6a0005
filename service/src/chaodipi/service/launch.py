"""Launches bots as processes, and leaves none behind.

Every bot is the leader of its own process group. It is stopped by SIGTERM, then SIGKILL, to the whole group; on Linux
the kernel kills it should this process die without a word.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

__all__ = ["BotExitedError", "Launcher", "baseline_command"]

BASELINES = ("random", "greedy", "rules")
# Runs in the child before the bot. A `preexec_fn` would fork this process and its gRPC threads instead.
_SHIM = """
import ctypes, os, signal, sys
parent = int(sys.argv[1])
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
if os.getppid() != parent:
    sys.exit("the launcher is gone")
os.execvp(sys.argv[2], sys.argv[2:])
"""


class BotExitedError(RuntimeError):
    """A launched bot ended while it was needed; the message says how and what it last printed."""


def baseline_command(name: str) -> list[str]:
    """The command of one of our own bots, see :data:`BASELINES`."""
    return [sys.executable, "-m", f"chaodipi.sdk.baselines.{name}"]


@dataclass(slots=True)
class _Bot:
    name: str
    process: subprocess.Popen[bytes]
    log: Path


class Launcher:
    """
    Bots as child processes; a context manager that stops them all on the way out.

    Args:
        logs: Folder for what the bots print, one ``NAME.log`` each; made if missing.
        grace_s: Seconds between SIGTERM and SIGKILL.
    """

    def __init__(self, logs: Path, grace_s: float = 3.0) -> None:
        self.logs = logs
        self.grace_s = grace_s
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
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _SHIM, str(os.getpid()), *command],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._bots.append(_Bot(name, process, log))

    def check(self) -> None:
        """Raise :class:`BotExitedError` if a bot has ended."""
        for bot in self._bots:
            code = bot.process.poll()
            if code is not None:
                how = f"signal {-code}" if code < 0 else f"exit code {code}"
                said = _last_line(bot.log)
                raise BotExitedError(f"bot {bot.name} ended ({how}){': ' + said if said else ''}; see {bot.log}")

    async def watch(self) -> None:
        """Run until a bot ends, then raise :class:`BotExitedError`."""
        while True:
            self.check()
            await asyncio.sleep(0.2)

    def stop(self) -> None:
        """Stop every bot and all it started; blocks up to the grace period. Safe to call twice."""
        bots, self._bots = self._bots, []
        for bot in bots:
            _signal_group(bot.process.pid, signal.SIGTERM)
        until = time.monotonic() + self.grace_s
        for bot in bots:
            with contextlib.suppress(subprocess.TimeoutExpired):
                bot.process.wait(max(0.0, until - time.monotonic()))
        for bot in bots:
            # The group outlives its leader if the bot left children.
            _signal_group(bot.process.pid, signal.SIGKILL)
            bot.process.wait()

    def __enter__(self) -> "Launcher":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _last_line(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 2000))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")[:300]
