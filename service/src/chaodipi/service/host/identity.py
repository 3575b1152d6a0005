"""Who may do what: tokens by their ids and hashes, their scopes, when they end.

Nothing here keeps a token: it is looked up by its id, then its SHA-256 is compared.
"""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

from chaodipi.service.host.errors import SessionRefused

__all__ = [
    "ADMIN",
    "PLAY",
    "READING",
    "READ_LEAGUES",
    "READ_MATCHES",
    "SCOPES",
    "Grant",
    "Principal",
    "Tokens",
    "hash_token",
    "new_token",
    "token_id",
]

PLAY = "play"
READ_MATCHES = "matches.read"
READ_LEAGUES = "leagues.read"
ADMIN = "admin"
READING = frozenset({READ_MATCHES, READ_LEAGUES})
"""Scopes that change nothing."""
SCOPES: dict[str, str] = {
    PLAY: "open sessions and play in the bot's name",
    READ_MATCHES: "read matches and records",
    READ_LEAGUES: "read leagues and standings",
    ADMIN: "everything, bots and tokens too",
}
"""Every scope and what it allows; a token without scopes may ask about rules and itself."""

_FORM = re.compile(r"([0-9a-f]{8})_[A-Za-z0-9_-]{43}")
_MISSING = (16, "TOKEN_MISSING", "no metadata `authorization: Bearer <token>`")
_INVALID = (16, "TOKEN_INVALID", "the token belongs to no bot of this host")
_REVOKED = (16, "TOKEN_REVOKED", "the token was revoked")


def new_token() -> str:
    """
    A token never given before: ``<id>_<secret>``.

    The id (8 hex digits) names it to people and tells nothing; the secret has 256 random bits, so its plain SHA-256
    can be kept: nobody finds a token for a hash, however fast he hashes.
    """
    return f"{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}"


def hash_token(token: str) -> str:
    """SHA-256 of *token*, 64 hex characters: all that the host keeps of it."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def token_id(token: str) -> str:
    """The id that *token* begins with, or that of its hash if it has none."""
    found = _FORM.fullmatch(token)
    return found[1] if found else _id_of_hash(hash_token(token))


def _id_of_hash(token_hash: str) -> str:
    """What a token goes by whose id nobody knows, as those given before tokens had ids."""
    return f"h{token_hash[:12]}"


@dataclass(frozen=True, slots=True)
class Grant:
    """
    What one token allows.

    Attributes:
        name: The bot that it belongs to.
        token_hash: :func:`hash_token` of it.
        scopes: Some of :data:`SCOPES`.
        expires_at: Unix seconds from which it is refused; None: never.
        revoked: Refused from now on.
        id: :func:`token_id` of it; "": made from the hash.
    """

    name: str
    token_hash: str
    scopes: frozenset[str] = frozenset({PLAY})
    expires_at: float | None = None
    revoked: bool = False
    id: str = ""

    @classmethod
    def of(cls, name: str, token: str) -> "Grant":
        """A grant for *token* itself, to play without end."""
        return cls(name, hash_token(token), id=token_id(token))

    @property
    def key(self) -> str:
        """The id, also if it had to be made from the hash."""
        return self.id or _id_of_hash(self.token_hash)


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls, by a token that holds: the bot's name, the token's scopes and id, and when it ends."""

    name: str
    scopes: frozenset[str]
    token_id: str
    expires_at: float | None = None

    def require(self, scope: str) -> None:
        """
        Do nothing if the token has *scope*; "" is had by every token.

        Raises:
            SessionRefused: SCOPE_MISSING; the caller's mistake.
        """
        if scope and scope not in self.scopes and ADMIN not in self.scopes:
            text = f"the token lacks scope {scope!r}"
            raise SessionRefused(7, "SCOPE_MISSING", text, {"scope": scope})


class Tokens:
    """All grants of a host, and when each was used last."""

    def __init__(self) -> None:
        self._by_id: dict[str, Grant] = {}
        self._used: dict[str, float] = {}

    def set(self, grant: Grant) -> None:
        """Add or replace a grant."""
        self._by_id[grant.key] = grant

    @property
    def names(self) -> list[str]:
        """Names of all bots that have a grant, sorted."""
        return sorted({grant.name for grant in self._by_id.values()})

    def owner(self, token_hash: str) -> str | None:
        """The bot that the token of this hash belongs to."""
        return next((grant.name for grant in self._by_id.values() if grant.token_hash == token_hash), None)

    def check(self, token: str | None, now: float) -> Principal:
        """
        Whom *token* belongs to, at *now* in Unix seconds.

        Raises:
            SessionRefused: TOKEN_MISSING, TOKEN_INVALID, TOKEN_EXPIRED or TOKEN_REVOKED; the caller's mistake.
        """
        if not token:
            raise SessionRefused(*_MISSING)
        token_hash = hash_token(token)
        # A grant without an id is found by its hash; where both are there, the id is the caller's word and wins.
        grant = self._by_id.get(token_id(token)) or self._by_id.get(_id_of_hash(token_hash))
        # An id that is known but whose secret is wrong is told no more than one that is not.
        if grant is None or not hmac.compare_digest(grant.token_hash, token_hash):
            raise SessionRefused(*_INVALID)
        caller = self._holds(grant, now)
        self._used[grant.key] = now
        return caller

    def check_id(self, key: str, now: float) -> Principal:
        """:meth:`check` for a token that was let in before, by its id."""
        grant = self._by_id.get(key)
        if grant is None:
            raise SessionRefused(*_INVALID)
        return self._holds(grant, now)

    def take_used(self) -> dict[str, float]:
        """Id → Unix seconds of the last use, of all tokens that were used since the last call."""
        used, self._used = self._used, {}
        return used

    def _holds(self, grant: Grant, now: float) -> Principal:
        if grant.revoked:
            raise SessionRefused(*_REVOKED)
        if grant.expires_at is not None and now >= grant.expires_at:
            raise SessionRefused(16, "TOKEN_EXPIRED", "the token has expired")
        return Principal(grant.name, grant.scopes, grant.key, grant.expires_at)
