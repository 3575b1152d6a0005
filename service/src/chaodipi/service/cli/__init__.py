"""The command ``chaodipi``."""

from chaodipi.service.cli.app import main

__all__ = ["main"]
