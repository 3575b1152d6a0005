"""The one error that the commands show: a line that names the thing, exit code 2, no traceback."""

__all__ = ["UsageError"]


class UsageError(Exception):
    """A mistake of the user's, or of his machine; the message is the whole line."""
