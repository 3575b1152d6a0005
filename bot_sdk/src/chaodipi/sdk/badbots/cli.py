"""The command ``chaodipi-badbots``: play one of the gallery on a host, to rehearse an event."""

import argparse
import asyncio
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence

from chaodipi.sdk.badbots.gallery import GALLERY
from chaodipi.sdk.tls import TlsError, tls_arguments, tls_from_arguments

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point; exit code 2 for a mistake on the command line."""
    parser = argparse.ArgumentParser(
        prog="chaodipi-badbots",
        description="Bots that misbehave, to rehearse an event with.",
        epilog="They find the host by CHAODIPI_SERVER and CHAODIPI_TOKEN, or the flags.",
    )
    parser.add_argument("bot", choices=["list", *GALLERY], metavar="BOT", help="a bot of the gallery; list: name them")
    parser.add_argument("--server", default=os.environ.get("CHAODIPI_SERVER", ""), help="host:port (CHAODIPI_SERVER)")
    parser.add_argument("--token", default="", help="the bot's token (better: CHAODIPI_TOKEN)")
    tls_arguments(parser)
    args = parser.parse_args(argv)
    chosen = args.bot
    if chosen == "list":
        width = shutil.get_terminal_size().columns
        for name, kind in GALLERY.items():
            text = f"{name:<15} {(kind.__doc__ or '').splitlines()[0]}"
            print(textwrap.fill(text, width, subsequent_indent=" " * 16))
        return
    token = args.token or os.environ.get("CHAODIPI_TOKEN", "")
    if not args.server or not token:
        parser.error("set CHAODIPI_SERVER (host:port) and CHAODIPI_TOKEN, or give --server and --token")
    bot = GALLERY[chosen](args.server, token)
    try:
        bot.tls = tls_from_arguments(args)
        asyncio.run(bot.run())
    except TlsError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
