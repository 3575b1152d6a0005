"""What a league reveals when it is over, and whether it is what it committed to and what its boards were dealt from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Any

from chaodipi.engine.ruleset import Ruleset
from chaodipi.service.boards.board import Board, Secrets, plan_board
from chaodipi.service.boards.shuffle import MAX_NONCE_BYTES, seed_commitment

__all__ = ["KeptNonce", "Revealed", "RevealedError"]


class RevealedError(ValueError):
    """What the league reveals cannot be read; the message names the field."""


@dataclass(frozen=True, slots=True)
class KeptNonce:
    """A nonce that a bot gave for *entry*, as its owner kept it, and the commitment that it was shown before."""

    entry: str
    nonce: bytes
    seed_commitment: bytes


@dataclass(frozen=True, slots=True)
class Revealed:
    """
    A league's ``results.json`` as far as cards depend on it.

    Attributes:
        entries: Names, in the order in which their nonces enter the seeds.
        boards: Boards of each pairing; *shared*: of all pairings together.
        commitment: What was public before the first board.
        secrets: None while the league is not over.
    """

    league: str
    ruleset_digest: str
    entries: tuple[str, ...]
    boards: int
    shared: bool
    commitment: bytes
    secrets: Secrets | None

    @classmethod
    def of(cls, results: Mapping[str, Any]) -> "Revealed":
        """
        Read ``results.json``.

        Raises:
            RevealedError: a field is missing or of the wrong form.
        """
        try:
            secrets = None
            if results["seed"] is not None:
                nonces = (_bytes(nonce, f"nonces[{at}]") for at, nonce in enumerate(results["nonces"]))
                secrets = Secrets(_bytes(results["seed"], "seed"), tuple(nonces))
            return cls(
                league=results["league"],
                ruleset_digest=results["ruleset"]["digest"],
                entries=tuple(entry["name"] for entry in results["entries"]),
                boards=results["boards_per_pairing"],
                shared=results["shared_boards"],
                commitment=_bytes(results["seed_commitment"], "seed_commitment"),
                secrets=secrets,
            )
        except (KeyError, TypeError) as error:
            raise RevealedError(f"a field is missing or of the wrong type: {error}") from error

    def faults(self) -> Iterator[str]:
        """What does not match in it without any record: kind and text."""
        if self.secrets is None:
            return
        commitment = self.secrets.commitment
        if commitment != self.commitment:
            yield f"seed: the seed has the commitment {commitment.hex()}, the league published {self.commitment.hex()}"
        nonces = self.secrets.nonces
        if len(nonces) != len(self.entries):
            yield f"nonce: {len(nonces)} nonces stand here for {len(self.entries)} entries"
        for entry, nonce in zip(self.entries, nonces, strict=False):
            if len(nonce) > MAX_NONCE_BYTES:
                yield f"nonce: that of {entry} has {len(nonce)} bytes, at most {MAX_NONCE_BYTES}"

    def faults_of_kept(self, kept: list[KeptNonce]) -> Iterator[str]:
        """What does not match with what an owner's bots gave, whatever the host says; only entries of this league."""
        if self.secrets is None:
            return
        for name, used in zip(self.entries, self.secrets.nonces, strict=False):
            entry = f"leagues/{self.league}/entries/{name}"
            mine = [each for each in kept if each.entry == entry]
            given = {each.nonce for each in mine if each.seed_commitment == self.commitment}
            if mine and not given:
                shown = ", ".join(sorted({each.seed_commitment.hex() for each in mine}))
                yield f"seed: {name} was asked under the commitment {shown}, the league says {self.commitment.hex()}"
            elif given and used not in given:
                what = f"is {used.hex()}" if used else "counts as empty"
                yield f"nonce: {name} gave {' or '.join(sorted(nonce.hex() for nonce in given))}, here it {what}"

    def entries_of_kept(self, kept: list[KeptNonce]) -> list[str]:
        """Entries of this league of which a nonce was kept, in entry order."""
        names = {each.entry for each in kept}
        return [name for name in self.entries if f"leagues/{self.league}/entries/{name}" in names]

    def board_fault(self, board: Board, table: str) -> str:
        """Why *board*, played at *table*, is not the league's board of that number; "" if it is."""
        if not table.startswith(f"{self.league}/{board.index:05d}/"):
            return f"table {table} is not of board {board.index} of league {self.league}"
        if not 0 <= board.index < self._board_count:
            return f"board {board.index} of a league that has {self._board_count}"
        place = board.index if self.shared else board.index % self.boards
        if self.secrets is None or plan_board(board.ruleset, self.secrets, board.index, place) == board:
            return ""
        return f"board {board.index} of this league has another dealer, first drawer or level"

    def shuffle_fault(self, board: Board, redeals: int, seed: bytes) -> str:
        """Why *seed* is not that of the board's shuffle after *redeals*; "" if it is."""
        secrets = self.secrets
        if secrets is None or secrets.board_seed(board.index, redeals, board.ruleset) == seed:
            return ""
        found = next(self._elsewhere(secrets, board, redeals, seed), None)
        if found is None and seed_commitment(secrets.seed) == self.commitment:
            found = "that seed fits its commitment, so a nonce is another, or both of these are"
        text = f"shuffle {redeals} of board {board.index} is not from the league's seed and nonces"
        return f"{text}: {found}" if found else text

    def _elsewhere(self, secrets: Secrets, board: Board, redeals: int, seed: bytes) -> Iterator[str]:
        """Single changes that would make *seed* the right one."""
        other = _shuffles(secrets, board.ruleset, self._board_count).get(seed)
        if other is not None:
            yield f"it is shuffle {other[1]} of board {other[0]}"

        def fits(nonces: Sequence[bytes]) -> bool:
            return replace(secrets, nonces=tuple(nonces)).board_seed(board.index, redeals, board.ruleset) == seed

        nonces = secrets.nonces
        for at, last in combinations(range(len(nonces)), 2):
            swapped = list(nonces)
            swapped[at], swapped[last] = nonces[last], nonces[at]
            if fits(swapped):
                yield f"the nonces of {self._entry(at)} and {self._entry(last)} have changed places"
        for at in range(len(nonces)):
            if fits((*nonces[:at], b"", *nonces[at + 1 :])):
                yield f"the nonce of {self._entry(at)} was empty"

    def _entry(self, at: int) -> str:
        return self.entries[at] if at < len(self.entries) else f"entry {at}"

    @property
    def _board_count(self) -> int:
        pairings = len(self.entries) * (len(self.entries) - 1) // 2
        return self.boards if self.shared else self.boards * pairings

    def ruleset_fault(self, ruleset: Ruleset) -> str:
        """Why *ruleset* is not the one that this league is played by; "" if it is."""
        if ruleset.digest == self.ruleset_digest:
            return ""
        return f"{ruleset.name} {ruleset.digest[:12]} is not the league's ruleset {self.ruleset_digest[:12]}"


@lru_cache(maxsize=1)
def _shuffles(secrets: Secrets, ruleset: Ruleset, boards: int) -> dict[bytes, tuple[int, int]]:
    """Seed → board and redeal, of every shuffle of a league."""
    return {
        secrets.board_seed(board, redeal, ruleset): (board, redeal)
        for board in range(boards)
        for redeal in range(ruleset.redeal_cap + 1)
    }


def _bytes(text: Any, field: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except (TypeError, ValueError):
        raise RevealedError(f"{field} is not hex: {text!r:.80}") from None
