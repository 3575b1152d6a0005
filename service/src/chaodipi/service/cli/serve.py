"""``chaodipi serve``: a host that stays up; with a house, bots that connect get tables against the baselines."""

import asyncio
import itertools
import secrets as random_bytes
from pathlib import Path

from chaodipi.engine.ruleset import Ruleset
from chaodipi.service.boards.board import Secrets
from chaodipi.service.cli import hosting
from chaodipi.service.cli.admission import Admission
from chaodipi.service.cli.demo import resolve_preset
from chaodipi.service.cli.errors import UsageError
from chaodipi.service.cli.signals import StopSignals
from chaodipi.service.config import ServerConfig
from chaodipi.service.host.errors import HostError
from chaodipi.service.host.identity import Grant, new_token
from chaodipi.service.launch import BASELINES, Launcher, baseline_command
from chaodipi.service.logs import configure_logs
from chaodipi.service.match.clock import TimeControl, TimeControlError
from chaodipi.service.scheduler.run import outcome_of
from chaodipi.service.scheduler.schedule import Entry, Plan, round_robin
from chaodipi.service.store import Store
from chaodipi.service.store.archive import Archive
from rich.console import Console

__all__ = ["serve"]

_LOOK_S = 1.0


def serve(console: Console, config: ServerConfig, house: str | None) -> bool:
    """
    Serve until SIGTERM or SIGINT, then drain; False if a second signal cut that short.

    Bots and tokens that are added, rotated or revoked while it runs are followed.
    """
    ruleset = None if house is None else resolve_preset(house)
    clock = _clock(config, ruleset)
    store_path = Path(config.store)
    configure_logs(config.log_level)
    with (
        Store.beside(store_path) as store,
        Archive(store) as archive,
        Launcher(store_path.parent / "house") as launcher,
    ):
        return asyncio.run(_serve(console, config, ruleset, clock, store, launcher, archive))


def _clock(config: ServerConfig, ruleset: Ruleset | None) -> TimeControl:
    """The clock of house tables: what the settings say, else the ruleset's limits."""
    try:
        return TimeControl(**config.time) if ruleset is None else TimeControl.of(ruleset, **config.time)
    except TimeControlError as error:
        raise UsageError(f"[time]: {error}") from error


async def _serve(
    console: Console,
    config: ServerConfig,
    ruleset: Ruleset | None,
    clock: TimeControl,
    store: Store,
    launcher: Launcher,
    archive: Archive,
) -> bool:
    tokens = {f"house.{name}": new_token() for name in BASELINES} if ruleset else {}
    admission = Admission(store, lambda name: name not in tokens)
    grants = admission.grants() + [Grant.of(name, token) for name, token in tokens.items()]
    async with (
        # Before anybody hears that the host is there, so that its first signal already drains.
        StopSignals() as signals,
        hosting.open_host(
            grants,
            config,
            metrics_port=config.metrics_port or None,
            launching=ruleset is not None,
            archive=archive,
        ) as hosted,
    ):
        host = hosted.host
        console.print(f"serving at {hosted.server}, bots known: {len(admission.bots)}; Ctrl-C stops")
        console.print(hosted.security, highlight=False)
        for name, token in tokens.items():
            launcher.start(name, baseline_command(name.removeprefix("house.")), hosted.local, token)
        async with (
            hosting.beside(admission.follow(host, lambda name: console.print(f"bot {name} added"))),
            hosting.failing_with(_keep_house(console, hosted, ruleset, clock, admission, launcher)),
        ):
            await signals.first.wait()
            console.print(
                f"draining: {host.tables_in_flight} tables in flight, at most {config.drain_s} s; "
                "a second signal stops at once",
                soft_wrap=True,
            )
            return await signals.unless_second(host.drain(config.drain_s))


async def _keep_house(
    console: Console,
    hosted: hosting.Hosted,
    ruleset: Ruleset | None,
    clock: TimeControl,
    admission: Admission,
    launcher: Launcher,
) -> None:
    """Play with every bot that is there, for ever; without a *ruleset* only look after what was launched."""
    host = hosted.host
    async with asyncio.TaskGroup() as group:
        guests: set[str] = set()
        while True:
            for end in launcher.tend():
                hosted.metrics.bot_ended(end.name)
                console.print(f"{end}", soft_wrap=True, markup=False)
                if end.again_s is None:
                    host.give_up(end.name)
            online = host.online()
            for name in sorted(admission.bots):
                if ruleset is not None and not host.draining and online.get(name) and name not in guests:
                    guests.add(name)
                    group.create_task(_play_guest(console, host, ruleset, clock, name, guests))
            await asyncio.sleep(_LOOK_S)


async def _play_guest(
    console: Console, host: hosting.OpenHost, ruleset: Ruleset, clock: TimeControl, guest: str, guests: set[str]
) -> None:
    """Pairs of tables against one house bot after the other, for as long as the guest is there."""
    try:
        for number in itertools.count():
            if not host.online().get(guest):
                return
            opponent = f"house.{BASELINES[number % len(BASELINES)]}"
            entries = (Entry.of_bot(guest), Entry.of_bot(opponent))
            secrets = Secrets(random_bytes.token_bytes(32), (b"", b""))
            plan = Plan(f"house-{random_bytes.token_hex(4)}", ruleset, entries, 1, secrets, clock)
            pair = next(round_robin(plan))
            try:
                one, two = await asyncio.gather(*(host.play_table(spec) for spec in pair.tables))
            except HostError:
                if host.draining:
                    return
                raise
            if "host_fault" in (one.how, two.how):
                await asyncio.sleep(_LOOK_S)
                continue
            outcome = outcome_of(pair, (one, two))
            points = sum(margin.points for margin in outcome.margins) / 2
            console.print(
                f"{guest} against {opponent}: {points:+.1f} points a table, faults {outcome.faults[guest].total()}"
            )
    finally:
        guests.discard(guest)
