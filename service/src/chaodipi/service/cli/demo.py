"""``chaodipi demo``: a host, our three baseline bots and a league between them, in one command."""

import asyncio
import hashlib
import secrets as random_bytes
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from chaodipi.engine.errors import RulesetError
from chaodipi.engine.ruleset import Ruleset
from chaodipi.service.boards.board import Secrets
from chaodipi.service.cli import hosting
from chaodipi.service.cli.errors import UsageError
from chaodipi.service.cli.playing import Played, play_plan
from chaodipi.service.cli.results import write_results
from chaodipi.service.cli.screen import print_drained, print_missing, print_standings
from chaodipi.service.cli.signals import Ending, StopSignals
from chaodipi.service.files import write_whole
from chaodipi.service.host.identity import Grant, new_token
from chaodipi.service.launch import BASELINES, Launcher, baseline_command
from chaodipi.service.logs import logs_in
from chaodipi.service.match.clock import TimeControl
from chaodipi.service.records.staging import Staging
from chaodipi.service.rulefile import find_ruleset
from chaodipi.service.scheduler.league import results_json
from chaodipi.service.scheduler.schedule import Entry, Plan, check_names
from chaodipi.service.scheduler.standings import standings
from chaodipi.service.scheduler.timing import decision_times
from rich.console import Console

__all__ = ["demo", "resolve_preset", "seed_from_text"]


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
    drain_s: int = 60,
) -> Played:
    """
    Play the demo league into *out* and show its standings, unless it is stopped at once.

    Everything started here is stopped on any way out; the first signal drains it, for *drain_s* seconds at most.
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
        for folder in (records, Staging(records).folder):
            if folder.exists():
                shutil.rmtree(folder)
        records.mkdir(parents=True)
    except OSError as error:
        raise UsageError(f"cannot write to {out}: {error.strerror}") from error
    console.print(
        f"ruleset {ruleset.name} {ruleset.digest[:12]}, {2 * plan.pair_count} tables, bots {', '.join(names)}"
    )
    console.print(f"seed commitment {secrets.commitment.hex()}", soft_wrap=True)
    started = time.monotonic()
    with logs_in(out / "host.log", append=False), Launcher(out / "bots") as launcher:
        played = asyncio.run(_play(console, plan, launcher, out, metrics_port, drain_s))
    if played.ending == Ending.STOPPED:
        return played
    outcomes, missing = played.outcomes, played.missing
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
    if len(outcomes) == plan.pair_count:
        console.print(f"seed {secrets.seed.hex()}", soft_wrap=True)
    elif played.ending == Ending.DRAINED:
        print_drained(console, len(outcomes), plan.pair_count, "a demo begins anew each time")
    console.print(f"check it all: chaodipi replay verify {records}", soft_wrap=True)
    return played


async def _play(console: Console, plan: Plan, launcher: Launcher, out: Path, metrics_port: int, drain_s: int) -> Played:
    names = list(dict.fromkeys(bot for entry in plan.entries for bot in entry.bots))
    tokens = {name: new_token() for name in names}
    grants = [Grant.of(name, token) for name, token in tokens.items()]
    async with (
        StopSignals() as signals,
        hosting.open_host(grants, metrics_port=metrics_port, launching=True) as hosted,
    ):
        console.print(f"bots at {hosted.server}, metrics at {hosted.metrics_url}", soft_wrap=True)
        for name in names:
            launcher.start(name, baseline_command(name), hosted.server, tokens[name])
        played = await play_plan(console, plan, hosted, launcher, names, out / "records", signals, drain_s=drain_s)
        try:
            write_whole(out / "metrics.prom", hosted.metrics.text())
        except OSError as error:
            console.print(f"metrics.prom could not be written: {error.strerror}")
        return played
