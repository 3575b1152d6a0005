"""``chaodipi doctor``: what is wrong here, one finding a line."""

import asyncio
import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from chaodipi.sdk.tls import Tls, TlsError
from chaodipi.service.cli.errors import UsageError
from chaodipi.service.cli.hosting import tls_files
from chaodipi.service.config import ConfigError, load_server_config
from chaodipi.service.doctor import (
    Finding,
    check_clock,
    check_server,
    check_store,
    check_tls,
    check_versions,
)
from chaodipi.service.host.errors import HostError
from chaodipi.service.rpc.server import is_local
from rich.console import Console
from rich.table import Table

__all__ = ["doctor"]

_STYLES = {"ok": "green", "warning": "yellow", "problem": "bold red"}


def doctor(console: Console, path: Path | None, server: str, tls: tuple[str, str, str], as_json: bool) -> bool:
    """Show what is found; False if anything is a problem."""
    try:
        client = Tls.read(*tls)
    except TlsError as error:
        raise UsageError(str(error)) from error
    findings = [*check_versions(), *check_clock(), *_here(path)]
    if server:
        findings += asyncio.run(check_server(server, client, os.environ.get("CHAODIPI_TOKEN", "")))
    if as_json:
        for finding in findings:
            console.file.write(json.dumps({"schema": "chaodipi/finding/1"} | asdict(finding)) + "\n")
    else:
        table = Table.grid(padding=(0, 2, 0, 0))
        for finding in findings:
            table.add_row(f"[{_STYLES[finding.level]}]{finding.level}[/]", finding.subject, finding.text)
        console.print(table, highlight=False)
    return all(finding.level != "problem" for finding in findings)


def _here(path: Path | None) -> Iterator[Finding]:
    """What the settings say, and what hangs on them."""
    try:
        config = load_server_config(path)
    except ConfigError as error:
        yield Finding("problem", "settings", str(error))
        return
    yield Finding("ok", "settings", f"{path or 'the defaults'}: listens at {config.listen}")
    files = tls_files(config)
    if files is not None:
        yield from check_tls(files, datetime.now(UTC))
    else:
        try:
            here = is_local(config.listen)
        except HostError as error:
            yield Finding("problem", "settings", str(error))
            here = True
        if here:
            yield Finding("ok", "TLS", "none, so only this machine can connect")
        elif config.insecure:
            yield Finding("warning", "TLS", "none (insecure = true): tokens can be read on the way")
        else:
            yield Finding("problem", "TLS", f"none, so the host will not start at {config.listen}")
    yield from check_store(Path(config.store))
