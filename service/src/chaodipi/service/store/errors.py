"""The one error of the store."""

__all__ = ["StoreError"]


class StoreError(Exception):
    """The store cannot be used as asked; the message is one line that names it."""
