"""Whom a running host lets in: the tokens of the store, looked at again and again."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol

import structlog
from chaodipi.service.host.identity import ADMIN, READING, Grant
from chaodipi.service.store import Store, StoreError, TokenRow

__all__ = ["Admission", "grant_of"]

log = structlog.get_logger("chaodipi.cli")

LOOK_S = 1.0


class _Host(Protocol):
    def set_grants(self, grants: Iterable[Grant]) -> None: ...

    def take_used(self) -> dict[str, float]: ...


def grant_of(token: TokenRow) -> Grant:
    """What the host needs to know of *token*."""
    return Grant(
        token.bot, token.hash, frozenset(token.scopes), token.expires_at, token.revoked_at is not None, token.id
    )


def _reading(scopes: frozenset[str]) -> frozenset[str]:
    """What of *scopes* only reads."""
    return READING if ADMIN in scopes else scopes & READING


class Admission:
    """
    The tokens of *store*, for a host.

    Args:
        wanted: Which bots to let in.
        others_read: Let in the others' tokens too, but to read only, as far as their scopes go.
    """

    def __init__(
        self, store: Store, wanted: Callable[[str], bool] = lambda _bot: True, *, others_read: bool = False
    ) -> None:
        self._store = store
        self._wanted = wanted
        self._others_read = others_read
        self.bots: set[str] = set()
        """Names of all bots that ever had a token here."""

    def grants(self) -> list[Grant]:
        """What the store says now; StoreError if it cannot."""
        given = self._store.bots.tokens()
        tokens = [token for token in given if self._wanted(token.bot)]
        self.bots |= {token.bot for token in tokens}
        grants = [grant_of(token) for token in tokens]
        if self._others_read:
            others = [grant_of(token) for token in given if not self._wanted(token.bot)]
            grants += [replace(grant, scopes=scopes) for grant in others if (scopes := _reading(grant.scopes))]
        return grants

    async def follow(self, host: _Host, added: Callable[[str], None] = lambda _bot: None) -> None:
        """
        Tell *host* of every change and write down when tokens were used, until cancelled; *added* is told of new bots.

        A store that cannot be read or written for a while changes nothing for those who are in.
        """
        unwritten: dict[str, float] = {}
        while True:
            await asyncio.sleep(LOOK_S)
            known = set(self.bots)
            unwritten |= host.take_used()
            try:
                host.set_grants(await asyncio.to_thread(self.grants))
                await asyncio.to_thread(self._store.bots.used, unwritten)
                unwritten = {}
            except StoreError as error:
                log.warning("store_unavailable", error=str(error))
            for name in sorted(self.bots - known):
                added(name)
