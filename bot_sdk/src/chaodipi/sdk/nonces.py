"""A bot's shares in the seeds of its leagues: made, given, and kept to check the cards when the seed is revealed."""

import json
import logging
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from chaodipi.sdk.bot import Bot

__all__ = ["MAX_NONCE_BYTES", "SCHEMA", "Nonces"]

log = logging.getLogger("chaodipi.sdk")

MAX_NONCE_BYTES = 32
SCHEMA = "chaodipi/nonce/1"


class Nonces:
    """
    What one bot has given, and under which commitment.

    Whoever asks again under the same commitment is given the same, because one who may ask until he likes the answer
    has chosen it. With a file that holds for workers beside this one too, and for later processes.

    Args:
        bot: Its :meth:`~chaodipi.sdk.Bot.nonce` makes them.
        path: File to keep them in, a JSON object a line; None: memory only.
    """

    def __init__(self, bot: type[Bot], path: Path | None = None) -> None:
        self._bot = bot
        self._path = path
        self._given: dict[tuple[str, str], bytes] = {}

    def give(self, entry: str, seed_commitment: bytes) -> bytes:
        """The nonce of *entry* under *seed_commitment*; in the file before this returns, if that can be written."""
        commitment = seed_commitment.hex()
        self._given |= dict(self._kept())
        if (entry, commitment) not in self._given:
            if any(name == entry for name, _ in self._given):
                log.warning("%s: a nonce was given before, under another seed commitment", entry)
            self._given[entry, commitment] = self._make(entry)
            self._keep(entry, commitment)
        where = self._path or "memory only; --nonces FILE keeps it, to check the cards"
        log.info("gave the nonce of %s under seed commitment %s, kept in %s", entry, commitment, where)
        return self._given[entry, commitment]

    def _make(self, entry: str) -> bytes:
        try:
            nonce = self._bot.nonce(entry)
            if isinstance(nonce, bytes) and len(nonce) <= MAX_NONCE_BYTES:
                return nonce
            log.error("%s: nonce() gave %.100r; at most %d bytes expected", entry, nonce, MAX_NONCE_BYTES)
        except Exception:
            log.exception("%s: nonce() failed", entry)
        return secrets.token_bytes(MAX_NONCE_BYTES)

    def _keep(self, entry: str, commitment: str) -> None:
        if self._path is None:
            return
        line = {
            "schema": SCHEMA,
            "entry": entry,
            "nonce": self._given[entry, commitment].hex(),
            "seed_commitment": commitment,
        }
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            log.error("%s: the nonce of %s cannot be kept: %s", self._path, entry, error.strerror)

    def _kept(self) -> Iterator[tuple[tuple[str, str], bytes]]:
        """What the file holds; lines that are no nonces are left alone."""
        try:
            lines = [] if self._path is None else self._path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return
        for text in lines:
            try:
                line = json.loads(text)
                yield (str(line["entry"]), str(line["seed_commitment"])), bytes.fromhex(line["nonce"])
            except (ValueError, KeyError, TypeError):
                log.warning("%s: not a nonce: %.100s", self._path, text)
