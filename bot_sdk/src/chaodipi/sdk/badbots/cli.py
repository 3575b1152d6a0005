"""The command ``chaodipi-badbots``: play one of the gallery on a host, to rehearse an event."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence

from chaodipi.sdk.badbots.gallery import GALLERY

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point; exit code 2 for a mistake on the command line."""
    parser = argparse.ArgumentParser(
        prog="chaodipi-badbots",
        description="Bots that misbehave, to rehearse an event with.",
        epilog="They find the host by CHAODIPI_SERVER and CHAODIPI_TOKEN.",
    )
    parser.add_argument("bot", choices=["list", *GALLERY], metavar="BOT", help="a bot of the gallery; list: name them")
    chosen = parser.parse_args(argv).bot
    if chosen == "list":
        for name, kind in GALLERY.items():
            print(f"{name:<15} {(kind.__doc__ or '').splitlines()[0]}")
        return
    server, token = os.environ.get("CHAODIPI_SERVER"), os.environ.get("CHAODIPI_TOKEN")
    if not server or not token:
        parser.error("set CHAODIPI_SERVER (host:port) and CHAODIPI_TOKEN")
    try:
        asyncio.run(GALLERY[chosen](server, token).run())
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
