"""Whether processes are there, by the kernel's word."""

import time
from pathlib import Path

WAIT_S = 20.0


def alive(pid):
    """Whether the process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def gone(pids, within_s=5.0):
    """Whether all are gone, or go in time."""
    until = time.monotonic() + within_s
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.02)
    return not any(map(alive, pids))


def below(pid):
    """Every process below *pid*."""
    found, waiting = [], [pid]
    while waiting:
        for task in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
            try:
                children = [int(child) for child in task.read_text().split()]
            except OSError:
                continue
            found += children
            waiting += children
    return found


def wait_until(condition, what, within_s=WAIT_S):
    """Wait for *condition*; fail naming *what*."""
    until = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until, f"not in {within_s:g} s: {what}"
        time.sleep(0.02)
