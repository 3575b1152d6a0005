"""Who may do what: tokens by their hashes, their scopes, when they end.

Nothing here keeps a token: a token is looked up by its SHA-256.
"""

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from chaodipi.service.host.errors import SessionRefused

__all__ = ["PLAY", "SCOPES", "Grant", "Principal", "Tokens", "hash_token", "new_token"]

PLAY = "play"
SCOPES: dict[str, str] = {
    PLAY: "open sessions and play in the bot's name",
    "matches.read": "read matches and records",
    "leagues.read": "read leagues and standings",
    "admin": "everything, bots and tokens too",
}
"""Every scope and what it allows; a token without scopes may ask about rules and itself."""

_MISSING = (16, "TOKEN_MISSING", "no metadata `authorization: Bearer <token>`")
_INVALID = (16, "TOKEN_INVALID", "the token belongs to no bot of this host")
_REVOKED = (16, "TOKEN_REVOKED", "the token was revoked")


def new_token() -> str:
    """
    A token never given before: ``<id>_<secret>``.

    The id (8 hex digits) names it to people and tells nothing; the secret has 256 random bits, so its plain SHA-256
    can be kept and looked up: nobody finds a token for a hash, however fast he hashes.
    """
    return f"{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}"


def hash_token(token: str) -> str:
    """SHA-256 of *token*, 64 hex characters: all that the host keeps of it."""
    return hashlib.sha256(token.encode()).hexdigest()


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
    """

    name: str
    token_hash: str
    scopes: frozenset[str] = frozenset({PLAY})
    expires_at: float | None = None
    revoked: bool = False


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls, by a token that holds: the bot's name, the token's scopes and hash."""

    name: str
    scopes: frozenset[str]
    token_hash: str

    def require(self, scope: str) -> None:
        """
        Do nothing if the token has *scope*; "" is had by every token.

        Raises:
            SessionRefused: SCOPE_MISSING; the caller's mistake.
        """
        if scope and scope not in self.scopes and "admin" not in self.scopes:
            text = f"the token lacks scope {scope!r}"
            raise SessionRefused(7, "SCOPE_MISSING", text, {"scope": scope})


class Tokens:
    """All grants of a host."""

    def __init__(self) -> None:
        self._by_hash: dict[str, Grant] = {}

    def set(self, grant: Grant) -> None:
        """Add or replace a grant."""
        self._by_hash[grant.token_hash] = grant

    def keep(self, hashes: Iterable[str]) -> None:
        """Forget every grant whose hash is not among *hashes*."""
        wanted = set(hashes)
        self._by_hash = {key: grant for key, grant in self._by_hash.items() if key in wanted}

    @property
    def names(self) -> list[str]:
        """Names of all bots that have a grant, sorted."""
        return sorted({grant.name for grant in self._by_hash.values()})

    def owner(self, token_hash: str) -> str | None:
        """The bot that the token of this hash belongs to."""
        grant = self._by_hash.get(token_hash)
        return None if grant is None else grant.name

    def check(self, token: str | None, now: float) -> Principal:
        """
        Whom *token* belongs to, at *now* in Unix seconds.

        Raises:
            SessionRefused: TOKEN_MISSING, TOKEN_INVALID, TOKEN_EXPIRED or TOKEN_REVOKED; the caller's mistake.
        """
        if not token:
            raise SessionRefused(*_MISSING)
        return self.check_hash(hash_token(token), now)

    def check_hash(self, token_hash: str, now: float) -> Principal:
        """:meth:`check` for a token that is known by its hash."""
        grant = self._by_hash.get(token_hash)
        if grant is None:
            raise SessionRefused(*_INVALID)
        if grant.revoked:
            raise SessionRefused(*_REVOKED)
        if grant.expires_at is not None and now >= grant.expires_at:
            raise SessionRefused(16, "TOKEN_EXPIRED", "the token has expired")
        return Principal(grant.name, grant.scopes, token_hash)
