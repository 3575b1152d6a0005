"""The parent process of one launched bot: it limits the bot, keeps its log short, and outlives the host to kill it.

Run as a file, standard library only, so that it starts in milliseconds: ``python -I -S keeper.py JSON COMMAND…``. Its
standard input is a pipe that the host holds open and never writes to. The end of that pipe, however the host came to
its end, or SIGTERM, ends the bot: SIGTERM to the bot's group, a grace, then SIGKILL to every descendant. On Linux the
keeper adopts what the bot leaves behind (a subreaper), so that a child which made itself a session of its own is found
as well.

The exit code is the bot's, or 128 and the number of the signal that killed it.
"""

import ctypes
import json
import os
import resource
import select
import signal
import sys
import time

LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_TAIL_BYTES = 2_000
_POLL_S = 0.5
_RLIMITS = {"cpu_s": resource.RLIMIT_CPU, "memory": resource.RLIMIT_AS, "file": resource.RLIMIT_FSIZE}
_CPU_MERCY_S = 1
"""Between SIGXCPU, which says what it is for, and the SIGKILL for whoever does not heed it."""


class Log:
    """The first bytes of what a bot prints, and, if there was more, the last ones."""

    def __init__(self, path: str, cap: int, *, append: bool) -> None:
        # The keeper's own umask; the bot never has this descriptor.
        how = os.O_APPEND if append else os.O_TRUNC
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | how | os.O_CLOEXEC, 0o644)
        except OSError as error:
            # A full disk costs the log, not the bot.
            complain(f"no log at {path}: {error.strerror}")
            self._file = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        self._left = cap
        self._dropped = 0
        self._tail = b""

    def write(self, data: bytes) -> None:
        """Keep what fits; remember the end of the rest."""
        kept, rest = data[: self._left], data[self._left :]
        self._left -= len(kept)
        self._put(kept)
        if rest:
            self._dropped += len(rest)
            self._tail = (self._tail + rest)[-_TAIL_BYTES:]

    def close(self) -> None:
        """Say what was left out."""
        if self._dropped:
            self._put(b"\n[%d bytes left out here; the end was:]\n" % max(0, self._dropped - len(self._tail)))
            self._put(self._tail)
        os.close(self._file)

    def _put(self, data: bytes) -> None:
        # A full disk costs the log, not the bot.
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError:
            return


def complain(text: str) -> None:
    """Say *text* where the host says what goes wrong; no matter if nobody can hear it."""
    try:
        os.write(2, text.encode() + b"\n")
    except OSError:
        return


def prctl(option: int, value: int) -> None:
    """Ask the kernel; nothing happens elsewhere than on Linux."""
    if LINUX:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def become_bot(command: list[str], output: int, limits: dict[str, int], parent: int) -> None:
    """In the child: own session, limits, then the bot's program. Never returns."""
    try:
        os.setsid()
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        for name, kind in _RLIMITS.items():
            if limits[name]:
                hard = limits[name] + (_CPU_MERCY_S if kind == resource.RLIMIT_CPU else 0)
                resource.setrlimit(kind, (limits[name], hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"cannot run {command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def descendants() -> list[int]:
    """Processes below this one, by the kernel's list; empty elsewhere than on Linux."""
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children") as file:
                    waiting += [int(child) for child in file.read().split()]
        except OSError:
            continue
        found.append(pid)
    return [pid for pid in found if pid != os.getpid()]


def kill(pid: int, number: int, *, group: bool = False) -> None:
    """Send a signal; no matter if nobody is left."""
    try:
        if group:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
    except OSError:
        return


def reap() -> dict[int, tuple[int, float]]:
    """Of every child that has ended, by process: wait status, and seconds of processor time."""
    ended: dict[int, tuple[int, float]] = {}
    while True:
        try:
            pid, status, used = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if not pid:
            return ended
        ended[pid] = status, used.ru_utime + used.ru_stime


def limit_of(status: int, cpu_s: float, limits: dict[str, int]) -> bytes:
    """Which limit the kernel ended the bot for, as a line of its log; empty if for none, or none that it tells."""
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    spent = limits["cpu_s"] and cpu_s >= limits["cpu_s"]
    if number == signal.SIGXCPU or (number == signal.SIGKILL and spent):
        return b"\n[killed: more than %d s of processor time]\n" % limits["cpu_s"]
    if number == signal.SIGXFSZ:
        return b"\n[killed: a file of more than %d MiB]\n" % (limits["file"] >> 20)
    return b""


def keep(command: list[str], settings: dict[str, int], log: Log) -> int:
    """Start the bot, keep it until it or the host ends, leave nothing behind; the exit code."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    wake_out, wake_in = os.pipe()
    for pipe in (wake_out, wake_in):
        os.set_blocking(pipe, False)
    signal.set_wakeup_fd(wake_in)
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: stopping.append(number))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is the host's to handle
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    output, output_in = os.pipe()
    os.set_blocking(output, False)
    keeper = os.getpid()
    bot = os.fork()
    if not bot:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        become_bot(command, output_in, settings, keeper)
    os.close(output_in)
    watched = select.poll()
    for pipe in (0, output, wake_out):
        watched.register(pipe, select.POLLIN | select.POLLHUP)
    end: tuple[int, float] | None = None
    deadline: float | None = None
    while end is None:
        for ready, _event in watched.poll(_POLL_S * 1000):
            if ready == output:
                if not copy(output, log):
                    watched.unregister(output)
            elif ready == wake_out:
                drain(wake_out)
            elif not os.read(0, 4096):
                watched.unregister(0)
                stopping.append(signal.SIGHUP)
        end = reap().get(bot)
        if settings["processes"] and signal.SIGKILL not in stopping and len(descendants()) > settings["processes"]:
            log.write(b"\n[killed: more than %d processes]\n" % settings["processes"])
            kill(bot, signal.SIGKILL, group=True)
            stopping.append(signal.SIGKILL)
        if stopping and deadline is None:
            kill(bot, signal.SIGTERM, group=True)
            deadline = time.monotonic() + settings["grace_ms"] / 1000
        if deadline is not None and time.monotonic() >= deadline:
            kill(bot, signal.SIGKILL, group=True)
    kill(bot, signal.SIGKILL, group=True)
    kill_the_rest()
    copy(output, log)
    status, cpu_s = end
    log.write(limit_of(status, cpu_s, settings))
    return os.waitstatus_to_exitcode(status)


def copy(output: int, log: Log) -> bool:
    """Move what the bot has printed into the log; False at the end of the pipe."""
    # Bounded, so that a babbling bot cannot keep the keeper from its other duties.
    for _ in range(64):
        try:
            data = os.read(output, 65_536)
        except BlockingIOError:
            return True
        if not data:
            return False
        log.write(data)
    return True


def drain(pipe: int) -> None:
    """Forget which signals came; they are looked for anyway."""
    try:
        while os.read(pipe, 4096):
            pass
    except BlockingIOError:
        return


def kill_the_rest() -> None:
    """Kill and reap descendants until there are none; what one of them starts meanwhile is found in the next round."""
    for _ in range(100):
        reap()
        left = descendants()
        if not left:
            return
        for pid in left:
            kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def main() -> None:
    """Keep the bot of the command line."""
    settings = json.loads(sys.argv[1])
    log = Log(settings["log"], settings["log_bytes"], append=settings["append"])
    try:
        code = keep(sys.argv[2:], settings, log)
    finally:
        log.close()
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
