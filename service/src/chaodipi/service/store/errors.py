"""What can be wrong with the store."""

__all__ = ["EarlierSchemaError", "StoreError"]


class StoreError(Exception):
    """The store cannot be used as asked; the message is one line that names it."""


class EarlierSchemaError(StoreError):
    """The store is of an earlier version: it is brought up to date by whoever writes to it next, or by hand."""
