"""``results.json``: written last, whole or not at all."""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chaodipi.service.cli.errors import UsageError
from chaodipi.service.files import sync_folder, write_whole

__all__ = ["write_results"]


def write_results(path: Path, results: Mapping[str, Any], otherwise: str) -> None:
    """
    Write *results* to *path*; on disk when this returns.

    Raises:
        UsageError: that cannot be; *otherwise* says what to do then.
    """
    try:
        write_whole(path, json.dumps(results, indent=1) + "\n")
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            path.with_name(path.name + ".part").unlink()
        raise UsageError(f"{path} cannot be written: {error.strerror}; {otherwise}") from error
