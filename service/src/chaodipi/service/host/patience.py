"""How long a table that is about to begin waits for bots that are away. It is told the time."""

from collections.abc import Set

__all__ = ["Patience"]


class Patience:
    """
    Each bot of one table may be away for so long.

    Only who is away uses up his own time. It counts on while anybody is missing, so that two bots that come and go in
    turn hold the table up for a bounded time; once all are here, everybody has all of it again.
    """

    def __init__(self, most_s: float) -> None:
        self._most_s = most_s
        self._away_s: dict[str, float] = {}
        self._missing: Set[str] = frozenset()
        self._at_s = 0.0

    def left_s(self, missing: Set[str], now_s: float) -> float:
        """Seconds to wait from *now_s* on, if only *missing* are away and nobody comes or goes; 0: for nobody."""
        for bot in self._missing:
            self._away_s[bot] = self._away_s.get(bot, 0.0) + now_s - self._at_s
        self._missing, self._at_s = missing, now_s
        if not missing:
            self._away_s.clear()
        return max([0.0, *(self._most_s - self._away_s.get(bot, 0.0) for bot in missing)])
