"""``chaodipi bot``: who may connect. Works beside a host or a league that runs; it notices within seconds.

*path* is its store.
"""

import json
import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from chaodipi.service.cli.errors import UsageError
from chaodipi.service.host.identity import PLAY, SCOPES, hash_token, new_token, token_id
from chaodipi.service.scheduler.league_file import check_name
from chaodipi.service.store import BotRow, Store, TokenRow
from rich.console import Console
from rich.table import Table

__all__ = ["add_bot", "expire_tokens", "list_bots", "revoke_tokens", "rotate_token", "seconds_from_text"]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_LONGEST_S = 100 * 366 * 86_400


def seconds_from_text(text: str) -> int:
    """Seconds of a span such as 30d, 12h, 90m or 45s; UsageError for anything else."""
    found = re.fullmatch(r"(\d{1,10})([smhd])", text)
    seconds = int(found[1]) * _UNITS[found[2]] if found else 0
    if not found or seconds > _LONGEST_S:
        raise UsageError(f"{text!r} is no span of time: a number and s, m, h or d expected, such as 30d")
    return seconds


def add_bot(console: Console, path: Path, name: str, owner: str, expires: str | None, scopes: Sequence[str]) -> None:
    """Add bot *name* and print its token, this once."""
    check_name(name)
    if re.fullmatch(r"[0-9a-f]{8}", name):
        raise UsageError(f"name {name!r}: 8 hex digits are the id of a token")
    if len(owner) > 200 or not owner.isprintable():
        raise UsageError("--owner: printable characters, at most 200")
    for scope in scopes:
        if scope not in SCOPES:
            raise UsageError(f"unknown scope {scope!r}; known: {', '.join(SCOPES)}")
    span = None if expires is None else seconds_from_text(expires)
    token, row = _new(name, tuple(dict.fromkeys(scopes)) or (PLAY,), span)
    with Store.beside(path) as store:
        store.bots.add(row, owner)
    _hand_over(name, token)
    _say(console, f"bot {name} added to {path}")


def rotate_token(console: Console, path: Path, name: str, grace: str, expires: str | None) -> None:
    """Print a new token of bot *name*; its others end now, or after *grace*."""
    grace_s = seconds_from_text(grace)
    span = None if expires is None else seconds_from_text(expires)
    with Store.beside(path) as store:
        given = store.bots.get(name).tokens
        newest = given[-1] if given else None
        if span is None and newest is not None and newest.expires_at is not None:
            # As long as the one before was good for: rotation must not make a token last for ever in silence.
            span = max(1, round(newest.expires_at - newest.created_at))
        token, row = _new(name, newest.scopes if newest else (PLAY,), span)
        store.bots.rotate(row, row.created_at + grace_s)
    _hand_over(name, token)
    if row.expires_at is not None:
        _say(console, f"it ends {_moment(row.expires_at)}")
    if grace_s:
        _say(console, f"older tokens of {name} end by {_moment(row.created_at + grace_s)}")


def revoke_tokens(console: Console, path: Path, which: str) -> None:
    """Revoke a token by its id, or all tokens of a bot."""
    with Store.beside(path) as store:
        revoked = store.bots.revoke(which, time.time())
    for token in revoked:
        console.print(f"revoked: token {token.id} of {token.bot}", highlight=False)
    if not revoked:
        console.print(f"nothing to do: every token of {which} was revoked before", highlight=False)


def expire_tokens(console: Console, path: Path, which: str, when: str) -> None:
    """Have a token, or all tokens of a bot, end after a span, or never."""
    at = None if when == "never" else time.time() + seconds_from_text(when)
    with Store.beside(path) as store:
        changed = store.bots.expire(which, at)
    for token in changed:
        end = "never ends" if at is None else f"ends {_moment(at)}"
        console.print(f"token {token.id} of {token.bot} {end}", highlight=False)
    if not changed:
        console.print(f"nothing to do: every token of {which} is revoked", highlight=False)


def list_bots(console: Console, path: Path, as_json: bool, all_tokens: bool) -> None:
    """List bots with their tokens: those that hold, or all."""
    with Store(path, writing=False) as store:
        store.database.check_schema()
        bots = store.bots.all()
    now = time.time()
    if as_json:
        for bot in bots:
            console.file.write(json.dumps(_json(bot, now)) + "\n")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for heading in ("bot", "owner"):
        table.add_column(heading, overflow="fold")
    table.add_column("token", no_wrap=True)
    table.add_column("scopes", overflow="fold")
    for heading in ("ends", "last used"):
        table.add_column(heading, no_wrap=True)
    for bot in bots:
        shown = [token for token in bot.tokens if all_tokens or token.holds(now)]
        for nth, token in enumerate(shown):
            names = (bot.name, bot.owner or "–") if nth == 0 else ("", "")
            scopes = " ".join(token.scopes) or "–"
            table.add_row(*names, token.id, scopes, _end(token, now), _day(token.used_at, "never"))
        if not shown:
            table.add_row(bot.name, bot.owner or "–", "none", "–", "–", "–")
    console.print(table if bots else "no bots: chaodipi bot add NAME", highlight=False)


def _new(bot: str, scopes: tuple[str, ...], span: int | None) -> tuple[str, TokenRow]:
    token, now = new_token(), time.time()
    return token, TokenRow(token_id(token), bot, hash_token(token), scopes, now, None if span is None else now + span)


def _hand_over(name: str, token: str) -> None:
    """Print *token*, this once; where that fails nobody has it."""
    try:
        print(token, flush=True)
    except OSError as error:
        again = f"chaodipi bot rotate {name} gives another one"
        raise UsageError(f"the token of {name} could not be written: {error.strerror}; {again}") from error


def _say(console: Console, text: str) -> None:
    """On standard error: what goes to standard output is the token and nothing else."""
    Console(stderr=True, width=console.width).print(text, highlight=False, soft_wrap=True)


def _json(bot: BotRow, now: float) -> dict[str, Any]:
    return {
        "schema": "chaodipi/bot/1",
        "name": bot.name,
        "owner": bot.owner,
        "created": _iso(bot.created_at),
        "tokens": [
            {
                "id": token.id,
                "scopes": list(token.scopes),
                "created": _iso(token.created_at),
                "expires": _iso(token.expires_at),
                "revoked": _iso(token.revoked_at),
                "last_used": _iso(token.used_at),
                "holds": token.holds(now),
            }
            for token in bot.tokens
        ],
    }


def _iso(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _day(at: float | None, never: str) -> str:
    return never if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def _end(token: TokenRow, now: float) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return _day(token.expires_at, "never") if token.holds(now) else "expired"
