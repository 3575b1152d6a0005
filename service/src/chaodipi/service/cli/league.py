"""``chaodipi league``: run a league from its file, resume it, show its standings."""

import asyncio
import json
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

from chaodipi.service.boards.board import Secrets
from chaodipi.service.cli import hosting
from chaodipi.service.cli.admission import Admission
from chaodipi.service.cli.demo import seed_from_text
from chaodipi.service.cli.errors import UsageError
from chaodipi.service.cli.nonces import collect
from chaodipi.service.cli.playing import BOT_START_S, Played, play_plan
from chaodipi.service.cli.results import write_results
from chaodipi.service.cli.screen import print_drained, print_missing, print_standings
from chaodipi.service.cli.signals import Ending, StopSignals
from chaodipi.service.config import ServerConfig
from chaodipi.service.host.identity import Grant, new_token
from chaodipi.service.host.progress import Progress
from chaodipi.service.launch import Launcher
from chaodipi.service.logs import logs_in
from chaodipi.service.scheduler.league import MissingPair, PlayedPair, SaveFailedError, results_json, settle_records
from chaodipi.service.scheduler.league_file import LeagueFile, load_league
from chaodipi.service.scheduler.owners import same_owners
from chaodipi.service.scheduler.plan_json import plan_to_json
from chaodipi.service.scheduler.schedule import Plan
from chaodipi.service.scheduler.standings import PairOutcome, standings
from chaodipi.service.scheduler.timing import decision_times
from chaodipi.service.store import LeagueRow, Store, StoreError
from chaodipi.service.store.archive import Archive
from chaodipi.service.store.rows import rows_of
from chaodipi.service.store.writer import Writer
from rich.console import Console

__all__ = ["run_league", "show_standings"]


def run_league(console: Console, path: Path, out: Path, config: ServerConfig) -> Played:
    """
    Play the league of *path* into *out*, or play on where an earlier run stopped, and show what has come of it.

    The first signal drains it, for at most ``drain_s`` seconds of *config*; the second one stops
    it at once, and nothing is shown.
    """
    league = load_league(path)
    folder = out / league.name
    with Store(out / "chaodipi.db", writing=True) as store:
        known = {bot.name: bot.owner for bot in store.bots.all()}
        for bot in league.bots:
            if bot.command is None and bot.name not in known:
                raise UsageError(f"bot {bot.name!r} is remote and has no token: chaodipi bot add {bot.name}")
        _check_owners(console, league, known)
        row = store.begin_league(
            LeagueRow(
                name=league.name,
                config_digest=league.digest,
                ruleset_digest=league.ruleset.digest,
                entries=tuple(entry.name for entry in league.entries),
                rank_by=league.rank_by,
                pairs=_plan(league, Secrets(b"")).pair_count,
                seed=seed_from_text(league.seed),
                nonces=None if league.asks_nonces else league.nonces,
            )
        )
        plan = _plan(league, _secrets(row))
        store.keep_plan(league.name, plan_to_json(plan, league.labels))
        done = store.outcomes(league.name)
        console.print(f"league {league.name}: {plan.pair_count} pairs of tables, {len(done)} done")
        console.print(f"seed commitment {plan.secrets.commitment.hex()}", soft_wrap=True)
        played = Played(list(done.values()), [], Ending.OVER)
        folder.mkdir(parents=True, exist_ok=True)
        if len(done) < plan.pair_count:
            with (
                logs_in(folder / "host.log", append=True, level=config.log_level),
                Launcher(folder / "bots", limits=league.limits, restarts=league.restarts) as launcher,
                Archive(store) as archive,
            ):
                played = asyncio.run(_play(console, league, row, store, launcher, folder, done, config, archive))
        if played.ending == Ending.STOPPED:
            return played
        outcomes, missing = played.outcomes, played.missing
        names = [entry.name for entry in plan.entries]
        lines = standings(names, outcomes, league.rank_by)
        print_standings(console, f"{league.name}, by {league.rank_by}", lines, decision_times(outcomes))
        print_missing(console, missing)
        # After the standings: where the disk is full they are shown at least.
        plan = _plan(league, _secrets(store.league(league.name)))
        results = results_json(plan, outcomes, league.rank_by, missing)
        _settle(plan, folder / "records", outcomes)
        otherwise = "what was played is in the store, and the same command writes it from there"
        write_results(folder / "results.json", results, otherwise)
        console.print(f"results: {folder / 'results.json'}", soft_wrap=True)
        if played.ending == Ending.DRAINED and len(outcomes) < plan.pair_count:
            print_drained(console, len(outcomes), plan.pair_count, "the same command plays on")
        return played


def _settle(plan: Plan, records: Path, outcomes: Sequence[PairOutcome]) -> None:
    try:
        settle_records(plan, records, {outcome.number for outcome in outcomes})
    except OSError as error:
        text = f"records cannot be moved to {records}: {error.strerror}; the same command moves them when they can be"
        raise UsageError(text) from error


def _check_owners(console: Console, league: LeagueFile, stored: Mapping[str, str]) -> None:
    """Say which entries have one owner, or refuse them, as the file says."""
    owners = {bot.name: bot.owner or stored.get(bot.name, "") for bot in league.bots}
    found = same_owners(league.entries, owners)
    if found and league.same_owner == "refuse":
        raise UsageError(f"same_owner = refuse: {'; '.join(map(str, found))}")
    for each in found:
        console.print(f"note: {each}, and meet at {league.boards} boards", soft_wrap=True, markup=False)


def _plan(league: LeagueFile, secrets: Secrets) -> Plan:
    return Plan(
        league.name, league.ruleset, league.entries, league.boards, secrets,
        league.time, league.shared_boards, league.mode,
    )  # fmt: skip


def _secrets(row: LeagueRow) -> Secrets:
    """What boards are dealt from; nonces that are not collected yet are none."""
    return Secrets(row.seed, row.nonces or ())


async def _play(
    console: Console,
    league: LeagueFile,
    row: LeagueRow,
    store: Store,
    launcher: Launcher,
    folder: Path,
    done: dict[int, PairOutcome],
    config: ServerConfig,
    archive: Archive,
) -> Played:
    playing = {name for entry in league.entries for name in entry.bots}
    launched = {bot.name: new_token() for bot in league.bots if bot.command is not None}
    admission = Admission(store, lambda name: name in playing and name not in launched, others_read=True)
    grants = admission.grants() + [Grant.of(name, token) for name, token in launched.items()]
    async with (
        StopSignals() as signals,
        hosting.open_host(
            grants, config, metrics_port=config.metrics_port, launching=bool(launched), archive=archive
        ) as hosted,
        Writer(store, hosted.metrics.stored) as writer,
        hosting.beside(admission.follow(hosted.host)),
    ):
        console.print(f"bots at {hosted.server}, metrics at {hosted.metrics_url}", soft_wrap=True)
        console.print(hosted.security, highlight=False)
        progress = archive.playing[league.name] = Progress(hosted.host)
        for bot in league.bots:
            if bot.command is not None and bot.name in playing:
                launcher.start(bot.name, bot.command, hosted.local, launched[bot.name])

        async def save(board: Sequence[PlayedPair]) -> None:
            try:
                await writer.save(rows_of(league.name, board))
            except StoreError as error:
                raise SaveFailedError(str(error)) from error

        async def seal() -> Plan:
            return _plan(league, _secrets(await collect(console, hosted.host, store, row, league.entries)))

        return await play_plan(
            console,
            _plan(league, _secrets(row)),
            hosted,
            launcher,
            sorted(playing),
            folder / "records",
            signals,
            drain_s=config.drain_s,
            seal=seal,
            done=done,
            save=save,
            tables_in_flight=league.tables_in_flight,
            wait_s=BOT_START_S if len(launched) == len(league.bots) else 600.0,
            tables=progress,
        )


def show_standings(console: Console, out: Path, name: str | None, as_json: bool) -> None:
    """Show the standings of league *name* (default: the only one), also while it is being played."""
    with Store(out / "chaodipi.db", writing=False) as store:
        store.database.check_schema()
        names: Sequence[str] = store.league_names()
        if name is None:
            if len(names) != 1:
                raise UsageError(f"which league? there: {', '.join(names) or 'none'}")
            name = names[0]
        row = store.league(name)
        outcomes = list(store.outcomes(name).values())
    lines = standings(row.entries, outcomes, row.rank_by)
    times = decision_times(outcomes)
    missing = _missing(out / name / "results.json", {outcome.number for outcome in outcomes})
    if as_json:
        for line in lines:
            time = times.get(line.entry)
            extra = {
                "schema": "chaodipi/standing/1",
                "league": name,
                "timing": time and time.as_json(),
                "missing": [pair.as_json() for pair in missing if line.entry in (pair.first, pair.second)],
            }
            console.file.write(json.dumps(extra | line.as_json()) + "\n")
        return
    print_standings(console, f"{name}, by {row.rank_by}, {len(outcomes)} of {row.pairs} pairs", lines, times)
    print_missing(console, missing)


def _missing(results: Path, done: Container[int]) -> list[MissingPair]:
    """The pairs that the last run had to leave out and that are not in *done* since."""
    try:
        said = json.loads(results.read_text(encoding="utf-8"))["missing"]
        pairs = [MissingPair.from_json(each) for each in said]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [pair for pair in pairs if pair.number not in done]
