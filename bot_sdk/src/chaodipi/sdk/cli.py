"""The command ``chaodipi-bot``: run a baseline on a host, or let two of them duel here."""

import argparse
import sys
from collections.abc import Sequence

from chaodipi.engine.ruleset import preset_names
from chaodipi.sdk import process
from chaodipi.sdk.baselines import BASELINES
from chaodipi.sdk.local import play_local

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point; exits with the codes of :func:`chaodipi.sdk.run`."""
    parser = argparse.ArgumentParser(prog="chaodipi-bot", description="Baseline bots for Chao Di Pi.")
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run", help="play a baseline on a host")
    runs.add_argument("bot", choices=sorted(BASELINES))
    process.arguments(runs)
    duel = commands.add_parser("duel", help="let two baselines play here, every board twice with the sides swapped")
    duel.add_argument("first", choices=sorted(BASELINES))
    duel.add_argument("second", choices=sorted(BASELINES))
    duel.add_argument("--ruleset", choices=preset_names(), default="ming_chao")
    duel.add_argument("--boards", type=int, default=100)
    duel.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    if args.command == "run":
        sys.exit(process.main(BASELINES[args.bot], args))
    result = play_local(args.ruleset, (BASELINES[args.first], BASELINES[args.second]), max(1, args.boards), args.seed)
    print(f"{args.first} against {args.second}, {args.ruleset}: {result}")


if __name__ == "__main__":
    main()
