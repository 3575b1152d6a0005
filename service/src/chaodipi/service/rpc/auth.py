"""Who calls: the token in the metadata of a call, and the bot that it belongs to."""

from collections.abc import Iterable
from typing import Any

from chaodipi.service.host.errors import SessionRefused
from chaodipi.service.host.host import Host
from chaodipi.service.rpc.errors import refuse

__all__ = ["caller", "token_of"]


def token_of(metadata: Iterable[tuple[str, str | bytes]] | None) -> str | None:
    """The token of ``authorization: Bearer <token>``, None if there is none."""
    for key, value in metadata or ():
        if key == "authorization" and isinstance(value, str) and value[:7].lower() == "bearer ":
            return value[7:].strip() or None
    return None


async def caller(host: Host, context: Any) -> str:
    """The bot that asks; ends the call if there is none."""
    try:
        return host.authenticate(token_of(context.invocation_metadata()))
    except SessionRefused as error:
        await refuse(context, error)
