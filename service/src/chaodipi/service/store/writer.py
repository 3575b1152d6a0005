"""The one task that writes results; whatever waits shares a commit."""

import asyncio
import time
from collections.abc import Callable
from types import TracebackType

import structlog
from chaodipi.service.store.errors import StoreError
from chaodipi.service.store.rows import Rows
from chaodipi.service.store.store import Store

__all__ = ["Writer"]

log = structlog.get_logger("chaodipi.store")


class Writer:
    """
    ``save`` returns when its rows are on disk; what waits shares a commit.

    A context manager; on the way out everything handed over is written.
    """

    def __init__(self, store: Store, took: Callable[[float], None] = lambda _seconds: None) -> None:
        """*took* is told the seconds of each write."""
        self._store = store
        self._took = took
        self._waiting: list[tuple[Rows, asyncio.Future[None]]] = []
        self._wake = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Writer":
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._closing = True
        self._wake.set()
        if self._task is not None:
            await self._task

    async def save(self, rows: Rows) -> None:
        """
        Write *rows*, all or none; the same rows again are no change.

        Raises:
            StoreError: the store cannot, or has another result of one of their tables, which stays.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((rows, done))
        self._wake.set()
        await done

    async def _run(self) -> None:
        while not (self._closing and not self._waiting):
            await self._wake.wait()
            self._wake.clear()
            group, self._waiting = self._waiting, []
            if group:
                await self._write(group)

    async def _write(self, group: list[tuple[Rows, asyncio.Future[None]]]) -> None:
        rows = Rows(
            tuple(row for some, _ in group for row in some.results),
            tuple(row for some, _ in group for row in some.timings),
            tuple(row for some, _ in group for row in some.summaries),
        )
        error: StoreError | None = None
        conflicts: set[str] = set()
        began = time.monotonic()
        try:
            conflicts.update(await asyncio.to_thread(self._store.save, rows))
        except StoreError as problem:
            error = problem
        except Exception as problem:
            # Ours: whoever waits must hear of it, or the league would wait for ever.
            log.exception("write_failed")
            error = StoreError(f"store {self._store.path}: an internal error, {type(problem).__name__}")
        self._took(time.monotonic() - began)
        for some, done in group:
            failure = error or self._conflict(some, conflicts)
            if done.done():
                continue
            if failure is None:
                done.set_result(None)
            else:
                done.set_exception(failure)

    def _conflict(self, rows: Rows, conflicts: set[str]) -> StoreError | None:
        """Why *rows* do not count, if another result of one of their tables was there before."""
        of_them = sorted(row["table_id"] for row in rows.results if row["table_id"] in conflicts)
        if not of_them:
            return None
        log.error("result_conflict", tables=of_them, kept="first")
        return StoreError(f"store {self._store.path} has another result of {of_them[0]}, which stays")
