"""What this host is and speaks."""

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

__all__ = ["API_MINOR", "CAPABILITIES", "server_version"]

API_MINOR = 0
CAPABILITIES = ("legal.factored", "rules.judge", "session.resume")


@lru_cache(maxsize=1)
def server_version() -> str:
    """Version of the host's distribution, "0+source" in a tree that is not installed."""
    try:
        return version("chaodipi-server")
    except PackageNotFoundError:
        return "0+source"
