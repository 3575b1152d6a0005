"""Clocks that a test sets: it steps time instead of waiting."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def stepping() -> Iterator[Callable[[float], None]]:
    """The running loop's monotonic clock, by which the host measures everything; what is yielded sets it forward."""
    loop = asyncio.get_running_loop()
    true, ahead_s = loop.time, 0.0

    def step(seconds: float) -> None:
        nonlocal ahead_s
        ahead_s += seconds

    loop.time = lambda: true() + ahead_s  # type: ignore[method-assign]
    try:
        yield step
    finally:
        loop.time = true  # type: ignore[method-assign]
