"""``chaodipi demo``: a host, our three baseline bots and a league between them, in one command."""

import asyncio
import hashlib
import secrets as random_bytes
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import structlog
from chaodipi.engine.errors import RulesetError
from chaodipi.engine.ruleset import Ruleset
from chaodipi.service.boards.board import Secrets
from chaodipi.service.cli import hosting
from chaodipi.service.cli.errors import UsageError
from chaodipi.service.cli.results import write_results
from chaodipi.service.cli.screen import pair_progress, print_missing, print_standings
from chaodipi.service.files import write_whole
from chaodipi.service.host.identity import Grant, new_token
from chaodipi.service.launch import BASELINES, BotEnd, Launcher, baseline_command
from chaodipi.service.logs import logs_in
from chaodipi.service.match.clock import TimeControl
from chaodipi.service.rulefile import find_ruleset
from chaodipi.service.scheduler.league import MissingPair, PlayedPair, play_league, results_json
from chaodipi.service.scheduler.schedule import Entry, Plan, check_names
from chaodipi.service.scheduler.standings import PairOutcome, standings
from chaodipi.service.scheduler.timing import decision_times
from rich.console import Console

__all__ = ["demo", "resolve_preset", "seed_from_text"]

log = structlog.get_logger("chaodipi.cli")

BOT_START_S = 30.0


def resolve_preset(name: str) -> Ruleset:
    """The preset *name*, or the ruleset file of that name; UsageError with the known names."""
    try:
        return find_ruleset(name)
    except RulesetError as error:
        raise UsageError(error.message) from error


def seed_from_text(text: str | None) -> bytes:
    """32 bytes: 64 hex digits as they are, other text by its SHA-256, fresh random bytes for None."""
    if text is None:
        return random_bytes.token_bytes(32)
    if len(text) == 64:
        try:
            return bytes.fromhex(text)
        except ValueError:
            pass
    return hashlib.sha256(text.encode()).digest()


def demo(
    console: Console,
    preset: str,
    boards: int,
    out: Path,
    seed: str | None,
    bots: Sequence[str],
    metrics_port: int = 0,
) -> bool:
    """
    Play the demo league into *out* and show its standings; False if pairs are missing.

    Everything started here is stopped on any way out.
    """
    ruleset = resolve_preset(preset)
    names = tuple(bots) or BASELINES
    for name in names:
        if name not in BASELINES:
            raise UsageError(f"unknown baseline bot {name!r}; known: {', '.join(BASELINES)}")
    try:
        check_names(names)
    except ValueError as error:
        raise UsageError(str(error)) from error
    secrets = Secrets(seed_from_text(seed), tuple(b"" for _ in names))
    plan = Plan("demo", ruleset, tuple(Entry.of_bot(name) for name in names), boards, secrets, TimeControl.of(ruleset))
    records = out / "records"
    try:
        if records.exists():
            shutil.rmtree(records)
        records.mkdir(parents=True)
    except OSError as error:
        raise UsageError(f"cannot write to {out}: {error.strerror}") from error
    console.print(
        f"ruleset {ruleset.name} {ruleset.digest[:12]}, {2 * plan.pair_count} tables, bots {', '.join(names)}"
    )
    console.print(f"seed commitment {secrets.commitment.hex()}", soft_wrap=True)
    started = time.monotonic()
    with logs_in(out / "host.log", append=False), Launcher(out / "bots") as launcher:
        outcomes, missing = asyncio.run(_play(console, plan, launcher, out, metrics_port))
    decisions = sum(outcome.decisions for outcome in outcomes)
    took = time.monotonic() - started
    print_standings(console, f"demo, {ruleset.name}", standings(names, outcomes), decision_times(outcomes))
    results = results_json(plan, outcomes, "points", missing)
    # After the standings: where the disk is full they are shown at least.
    write_results(out / "results.json", results, "the standings above are all that is left of this demo")
    console.print(
        f"{2 * len(outcomes)} tables, {decisions:,} decisions in {took:.1f} s; results in {out / 'results.json'}"
    )
    print_missing(console, missing)
    if not missing:
        console.print(f"seed {secrets.seed.hex()}", soft_wrap=True)
    console.print(f"check it all: chaodipi replay verify {records}", soft_wrap=True)
    return not missing


async def _play(
    console: Console, plan: Plan, launcher: Launcher, out: Path, metrics_port: int
) -> tuple[list[PairOutcome], list[MissingPair]]:
    names = list(dict.fromkeys(bot for entry in plan.entries for bot in entry.bots))
    tokens = {name: new_token() for name in names}
    grants = [Grant.of(name, token) for name, token in tokens.items()]
    async with hosting.open_host(grants, metrics_port=metrics_port, launching=True) as hosted:
        console.print(f"bots at {hosted.server}, metrics at {hosted.metrics_url}", soft_wrap=True)
        for name in names:
            launcher.start(name, baseline_command(name), hosted.server, tokens[name])
        played = await watched(console, plan, hosted, launcher, names, out / "records")
        try:
            write_whole(out / "metrics.prom", hosted.metrics.text())
        except OSError as error:
            console.print(f"metrics.prom could not be written: {error.strerror}")
        return played


async def _nothing(_played: PlayedPair) -> None:
    return None


async def watched(
    console: Console,
    plan: Plan,
    hosted: hosting.Hosted,
    launcher: Launcher,
    names: list[str],
    records: Path,
    *,
    done: Mapping[int, PairOutcome] | None = None,
    save: Callable[[PlayedPair], Awaitable[None]] = _nothing,
    tables_in_flight: int = 16,
    wait_s: float = BOT_START_S,
) -> tuple[list[PairOutcome], list[MissingPair]]:
    """
    Play *plan*: the outcomes of its pairs, and the pairs that stay without one because of the host.

    A launched bot that ends before all are there is a mistake of its owner: BotExitedError. Later it is started again,
    a bounded number of times, and its seats are played by the fault policy while it is away.
    """
    metrics = hosted.metrics
    missing: list[MissingPair] = []

    def flagged(pair: MissingPair) -> None:
        metrics.pair_flagged()
        missing.append(pair)
        console.print(f"not scored: {pair}", soft_wrap=True, markup=False)

    def ended(end: BotEnd) -> None:
        metrics.bot_ended(end.name)
        log.warning("bot_ended", bot=end.name, how=end.how, again_s=end.again_s)
        if end.again_s is None:
            hosted.host.give_up(end.name)
        console.print(f"{end}", soft_wrap=True, markup=False)

    with pair_progress(console, plan.pair_count, len(done or {})) as progress:
        await hosting.unless(launcher.watch(), hosted.host.wait_for_bots(names, wait_s))
        progress.begin()

        def saved(outcome: PairOutcome) -> None:
            metrics.pair_saved()
            progress.add(outcome)

        league = play_league(
            plan,
            hosted.host,
            records,
            done=done,
            save=save,
            on_outcome=saved,
            on_rerun=lambda _pair: metrics.pair_rerun(),
            on_flagged=flagged,
            tables_in_flight=tables_in_flight,
        )
        return await hosting.unless(launcher.keep(ended), league), missing
