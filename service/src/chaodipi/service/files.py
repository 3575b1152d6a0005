"""Files that appear whole or not at all, and are on disk before anything is said of them."""

import os
from pathlib import Path

__all__ = ["sync_folder", "write_whole"]


def write_whole(path: Path, text: str) -> None:
    """
    Have *text* at *path*, its bytes on disk before the name is given; the name is when :func:`sync_folder` returns.

    Raises:
        OSError: it cannot be written; what was at *path* before is there still.
    """
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def sync_folder(folder: Path) -> None:
    """Have the names in *folder* on disk; OSError if that fails."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
