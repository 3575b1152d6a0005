"""The shuffle: from a league's secret seed to the order of the cards, the same in every language.

* ``seed_commitment = SHA256("cdp1/league" + seed)``, public before the first board.
* ``board_seed = HMAC-SHA256(seed, "cdp1/board" + u32be(board) + u32be(redeal) + SHA256(ruleset digest, 32 bytes)
  + SHA256(nonces in entry order, each after its u32be length))``.
* ``board_commitment = SHA256("cdp1/board-commit" + board_seed)``, shown to the seats; the board seed is revealed
  when all tables of the board are over.
* Words: SHA256(board_seed + u32be(0)), SHA256(board_seed + u32be(1)), … read as big-endian u32.
* Fisher–Yates from the top: for i = n-1 … 1 swap i with j in 0…i, where j = word mod (i+1) and words that would
  make some j likelier are skipped. The start deck has the wire values ascending, copies adjacent.
* The first drawer of a first deal is the first byte of SHA256("cdp1/first-drawer" + board_seed of redeal 0) mod 4.

A vector in ``vector.json`` beside this file is checked in Python and in JavaScript.
"""

import hashlib
import hmac
from collections.abc import Iterator, Sequence

from chaodipi.engine.cards import Card, Seat, deck

__all__ = [
    "MAX_NONCE_BYTES",
    "board_commitment",
    "board_seed",
    "first_drawer",
    "nonces_digest",
    "seed_commitment",
    "shuffled_deck",
    "words",
]

MAX_NONCE_BYTES = 32
"""What an entry may add; it is as much as the seed has, and more could not make the cards harder to foresee."""


def _u32(number: int) -> bytes:
    return number.to_bytes(4, "big")


def seed_commitment(seed: bytes) -> bytes:
    """What is published of the league's *seed* before the first board, 32 bytes."""
    return hashlib.sha256(b"cdp1/league" + seed).digest()


def nonces_digest(nonces: Sequence[bytes]) -> bytes:
    """SHA-256 over the entries' *nonces* in entry order, each after its length as u32be."""
    return hashlib.sha256(b"".join(_u32(len(nonce)) + nonce for nonce in nonces)).digest()


def board_seed(seed: bytes, board: int, redeal: int, ruleset_digest: str, nonces: Sequence[bytes]) -> bytes:
    """
    The seed of one shuffle of one board, 32 bytes.

    Args:
        board: Number of the board in the league, 0 or more.
        redeal: Redeals of it before this shuffle, 0 or more.
        ruleset_digest: 64 hex digits.
    """
    ruleset = hashlib.sha256(bytes.fromhex(ruleset_digest)).digest()
    message = b"cdp1/board" + _u32(board) + _u32(redeal) + ruleset + nonces_digest(nonces)
    return hmac.new(seed, message, hashlib.sha256).digest()


def board_commitment(seed_of_board: bytes) -> bytes:
    """What the seats are shown of a board's seed before it is revealed, 32 bytes."""
    return hashlib.sha256(b"cdp1/board-commit" + seed_of_board).digest()


def first_drawer(seed_of_board: bytes) -> Seat:
    """Who draws first in a first deal; each seat is equally likely."""
    return Seat(hashlib.sha256(b"cdp1/first-drawer" + seed_of_board).digest()[0] & 3)


def words(seed_of_board: bytes) -> Iterator[int]:
    """An endless stream of u32 words."""
    counter = 0
    while True:
        block = hashlib.sha256(seed_of_board + _u32(counter)).digest()
        for at in range(0, 32, 4):
            yield int.from_bytes(block[at : at + 4], "big")
        counter += 1


def shuffled_deck(seed_of_board: bytes, packs: int) -> tuple[Card, ...]:
    """All cards of *packs* packs in the order in which they are drawn; the last ones are the bottom."""
    cards = list(deck(packs))
    stream = words(seed_of_board)
    for i in range(len(cards) - 1, 0, -1):
        limit = 2**32 - 2**32 % (i + 1)
        word = next(stream)
        while word >= limit:
            word = next(stream)
        j = word % (i + 1)
        cards[i], cards[j] = cards[j], cards[i]
    return tuple(cards)
