"""The command line: options only; what the commands do is in the modules beside this one.

Those modules are imported when their command runs, so that ``--help`` is quick.
"""

import asyncio
import errno
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from chaodipi.service.streams import lossy, standard_streams

if TYPE_CHECKING:
    from chaodipi.service.cli.playing import Played

__all__ = ["app", "main"]

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
league_app = typer.Typer(help="Run leagues and show their standings.", no_args_is_help=True)
bot_app = typer.Typer(help="Bots that may connect.", no_args_is_help=True)
replay_app = typer.Typer(help="Read and check records.", no_args_is_help=True)
rules_app = typer.Typer(help="The rulesets: presets and files of your own.", no_args_is_help=True)
db_app = typer.Typer(help="The store.", no_args_is_help=True)
app.add_typer(league_app, name="league")
app.add_typer(bot_app, name="bot")
app.add_typer(replay_app, name="replay")
app.add_typer(rules_app, name="rules")
app.add_typer(db_app, name="db")

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a disk says that takes no more, and a terminal that is gone."""

PAIRS_MISSING = 3
"""Exit code of a league that is over but for pairs that faults of the host kept from being scored."""
INTERRUPTED = 130
"""Exit code of a command that was stopped at once."""

Out = Annotated[Path, typer.Option(help="Folder of the store, results and records.")]
StoreOut = Annotated[Path | None, typer.Option(help="Folder of a league, whose store it is.")]
StoreConfig = Annotated[Path | None, typer.Option(help="TOML file of serve, which names its store.")]
MetricsPort = Annotated[
    int, typer.Option(min=0, max=65535, help="Port of the Prometheus metrics on this machine; 0: a free one.")
]
Config = Annotated[Path | None, typer.Option(help="TOML file: listen, tls_cert, tls_key, time, quotas and more.")]


@app.callback()
def _root() -> None:
    """The Chao Di Pi host and leagues."""


@app.command("demo")
def _demo(
    ruleset: Annotated[str, typer.Option(help="Preset, or ruleset file, to play.")] = "ming_chao",
    boards: Annotated[int, typer.Option(min=1, help="Boards for each pairing; a board is two tables.")] = 20,
    out: Annotated[Path, typer.Option(help="Folder for results and records.")] = Path("out/demo"),
    seed: Annotated[str | None, typer.Option(help="64 hex digits or any text; the same seed, the same deals.")] = None,
    bots: Annotated[str, typer.Option(help="Baseline bots to play, separated by commas.")] = "random,greedy,rules",
    metrics_port: MetricsPort = 0,
) -> None:
    """Host a league of the three baseline bots and show the standings."""
    from chaodipi.service.cli.console import Screen
    from chaodipi.service.cli.demo import demo
    from chaodipi.service.config import load_server_config

    names = [name.strip() for name in bots.split(",") if name.strip()]
    drain_s = load_server_config(None).drain_s
    raise typer.Exit(_code(demo(Screen(work=True), ruleset, boards, out, seed, names, metrics_port, drain_s)))


@app.command("serve")
def _serve(
    house: Annotated[str | None, typer.Option(help="Preset: bots that connect play the baselines by it.")] = None,
    config: Config = None,
) -> None:
    """Serve bots until SIGTERM or Ctrl-C, then drain; the second one stops at once, with exit code 130."""
    from chaodipi.service.cli.console import Screen
    from chaodipi.service.cli.serve import serve
    from chaodipi.service.config import load_server_config

    if not serve(Screen(work=True), load_server_config(config), house):
        raise typer.Exit(INTERRUPTED)


@app.command("judge")
def _judge() -> None:
    """Answer questions about the rules: one JSON object a line in, one out."""
    from chaodipi.engine.judge import answer_line

    for line in sys.stdin.buffer:  # JSON is UTF-8, whatever the terminal speaks
        if line.strip():
            print(answer_line(line.decode(errors="replace")), flush=True)


@league_app.command("run")
def _league_run(
    file: Annotated[Path, typer.Argument(help="The league's TOML file.")],
    out: Out = Path("out"),
    listen: Annotated[str | None, typer.Option(help="host:port for bots; by default a free port here.")] = None,
    metrics_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port of the Prometheus metrics; 0: a free one.")
    ] = None,
    config: Config = None,
) -> None:
    """
    Play a league, or play on where an earlier run stopped.

    SIGTERM or Ctrl-C drains; the second one stops at once, with exit code 130. The same command plays on.
    """
    from chaodipi.service.cli.console import Screen
    from chaodipi.service.cli.league import run_league
    from chaodipi.service.config import ServerConfig, load_server_config

    settings = load_server_config(config, defaults=ServerConfig(listen="127.0.0.1:0"))
    if listen is not None:
        settings = replace(settings, listen=listen)
    if metrics_port is not None:
        settings = replace(settings, metrics_port=metrics_port)
    raise typer.Exit(_code(run_league(Screen(work=True), file, out, settings)))


def _code(played: "Played") -> int:
    """A league that drained has done what it was told, whatever is still to be played."""
    from chaodipi.service.cli.signals import Ending

    if played.ending == Ending.STOPPED:
        return INTERRUPTED
    return PAIRS_MISSING if played.missing and played.ending == Ending.OVER else 0


@league_app.command("standings")
def _league_standings(
    name: Annotated[str | None, typer.Argument(help="The league; needed if there are several.")] = None,
    out: Out = Path("out"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Show a league's standings, also while it is played."""
    from chaodipi.service.cli.console import Screen
    from chaodipi.service.cli.league import show_standings

    show_standings(Screen(), out, name, as_json)


@bot_app.command("add")
def _bot_add(
    name: Annotated[str, typer.Argument(help="The bot's name.")],
    owner: Annotated[str, typer.Option(help="Who answers for it; for the organiser's eyes.")] = "",
    expires: Annotated[str | None, typer.Option(help="Span after which the token ends, such as 30d or 12h.")] = None,
    scope: Annotated[
        list[str] | None, typer.Option(help="What the token allows, again for more: play by default.")
    ] = None,
    out: StoreOut = None,
    config: StoreConfig = None,
) -> None:
    """Add a bot and print its token, this once."""
    from chaodipi.service.cli.bots import add_bot
    from chaodipi.service.cli.console import Screen

    add_bot(Screen(), _store(out, config), name, owner, expires, scope or [])


@bot_app.command("list")
def _bot_list(
    out: StoreOut = None,
    config: StoreConfig = None,
    all_tokens: Annotated[bool, typer.Option("--all", help="Tokens that have ended too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, with every token.")] = False,
) -> None:
    """List the bots, their owners and tokens."""
    from chaodipi.service.cli.bots import list_bots
    from chaodipi.service.cli.console import Screen

    list_bots(Screen(), _store(out, config), as_json, all_tokens)


@bot_app.command("rotate")
def _bot_rotate(
    name: Annotated[str, typer.Argument(help="The bot's name.")],
    grace: Annotated[str, typer.Option(help="Span for which older tokens go on holding, such as 1d.")] = "0s",
    expires: Annotated[
        str | None, typer.Option(help="Span after which the new one ends; as long as the last one had by default.")
    ] = None,
    out: StoreOut = None,
    config: StoreConfig = None,
) -> None:
    """Print a new token of a bot; the older ones end."""
    from chaodipi.service.cli.bots import rotate_token
    from chaodipi.service.cli.console import Screen

    rotate_token(Screen(), _store(out, config), name, grace, expires)


@bot_app.command("revoke")
def _bot_revoke(
    which: Annotated[str, typer.Argument(metavar="NAME|TOKEN_ID", help="A bot, for all its tokens, or one token.")],
    out: StoreOut = None,
    config: StoreConfig = None,
) -> None:
    """Refuse a token, or all tokens of a bot, from now on; its sessions end."""
    from chaodipi.service.cli.bots import revoke_tokens
    from chaodipi.service.cli.console import Screen

    revoke_tokens(Screen(), _store(out, config), which)


@bot_app.command("expire")
def _bot_expire(
    which: Annotated[str, typer.Argument(metavar="NAME|TOKEN_ID", help="A bot, for all its tokens, or one token.")],
    when: Annotated[str, typer.Argument(help="Span from now, such as 30d or 0s, or: never.")],
    out: StoreOut = None,
    config: StoreConfig = None,
) -> None:
    """Set when a token, or all tokens of a bot, end."""
    from chaodipi.service.cli.bots import expire_tokens
    from chaodipi.service.cli.console import Screen

    expire_tokens(Screen(), _store(out, config), which, when)


@replay_app.command("show")
def _replay_show(files: Annotated[list[Path], typer.Argument(help="Records.")]) -> None:
    """Show records as text."""
    from chaodipi.service.records.show import show
    from chaodipi.service.records.verify import Record

    for path in files:
        for line in show(Record.read(path)):
            print(line)


@replay_app.command("verify")
def _replay_verify(
    files: Annotated[list[Path], typer.Argument(help="Records, or folders of them.")],
    nonces: Annotated[Path | None, typer.Option(help="What your bot kept by its own --nonces.")] = None,
) -> None:
    """Deal, play and settle records again; exit code 1 if anything does not match."""
    from chaodipi.service.cli.replay import verify_files

    if not verify_files(files, nonces):
        raise typer.Exit(1)


@rules_app.command("list")
def _rules_list() -> None:
    """List the presets."""
    from chaodipi.service.cli.console import Screen
    from chaodipi.service.cli.rules import list_rules

    list_rules(Screen())


@rules_app.command("show")
def _rules_show(
    ruleset: Annotated[str, typer.Argument(help="Preset, or ruleset file.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Show every value of a ruleset, what it means and the clauses behind it."""
    from chaodipi.service.cli.console import Screen
    from chaodipi.service.cli.rules import show_rules

    show_rules(Screen(), ruleset, as_json)


@rules_app.command("diff")
def _rules_diff(
    one: Annotated[str, typer.Argument(help="Preset, or ruleset file.")],
    other: Annotated[str, typer.Argument(help="Preset, or ruleset file.")],
) -> None:
    """Show in which values two rulesets differ."""
    from chaodipi.service.cli.console import Screen
    from chaodipi.service.cli.rules import diff_rules

    diff_rules(Screen(), one, other)


@rules_app.command("check")
def _rules_check(file: Annotated[Path, typer.Argument(help="TOML file: name, base, [values].")]) -> None:
    """Check a ruleset file and show what it changes."""
    from chaodipi.service.cli.console import Screen
    from chaodipi.service.cli.rules import check_rules

    check_rules(Screen(), file)


@rules_app.command("explain")
def _rules_explain(
    cards: Annotated[str, typer.Argument(help="Cards such as 'S9 S9 HT bj'.")],
    trump: Annotated[str, typer.Option(help="C, D, H, S or NT.")],
    level: Annotated[str, typer.Option(help="2 to T, J, Q, K, A.")] = "2",
    ruleset: Annotated[str, typer.Option(help="Preset, or ruleset file.")] = "ming_chao",
) -> None:
    """Explain cards: their order, the pattern they make, what they dig."""
    from chaodipi.service.cli.console import Screen
    from chaodipi.service.cli.rules import explain_cards

    explain_cards(Screen(), cards, ruleset, level, trump)


@app.command("doctor")
def _doctor(
    config: Config = None,
    server: Annotated[str, typer.Option(help="host:port of a running host, to be asked too.")] = "",
    ca: Annotated[str, typer.Option(envvar="CHAODIPI_CA", help="PEM file: who vouches for that host.")] = "",
    cert: Annotated[str, typer.Option(envvar="CHAODIPI_CERT", help="PEM file: a certificate to show it.")] = "",
    key: Annotated[str, typer.Option(envvar="CHAODIPI_KEY", help="PEM file: the key of --cert.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Look for what is wrong here: versions, settings, TLS, clock, store, a host; exit code 1 if something is."""
    from chaodipi.service.cli.console import Screen
    from chaodipi.service.cli.doctor import doctor

    if not doctor(Screen(), config, server, (ca, cert, key), as_json):
        raise typer.Exit(1)


@db_app.command("upgrade")
def _db_upgrade(out: StoreOut = None, config: StoreConfig = None) -> None:
    """Bring the store's schema up to date; make the store if there is none."""
    from chaodipi.service.store import Store

    with Store(_store(out, config), writing=True) as store:
        print(f"{store.path} is up to date")


@db_app.command("backup")
def _db_backup(
    to: Annotated[Path, typer.Argument(help="File to write; must not exist.")],
    out: StoreOut = None,
    config: StoreConfig = None,
) -> None:
    """Copy the store, also while it is in use."""
    from chaodipi.service.store import Store

    with Store(_store(out, config), writing=False) as store:
        store.database.backup(to)
        print(f"{store.path} copied to {to}")


def _store(out: Path | None, config: Path | None) -> Path:
    """That of the league in *out*, or of a host with these settings: what serve itself would take by default."""
    from chaodipi.service.cli.errors import UsageError
    from chaodipi.service.config import load_server_config

    if out is None:
        return Path(load_server_config(config).store)
    if config is not None:
        raise UsageError("--out and --config both name a store: give one of them")
    return out / "chaodipi.db"


def _expected(error: BaseException) -> bool:
    """Whether *error* is one that a command foresees: its text is the whole message."""
    from chaodipi.engine.errors import EngineError
    from chaodipi.service.cli.errors import UsageError
    from chaodipi.service.config import ConfigError
    from chaodipi.service.host.errors import HostError
    from chaodipi.service.launch import BotExitedError
    from chaodipi.service.records.verify import RecordError
    from chaodipi.service.store import StoreError

    known = (UsageError, ConfigError, HostError, BotExitedError, RecordError, StoreError, EngineError)
    return isinstance(error, known)


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _end(code: int | str | None) -> NoReturn:
    """Exit with *code*, whatever waits to be written and cannot be: Python itself would exit with 120."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Run the command; every expected error is one line on standard error and exit code 2."""
    standard_streams()
    # Whoever cannot be told what went wrong can still be told by the exit code.
    sys.stderr = lossy(sys.stderr)
    signal.signal(signal.SIGTERM, _interrupt)
    # Bots are started by vfork; gRPC's fork handlers would only complain.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    # Its own words about strangers at the port are no JSON, and as many as they like.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, asyncio.CancelledError, typer.Abort):
        print("chaodipi: interrupted", file=sys.stderr)
        _end(INTERRUPTED)
    except SystemExit as end:
        # Click's answer to a reader that went away is 1, which says here that something was found to be wrong.
        _end(0 if isinstance(end.__context__, BrokenPipeError) else end.code)
    except BrokenPipeError:
        # The reader of our output went away; nothing more can be said to it.
        _end(0)
    except Exception as failure:
        error = _first(failure)
        if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
            print("chaodipi: interrupted", file=sys.stderr)
            _end(INTERRUPTED)
        if hasattr(error, "format_message"):
            if message := error.format_message():  # without one, the help was shown
                print(f"chaodipi: {message}", file=sys.stderr)
        elif isinstance(error, OSError) and error.filename is not None:
            print(f"chaodipi: {error.filename}: {error.strerror}", file=sys.stderr)
        elif isinstance(error, OSError) and error.errno in _NO_ROOM:
            print(f"chaodipi: what was to be said could not be written: {error.strerror}", file=sys.stderr)
        elif _expected(error):
            print(f"chaodipi: {error}", file=sys.stderr)
        else:
            raise
        _end(2)
    if code == INTERRUPTED:
        # Typer has made an exit code of the interrupt, or the command did.
        print("chaodipi: interrupted", file=sys.stderr)
    _end(code if isinstance(code, int) else 0)
