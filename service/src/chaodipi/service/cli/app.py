"""The command line: options only; what the commands do is in the modules beside this one."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from chaodipi.engine.errors import EngineError
from chaodipi.service.cli.errors import UsageError
from chaodipi.service.host.errors import HostError
from chaodipi.service.launch import BotExitedError
from chaodipi.service.records.verify import RecordError
from chaodipi.service.scheduler.run import PairFailedError
from chaodipi.service.store import StoreError
from rich.console import Console

__all__ = ["app", "main"]

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def _root() -> None:
    """The Chao Di Pi host and leagues."""


@app.command("demo")
def demo_command(
    ruleset: Annotated[str, typer.Option(help="Preset to play.")] = "ming_chao",
    boards: Annotated[int, typer.Option(min=1, help="Boards for each pairing; a board is two tables.")] = 20,
    out: Annotated[Path, typer.Option(help="Folder for results and records.")] = Path("out/demo"),
    seed: Annotated[str | None, typer.Option(help="64 hex digits or any text; the same seed, the same deals.")] = None,
    bots: Annotated[str, typer.Option(help="Baseline bots to play, separated by commas.")] = "random,greedy,rules",
) -> None:
    """Host a league of the three baseline bots and show the standings."""
    from chaodipi.service.cli.demo import demo

    demo(Console(), ruleset, boards, out, seed, [name.strip() for name in bots.split(",") if name.strip()])


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Run the command; every expected error is one line on standard error and exit code 2."""
    signal.signal(signal.SIGTERM, _interrupt)
    # Bots are started by vfork; gRPC's fork handlers would only complain.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    try:
        app(standalone_mode=False)
    except typer.Exit as error:
        sys.exit(error.exit_code)
    except (UsageError, BotExitedError, HostError, StoreError, RecordError, EngineError, PairFailedError) as error:
        print(f"chaodipi: {error}", file=sys.stderr)
        sys.exit(2)
    except (KeyboardInterrupt, asyncio.CancelledError, typer.Abort):
        print("chaodipi: interrupted", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        show = getattr(error, "show", None)
        if show is None:
            raise
        show()
        sys.exit(2)
