"""The bots of a store and their tokens. Each change is one short transaction, so it goes beside a league's writing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from chaodipi.service.store.database import Database
from chaodipi.service.store.errors import StoreError
from chaodipi.service.store.tables import bots, tokens
from sqlalchemy.dialects.sqlite import insert

__all__ = ["BotRow", "Bots", "TokenRow"]


@dataclass(frozen=True, slots=True)
class TokenRow:
    """
    A token as stored; times in Unix seconds, None: never.

    Attributes:
        id: What the token begins with.
        bot: The bot that it belongs to.
        hash: SHA-256 of it, hex.
        scopes: What it allows.
    """

    id: str
    bot: str
    hash: str
    scopes: tuple[str, ...]
    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None
    used_at: float | None = None

    def holds(self, now: float) -> bool:
        """Whether it lets its bot in at *now*."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True)
class BotRow:
    """A bot as stored; ``tokens`` from the oldest to the newest, ``created_at`` in Unix seconds."""

    name: str
    owner: str
    created_at: float
    tokens: tuple[TokenRow, ...]


class Bots:
    """The bots of a store; every method raises StoreError where the store cannot be read or written."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, token: TokenRow, owner: str = "") -> None:
        """
        Add the bot of *token*, and the token.

        Raises:
            StoreError: there is such a bot.
        """
        row = {"name": token.bot, "owner": owner, "created_at": _text(token.created_at)}
        with self._database.writing() as connection:
            added = connection.execute(insert(bots).values(row).on_conflict_do_nothing().returning(bots.c.name)).all()
            if not added:
                raise StoreError(f"bot {token.bot!r} exists already in {self._database.path}")
            connection.execute(insert(tokens).values(_values(token)))

    def all(self) -> list[BotRow]:
        """Every bot with every token it ever had, sorted by name."""
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(bots).order_by(bots.c.name)).all()
            given = _tokens(connection)
        return [
            BotRow(row.name, row.owner, _seconds(row.created_at), tuple(t for t in given if t.bot == row.name))
            for row in rows
        ]

    def get(self, name: str) -> BotRow:
        """
        The bot *name*.

        Raises:
            StoreError: there is none; it names those that there are.
        """
        known = self.all()
        found = next((bot for bot in known if bot.name == name), None)
        if found is None:
            raise self._unknown("bot", name, [bot.name for bot in known])
        return found

    def tokens(self) -> list[TokenRow]:
        """Every token, from the oldest to the newest."""
        with self._database.reading() as connection:
            return _tokens(connection)

    def rotate(self, token: TokenRow, until: float) -> None:
        """
        Add *token* to its bot, whose other tokens end at *until*, or before if they would have.

        One whose end is not after the new token's beginning is revoked.

        Raises:
            StoreError: there is no such bot.
        """
        with self._database.writing() as connection:
            known = list(connection.execute(sa.select(bots.c.name).order_by(bots.c.name)).scalars())
            if token.bot not in known:
                raise self._unknown("bot", token.bot, known)
            for old in _tokens(connection, tokens.c.bot == token.bot):
                if not old.holds(token.created_at):
                    continue
                if until <= token.created_at:
                    values = {"revoked_at": _text(token.created_at)}
                else:
                    values = {"expires_at": _text(until if old.expires_at is None else min(until, old.expires_at))}
                connection.execute(sa.update(tokens).where(tokens.c.id == old.id).values(values))
            connection.execute(insert(tokens).values(_values(token)))

    def revoke(self, which: str, now: float) -> list[TokenRow]:
        """
        Revoke the token of id *which*, or every token of the bot *which*: those that were not yet.

        Raises:
            StoreError: no such bot or token.
        """
        return self._change(which, lambda token: token.revoked_at is None, {"revoked_at": _text(now)})

    def expire(self, which: str, at: float | None) -> list[TokenRow]:
        """
        Have the token of id *which*, or every token of the bot *which*, end *at*: those that are not revoked.

        Raises:
            StoreError: no such bot or token.
        """
        end = None if at is None else _text(at)
        return self._change(which, lambda token: token.revoked_at is None, {"expires_at": end})

    def used(self, uses: Mapping[str, float]) -> None:
        """Note when tokens were used last: id → Unix seconds; ids that are not here are left out."""
        if not uses:
            return
        with self._database.writing() as connection:
            for key, at in uses.items():
                connection.execute(sa.update(tokens).where(tokens.c.id == key).values(used_at=_text(at)))

    def _change(self, which: str, wanted: Any, values: Mapping[str, str | None]) -> list[TokenRow]:
        with self._database.writing() as connection:
            found = _tokens(connection, tokens.c.bot == which) or _tokens(connection, tokens.c.id == which)
            if not found:
                names = list(connection.execute(sa.select(bots.c.name).order_by(bots.c.name)).scalars())
                raise self._unknown("bot and no token", which, names)
            chosen = [token for token in found if wanted(token)]
            for token in chosen:
                connection.execute(sa.update(tokens).where(tokens.c.id == token.id).values(**values))
        return chosen

    def _unknown(self, what: str, name: str, known: Sequence[str]) -> StoreError:
        return StoreError(f"no {what} {name!r} in {self._database.path}; bots there: {', '.join(known) or 'none'}")


def _tokens(connection: sa.Connection, *where: Any) -> list[TokenRow]:
    # In the order of writing where two were made in the same second.
    query = sa.select(tokens).where(*where).order_by(tokens.c.created_at, sa.literal_column("token.rowid"))
    return [
        TokenRow(
            row.id,
            row.bot,
            row.hash,
            tuple(row.scopes.split()),
            _seconds(row.created_at),
            *(None if text is None else _seconds(text) for text in (row.expires_at, row.revoked_at, row.used_at)),
        )
        for row in connection.execute(query)
    ]


def _values(token: TokenRow) -> dict[str, str | None]:
    times = {
        name: None if at is None else _text(at)
        for name, at in (
            ("created_at", token.created_at),
            ("expires_at", token.expires_at),
            ("revoked_at", token.revoked_at),
            ("used_at", token.used_at),
        )
    }
    return {"id": token.id, "bot": token.bot, "hash": token.hash, "scopes": " ".join(token.scopes), **times}


def _text(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
