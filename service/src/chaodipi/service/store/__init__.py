"""The store: leagues, results and bots in one SQLite file."""

from chaodipi.service.store.bots import BotRow, Bots, TokenRow
from chaodipi.service.store.errors import EarlierSchemaError, StoreError
from chaodipi.service.store.store import LeagueRow, Store

__all__ = ["BotRow", "Bots", "EarlierSchemaError", "LeagueRow", "Store", "StoreError", "TokenRow"]
