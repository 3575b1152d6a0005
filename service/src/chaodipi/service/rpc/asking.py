"""Questions to the archive: each caller in his turn, and what it cannot or may not answer as a refusal."""

import contextlib
from collections.abc import AsyncIterator, Iterator

from chaodipi.service.host.errors import SessionRefused
from chaodipi.service.rpc.gate import principal
from chaodipi.service.rpc.turns import Turns
from chaodipi.service.store.archive import Archive, BusyError, DamagedError, MissingError, SecretError
from chaodipi.service.store.errors import StoreError

__all__ = ["ReadingDesk"]


class ReadingDesk:
    """Where *archive* is asked; None: a host that keeps no leagues."""

    def __init__(self, archive: Archive | None) -> None:
        self._archive = archive
        self._turns = Turns()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to read."""
        return self._archive is None

    @contextlib.asynccontextmanager
    async def asking(self, what: str, name: str) -> AsyncIterator[Archive]:
        """
        The archive, to be asked for *name*, a "league", a "match" or a "bot", when it is the caller's turn.

        Raises:
            SessionRefused: MATCH_NOT_FOUND, LEAGUE_NOT_FOUND, DEALS_STILL_SECRET, RECORD_DAMAGED, RATE_LIMITED or
                STORE_UNAVAILABLE, for the errors of the archive.
        """
        with _refused(what, name):
            if self._archive is None:
                raise MissingError
            async with self._turns.of(principal().token_id):
                yield self._archive


@contextlib.contextmanager
def _refused(what: str, name: str) -> Iterator[None]:
    """Errors of the archive as refusals."""
    try:
        yield
    except MissingError:
        if what == "league":
            raise SessionRefused(5, "LEAGUE_NOT_FOUND", f"there is no {name}", {"name": name}) from None
        raise SessionRefused(5, "MATCH_NOT_FOUND", f"there is no {name}", {"name": name}) from None
    except SecretError:
        text = f"a table of the board of {name} is open or will be played again"
        raise SessionRefused(9, "DEALS_STILL_SECRET", text, {"name": name}) from None
    except DamagedError as error:
        raise SessionRefused(15, "RECORD_DAMAGED", f"{name}: {error}", {"name": name}) from error
    except BusyError as error:
        raise SessionRefused(8, "RATE_LIMITED", f"{error}: try again", retry_after_s=1.0) from error
    except StoreError as error:
        # Its text names a path of the host.
        text = "the store cannot be read now: try again"
        raise SessionRefused(14, "STORE_UNAVAILABLE", text, retry_after_s=1.0) from error
