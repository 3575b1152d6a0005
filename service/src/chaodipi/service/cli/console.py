"""The screen that commands write to."""

import sys

from chaodipi.service.streams import lossy
from rich.console import Console

__all__ = ["Screen"]


class Screen(Console):
    """
    A console on standard output.

    Args:
        work: The command does more than answer. What cannot be shown is lost then, and the work goes on; otherwise it
            is an error like any other (``BrokenPipeError``, ``OSError``).
    """

    def __init__(self, *, work: bool = False) -> None:
        if work:
            sys.stdout = lossy(sys.stdout)
        super().__init__()

    def on_broken_pipe(self) -> None:
        """Leave it to the caller; rich would end the process with exit code 1."""
        raise BrokenPipeError
