"""Tests that need a program from outside the Python environment.

Mark such a test with ``@needs_tool("node")``. Without the program it is left out and named at the end of the
run; with ``CHAODIPI_REQUIRE_ALL=1`` it fails, so that CI leaves nothing out.
"""

import os
import shutil
from typing import NoReturn

import pytest

# Programs that go by more than one name.
NAMES = {"chromium": ("chromium", "chromium-browser", "google-chrome")}
LEFT_OUT = "left out, missing tool: "

needs_tool = pytest.mark.needs_tool


def find_tool(name: str) -> str | None:
    """Return the path of the program *name*, or None."""
    return next((path for known in NAMES.get(name, (name,)) if (path := shutil.which(known))), None)


def require_tools(names: tuple[str, ...]) -> None:
    """Leave the running test out, or fail it, if one of *names* is missing."""
    missing = [name for name in names if find_tool(name) is None]
    if missing:
        leave_out(", ".join(missing))


def leave_out(what: str, why: object = "not found") -> NoReturn:
    """End the running test because *what* is missing: left out, or failed where nothing may be left out."""
    if os.environ.get("CHAODIPI_REQUIRE_ALL") == "1":
        pytest.fail(f"CHAODIPI_REQUIRE_ALL is set, but {what} is missing: {why}", pytrace=False)
    pytest.skip(f"{LEFT_OUT}{what} ({why})")
