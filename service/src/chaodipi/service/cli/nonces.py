"""The shares of a league's entries in its seeds: asked of the bots once, and in the store before the first board."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

import structlog
from chaodipi.service.boards.shuffle import seed_commitment
from chaodipi.service.scheduler.league import SAVE_PAUSES_S
from chaodipi.service.scheduler.schedule import Entry
from chaodipi.service.store import LeagueRow, Store, StoreError
from rich.console import Console

__all__ = ["NONCE_WITHIN_MS", "collect"]

log = structlog.get_logger("chaodipi.cli")

NONCE_WITHIN_MS = 10_000
"""What a bot has to answer; it need not think."""


class _Host(Protocol):
    async def collect_nonces(
        self, bots: Mapping[str, str], seed_commitment: bytes, within_ms: int
    ) -> dict[str, bytes]: ...


async def collect(
    console: Console,
    host: _Host,
    store: Store,
    league: LeagueRow,
    entries: Sequence[Entry],
    *,
    pauses_s: Sequence[float] = SAVE_PAUSES_S,
) -> LeagueRow:
    """
    *league* with the nonces of its *entries* in the *store*; its first bot answers for an entry of two.

    Nothing is asked where they are there already. A run that was stopped before they were stored asks again under the
    same commitment: no card of it was dealt.

    Raises:
        HostError: the host is stopping.
        StoreError: the nonces cannot be stored, after each of *pauses_s* seconds either; nothing is played.
    """
    if league.nonces is not None:
        return league
    bots = {f"leagues/{league.name}/entries/{entry.name}": entry.bots[0] for entry in entries}
    console.print(f"asking {len(bots)} entries for nonces, for at most {NONCE_WITHIN_MS // 1000} s", soft_wrap=True)
    given = await host.collect_nonces(bots, seed_commitment(league.seed), NONCE_WITHIN_MS)
    kept = await _keep(store, league.name, [given.get(entry, b"") for entry in bots], pauses_s)
    without = [entry.name for entry, name in zip(entries, bots, strict=True) if name not in given]
    said = f"no nonce came from {', '.join(without)}: counted as empty" if without else "every entry gave its nonce"
    console.print(said, soft_wrap=True, markup=False, highlight=False)
    return kept


async def _keep(store: Store, name: str, nonces: Sequence[bytes], pauses_s: Sequence[float]) -> LeagueRow:
    for pause in pauses_s:
        try:
            return await asyncio.to_thread(store.keep_nonces, name, nonces)
        except StoreError as error:
            log.warning("nonces_again", after_s=pause, why=str(error))
            await asyncio.sleep(pause)
    return await asyncio.to_thread(store.keep_nonces, name, nonces)
