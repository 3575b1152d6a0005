"""The store: leagues, results and bots in one SQLite file."""

from chaodipi.service.store.store import LeagueRow, Store, StoreError

__all__ = ["LeagueRow", "Store", "StoreError"]
