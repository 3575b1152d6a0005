"""A bot class as a process: flags, signals and exit codes around a :class:`~chaodipi.sdk.session.Session`."""

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from chaodipi.sdk.bot import Bot
from chaodipi.sdk.session import EXIT_OK, EXIT_USAGE, Session, SessionError
from chaodipi.sdk.tls import Tls, TlsError, tls_arguments, tls_from_arguments

__all__ = ["arguments", "main", "run"]

log = logging.getLogger("chaodipi.sdk")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of :func:`run` to *parser*."""
    parser.add_argument("--server", default=os.environ.get("CHAODIPI_SERVER", ""), help="host:port (CHAODIPI_SERVER)")
    parser.add_argument("--token", default="", help="the bot's token (better: CHAODIPI_TOKEN)")
    tls_arguments(parser)
    parser.add_argument("--seed", type=int, default=0, help="for bots that play by chance")
    parser.add_argument("--max-matches", type=int, default=64, help="seats to hold at the same time")
    parser.add_argument("--wait", type=float, default=30.0, help="seconds to try to reach the host at first")
    parser.add_argument("--instance", default="", help="name of this worker; the same name replaces an older one")
    nonces = os.environ.get("CHAODIPI_NONCES") or None
    text = "file to keep the bot's nonces in, to check the cards with (CHAODIPI_NONCES)"
    parser.add_argument("--nonces", type=Path, default=nonces and Path(nonces), metavar="FILE", help=text)
    parser.add_argument("--verbose", action="store_true", help="log more")


def run(bot: type[Bot], argv: Sequence[str] | None = None) -> None:
    """
    Play *bot* on the host of the flags or of ``CHAODIPI_SERVER`` and ``CHAODIPI_TOKEN``; never returns.

    TLS is used with ``CHAODIPI_CA``, and ``CHAODIPI_CERT`` and ``CHAODIPI_KEY`` where the host asks for a certificate.
    Ctrl+C or SIGTERM once finishes the running matches, twice leaves at once. Exits with 0 after
    that, 2 for bad flags or a token that the host refuses, 3 if the host cannot be reached, else 1.
    """
    parser = argparse.ArgumentParser(description=f"Play {bot.__name__} on a Chao Di Pi host.")
    arguments(parser)
    sys.exit(main(bot, parser.parse_args(argv)))


def main(bot: type[Bot], args: argparse.Namespace) -> int:
    """Play *bot* with parsed flags; the exit code."""
    level = logging.DEBUG if args.verbose else logging.INFO
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    token = args.token or os.environ.get("CHAODIPI_TOKEN", "")
    for value, name, variable in ((args.server, "--server", "CHAODIPI_SERVER"), (token, "--token", "CHAODIPI_TOKEN")):
        if not value:
            print(f"chaodipi-bot: give {name} or set {variable}", file=sys.stderr)
            return EXIT_USAGE
    bot.seed = args.seed
    try:
        return asyncio.run(_main(bot, args, token, tls_from_arguments(args)))
    except TlsError as error:
        print(f"chaodipi-bot: {error}", file=sys.stderr)
        return EXIT_USAGE
    except SessionError as error:
        print(f"chaodipi-bot: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_OK


async def _main(bot: type[Bot], args: argparse.Namespace, token: str, tls: Tls | None) -> int:
    session = Session(
        bot,
        args.server,
        token,
        max_matches=args.max_matches,
        wait_s=args.wait,
        instance=args.instance or None,
        tls=tls,
        nonces=args.nonces,
    )
    signals = 0

    def on_signal() -> None:
        nonlocal signals
        signals += 1
        if signals == 1:
            session.drain()
        else:
            session.stop()

    loop = asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError):  # Windows has no handlers: Ctrl+C ends the loop
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, on_signal)
    await session.run()
    log.info("%d decisions, %d by default", session.decisions, session.defaults)
    return EXIT_OK
