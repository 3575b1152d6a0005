"""What this host is and speaks."""

import re
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

__all__ = ["API_MINOR", "CAPABILITIES", "OLDEST_SDK", "sdk_too_old", "server_version"]

API_MINOR = 0
CAPABILITIES = ("legal.factored", "rules.judge", "session.resume")
OLDEST_SDK = "0.1.0"
"""Of our SDK the oldest version that speaks what this host speaks."""


def sdk_too_old(sdk: str) -> str | None:
    """The version that ``Hello.sdk`` says if it is ours and older than :data:`OLDEST_SDK`, else None."""
    found = re.match(r"chaodipi-sdk/(\d{1,6}\.\d{1,6}\.\d{1,6})", sdk)
    return found[1] if found and _numbers(found[1]) < _numbers(OLDEST_SDK) else None


def _numbers(version_text: str) -> tuple[int, ...]:
    return tuple(map(int, version_text.split(".")))


@lru_cache(maxsize=1)
def server_version() -> str:
    """Version of the host's distribution, "0+source" in a tree that is not installed."""
    try:
        return version("chaodipi-server")
    except PackageNotFoundError:
        return "0+source"
