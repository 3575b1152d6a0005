"""What the archive cannot or may not answer, as refusals; and a host that keeps no leagues."""

import contextlib
from collections.abc import Iterator

from chaodipi.service.host.errors import SessionRefused
from chaodipi.service.store.archive import Archive, BusyError, DamagedError, MissingError, SecretError
from chaodipi.service.store.errors import StoreError

__all__ = ["asking"]


@contextlib.contextmanager
def asking(archive: Archive | None, what: str, name: str) -> Iterator[Archive]:
    """
    The *archive*, to be asked for *name*, a "league" or a "match".

    Raises:
        SessionRefused: MATCH_NOT_FOUND, LEAGUE_NOT_FOUND, DEALS_STILL_SECRET, RECORD_DAMAGED, RATE_LIMITED or
            STORE_UNAVAILABLE, for the errors of the archive.
    """
    try:
        if archive is None:
            raise MissingError
        yield archive
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
