"""Logs: one JSON object a line on stderr. Never cards of a running deal, never tokens."""

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import structlog
from chaodipi.service.streams import lossy
from structlog.tracebacks import ExceptionDictTransformer

__all__ = ["LEVELS", "configure_logs", "logs_in"]

_SECRET = ("token", "seat_token", "resume_token", "authorization", "cards", "hand", "hands", "bottom", "seed")


LEVELS = ("debug", "info", "warning", "error")
_BLOCK = 65_536


def _without_secrets(logger: object, name: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Replace what must never be in a log, should somebody bind it."""
    for key in _SECRET:
        if key in event:
            event[key] = "(left out)"
    return event


def configure_logs(level: str = "info", stream: TextIO | None = None) -> None:
    """
    Write logs from *level* on (:data:`LEVELS`) to *stream*, stderr by default.

    Raises:
        ValueError: no such level; the caller's mistake.
    """
    if level.lower() not in LEVELS:
        raise ValueError(f"unknown log level {level!r}: one of {', '.join(LEVELS)}")
    number = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _without_secrets,
            # Locals would put hands and tokens into the log.
            structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False)),
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(lossy(stream or sys.stderr)),
        cache_logger_on_first_use=False,
    )


def _cut_torn_line(path: Path) -> None:
    """Take a last line that is not whole off *path*: its writer was killed, and the next line would be spoilt by it."""
    if not path.is_file():
        return
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            begin = max(0, end - _BLOCK)
            file.seek(begin)
            found = file.read(end - begin).rfind(b"\n")
            if found >= 0:
                end = begin + found + 1
                break
            end = begin
        file.truncate(end)


@contextlib.contextmanager
def logs_in(path: Path, *, append: bool, level: str = "info") -> Iterator[None]:
    """
    Write logs from *level* on to *path* while the block runs, whole lines only.

    What cannot be written there later costs lines, and nothing else.

    Raises:
        OSError: *path* cannot be opened.
    """
    if append:
        _cut_torn_line(path)
    stream = path.open("a" if append else "w", encoding="utf-8", buffering=1)
    configure_logs(level, stream)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            stream.close()
