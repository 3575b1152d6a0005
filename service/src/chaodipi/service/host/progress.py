"""How far the tables of a league are, told without telling when one of them is over."""

from typing import Protocol

from chaodipi.service.match.table import TableResult, TableSpec

__all__ = ["Progress"]


class _Host(Protocol):
    async def play_table(self, spec: TableSpec) -> TableResult: ...

    def has_started(self, table_id: str) -> bool: ...


class Progress:
    """Plays tables at *host* and remembers which ones it was given."""

    def __init__(self, host: _Host) -> None:
        self._host = host
        self._begun: set[str] = set()
        self._playing: set[str] = set()

    async def play_table(self, spec: TableSpec) -> TableResult:
        """Play one table to its end, see :meth:`Host.play_table`."""
        self._begun.add(spec.table_id)
        self._playing.add(spec.table_id)
        try:
            return await self._host.play_table(spec)
        finally:
            self._playing.discard(spec.table_id)

    def stage(self, table_id: str) -> str:
        """
        ``pending``, ``waiting`` for its bots, or ``running``.

        A table that is over stays ``running``: that it is over, before the other tables of its board are, is a hint at
        how their cards can be played.
        """
        if table_id not in self._begun:
            return "pending"
        waits = table_id in self._playing and not self._host.has_started(table_id)
        return "waiting" if waits else "running"
