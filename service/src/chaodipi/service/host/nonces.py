"""The entries' shares in the seeds of a league or match: asked of their bots before its first board.

It is told who comes and goes and what is answered, and says what to send; whoever waits for it owns the clock.
"""

from collections.abc import Mapping

from chaodipi.service.boards.shuffle import MAX_NONCE_BYTES
from chaodipi.service.host.session import NonceAsked, Session, Warned

__all__ = ["NonceDesk", "NonceRound"]

_SAID_OF_A_NAME = 100


class NonceRound:
    """
    One round of asking.

    A request stands in one session of its bot at a time, because two workers of a bot would answer differently; when
    that session is lost, it goes to another one. The first nonce that can be used stays.

    Args:
        bots: Entry (a resource name) → the bot that answers for it, in entry order.
        seed_commitment: What is committed to, 32 bytes.
        ends: When the nonces that have not come count as empty, on the caller's clock, seconds.

    Attributes:
        given: Entry → its nonce, of those that have come.
    """

    def __init__(self, bots: Mapping[str, str], seed_commitment: bytes, ends: float) -> None:
        self._bots = dict(bots)
        self._commitment = seed_commitment
        self._asked: dict[str, str] = {}
        """Entry → id of the session that was asked."""
        self.ends = ends
        self.given: dict[str, bytes] = {}

    @property
    def owing(self) -> dict[str, str]:
        """Entry → bot, of those that have not answered."""
        return {entry: bot for entry, bot in self._bots.items() if entry not in self.given}

    def asks(self, entry: str, bot: str) -> bool:
        """Whether *bot* was asked for the nonce of *entry*."""
        return self._bots.get(entry) == bot

    def ask(self, bot: str, session: str, now: float) -> list[NonceAsked]:
        """What to send in *session* of *bot*: a request for each of its entries that no other session was sent."""
        entries = [entry for entry, owner in self.owing.items() if owner == bot and entry not in self._asked]
        self._asked |= dict.fromkeys(entries, session)
        within_ms = max(0, int((self.ends - now) * 1000))
        return [NonceAsked(entry, self._commitment, within_ms) for entry in entries]

    def lose(self, session: str) -> None:
        """*session* is over: what it was asked may be asked elsewhere."""
        self._asked = {entry: asked for entry, asked in self._asked.items() if asked != session}

    def receive(self, entry: str, nonce: bytes) -> Warned | None:
        """Take the nonce of *entry*, of which the bot was asked; why it is not taken, if so."""
        if len(nonce) > MAX_NONCE_BYTES:
            text = f"entry_nonce.nonce has {len(nonce)} bytes, at most {MAX_NONCE_BYTES}; send a shorter one"
            return Warned(3, "FIELD_INVALID", text, {"field": "entry_nonce.nonce", "bytes": str(len(nonce))})
        if self.given.setdefault(entry, nonce) != nonce:
            text = f"a nonce of {entry} was taken before, and is not replaced"
            return Warned(9, "NONCE_NOT_ASKED", text, {"entry": entry})
        return None


class NonceDesk:
    """The rounds that are open at a host, and the sessions that they are asked in."""

    def __init__(self) -> None:
        self._rounds: list[NonceRound] = []

    def open(self, asking: NonceRound) -> None:
        """From now on its requests are sent."""
        self._rounds.append(asking)

    def close(self, asking: NonceRound) -> None:
        """Nothing is asked or taken any more."""
        self._rounds.remove(asking)

    def ask(self, session: Session, now: float) -> None:
        """Send in *session* what its bot owes and was not asked for elsewhere."""
        for asking in self._rounds:
            for request in asking.ask(session.bot, session.id, now):
                session.send(request)

    def lose(self, session: Session) -> None:
        """*session* is over."""
        for asking in self._rounds:
            asking.lose(session.id)

    def receive(self, session: Session, entry: str, nonce: bytes) -> bool:
        """Take the nonce of *entry* that came in *session*; False if it was of no use, and its bot was told why."""
        asking = next((asking for asking in self._rounds if asking.asks(entry, session.bot)), None)
        refused = _not_asked(entry) if asking is None else asking.receive(entry, nonce)
        if refused is not None:
            session.send(refused)
        return refused is None


def _not_asked(entry: str) -> Warned:
    """The same for an entry of another bot, an unknown one, and one whose time is over: nobody learns which."""
    name = entry[:_SAID_OF_A_NAME]
    text = f"no nonce of {name!r} is asked of this bot, or not any more"
    return Warned(9, "NONCE_NOT_ASKED", text, {"entry": name})
