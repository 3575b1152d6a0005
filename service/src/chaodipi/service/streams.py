"""Streams for what is said beside the work: screen and log."""

import contextlib
import os
import sys
from typing import Any, TextIO, cast

__all__ = ["lossy", "standard_streams"]


class _Lossy:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            return self._stream.write(text)
        return 0

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def lossy(stream: TextIO) -> TextIO:
    """*stream*, but what it cannot take is lost, and whoever wrote it goes on: a full disk, a reader that went away."""
    return cast(TextIO, _Lossy(stream))


def standard_streams() -> None:
    """
    Have standard input, output and error open, and able to take any character.

    Where the caller closed one, the next file that is opened would get its number, and somebody's message would be
    written into a record or a log.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        stream: Any = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
        elif mode == "w":
            # A character that the terminal lacks is shown as "?": it must not stop a league.
            stream.reconfigure(errors="replace")
