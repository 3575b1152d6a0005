"""Plays a league's plan on a host, as ``league run`` and ``demo`` do: progress, launched bots, and draining."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog
from chaodipi.service.cli import hosting
from chaodipi.service.cli.screen import pair_progress
from chaodipi.service.cli.signals import Ending, StopSignals
from chaodipi.service.host.errors import HostError
from chaodipi.service.launch import BotEnd, Launcher
from chaodipi.service.match.table import TableResult, TableSpec
from chaodipi.service.scheduler.league import MissingPair, PlayedPair, play_league
from chaodipi.service.scheduler.run import TableHost
from chaodipi.service.scheduler.schedule import Plan
from chaodipi.service.scheduler.standings import PairOutcome
from rich.console import Console

__all__ = ["BOT_START_S", "Played", "play_plan"]

log = structlog.get_logger("chaodipi.cli")

BOT_START_S = 30.0
_SAVE_S = 5.0
"""Seconds for saving what was finished, beyond those for finishing it."""


@dataclass(frozen=True, slots=True)
class Played:
    """The outcomes of pairs, in schedule order, those that stay without one because of the host, and how it ended."""

    outcomes: list[PairOutcome]
    missing: list[MissingPair]
    ending: Ending


class _Draining:
    """What the scheduler plays at: a table that is not begun because the host drains is one without a score."""

    def __init__(self, host: hosting.OpenHost, tables: TableHost) -> None:
        self._host = host
        self._tables = tables

    async def play_table(self, spec: TableSpec) -> TableResult:
        try:
            return await self._tables.play_table(spec)
        except HostError as error:
            if not self._host.draining:
                raise
            return TableResult(spec.table_id, "host_fault", 0, None, None, (), note=str(error))


async def _nothing(_board: Sequence[PlayedPair]) -> None:
    return None


async def play_plan(
    console: Console,
    plan: Plan,
    hosted: hosting.Hosted,
    launcher: Launcher,
    names: list[str],
    records: Path,
    signals: StopSignals,
    *,
    drain_s: int,
    seal: Callable[[], Awaitable[Plan]] | None = None,
    done: Mapping[int, PairOutcome] | None = None,
    save: Callable[[Sequence[PlayedPair]], Awaitable[None]] = _nothing,
    tables_in_flight: int = 16,
    wait_s: float = BOT_START_S,
    tables: TableHost | None = None,
) -> Played:
    """
    Play *plan* to its end, or until *signals* say to stop: what has come of it so far, pairs of *done* included.
    Tables are played by *tables*, by default the host itself.

    A launched bot that ends before all are there is a mistake of its owner: BotExitedError. Later it is started again,
    a bounded number of times, and its seats are played by the fault policy while it is away.

    *seal* is awaited when all bots are there, and gives the plan with the secrets that its boards are dealt from.

    At the first signal no table is begun any more. Those in flight have *drain_s* seconds to end, then end without a
    score; pairs that are whole by then are saved, all others are dropped whole. The second signal ends all at once.
    """
    host, metrics = hosted.host, hosted.metrics
    outcomes, missing = dict(done or {}), list[MissingPair]()

    def flagged(pair: MissingPair) -> None:
        metrics.pair_flagged()
        missing.append(pair)
        console.print(f"not scored: {pair}", soft_wrap=True, markup=False)

    def ended(end: BotEnd) -> None:
        metrics.bot_ended(end.name)
        log.warning("bot_ended", bot=end.name, how=end.how, again_s=end.again_s)
        if end.again_s is None:
            host.give_up(end.name)
        console.print(f"{end}", soft_wrap=True, markup=False)

    with pair_progress(console, plan.pair_count, len(outcomes)) as progress:

        def saved(outcome: PairOutcome) -> None:
            outcomes[outcome.number] = outcome
            metrics.pair_saved()
            progress.add(outcome)

        async def play() -> None:
            if not await signals.unless_first(hosting.unless(launcher.watch(), host.wait_for_bots(names, wait_s))):
                return
            progress.begin()
            await hosting.unless(launcher.keep(ended), play_sealed())

        async def play_sealed() -> None:
            try:
                sealed = plan if seal is None else await seal()
            except HostError:
                if not host.draining:
                    raise
                return
            await play_league(
                sealed,
                _Draining(host, tables or host),
                records,
                done=done,
                save=save,
                on_outcome=saved,
                on_rerun=lambda _pair: metrics.pair_rerun(),
                on_failed_save=lambda _board: metrics.save_failed(),
                on_flagged=flagged,
                stopping=signals.first.is_set,
                tables_in_flight=tables_in_flight,
            )

        async def drain() -> None:
            console.print(
                f"draining: {host.tables_in_flight} tables in flight, at most {drain_s} s; "
                "a second signal stops at once",
                soft_wrap=True,
            )
            await host.drain(drain_s)
            await host.stop(0)

        ending = await signals.drained(play(), drain, _SAVE_S)
    return Played([outcomes[number] for number in sorted(outcomes)], missing, ending)
