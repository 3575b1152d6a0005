"""Fields of requests: resource names, page sizes and page tokens; what is wrong with one is said by its name."""

import base64
import binascii
import hashlib
import re
from collections.abc import Sequence

from chaodipi.service.host.errors import SessionRefused
from google.protobuf.message import Message

__all__ = ["MAX_PAGE", "bad_field", "bad_token", "page_of", "page_size", "page_start", "page_token", "resource_id"]

MAX_PAGE = 1_000
_FORMS = {
    "leagues": re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+]{0,31}"),
    "bots": re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+]{0,63}"),
    "matches": re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+/-]{0,199}"),
}
_MARK_BYTES = 9


def bad_field(field: str, problem: str) -> SessionRefused:
    """The refusal of a request whose *field* is wrong."""
    return SessionRefused(3, "FIELD_INVALID", f"{field}: {problem}", {"field": field})


def resource_id(collection: str, field: str, name: str) -> str:
    """
    The id of a resource *name* such as ``leagues/spring``.

    Raises:
        SessionRefused: FIELD_INVALID, it is none of *collection*; the caller's mistake.
    """
    prefix, _, found = name.partition("/")
    if prefix != collection or not _FORMS[collection].fullmatch(found):
        raise bad_field(field, f"{collection}/{{id}} expected, here {name[:80]!r}")
    return found


def page_size(request: Message, default: int, most: int = MAX_PAGE) -> int:
    """How many to answer ``request.page_size``: *default* for 0, never more than *most*; FIELD_INVALID out of range."""
    asked: int = request.page_size  # type: ignore[attr-defined]  # every request of a list has it
    if not 0 <= asked <= MAX_PAGE:
        raise bad_field("page_size", f"0 to {MAX_PAGE}, here {asked}")
    return min(asked or default, most)


def page_token(request: Message, last: str) -> str:
    """What asks for the page after *last*, for this *request* and no other: its filters are part of the token."""
    return base64.urlsafe_b64encode(_mark(request) + last.encode()).decode().rstrip("=")


def page_start(request: Message) -> str:
    """
    What the page before ended with, "" for the first page.

    Raises:
        SessionRefused: PAGE_TOKEN_INVALID, the token is not of this host or of other filters; the caller's mistake.
    """
    token: str = request.page_token  # type: ignore[attr-defined]
    if not token:
        return ""
    try:
        data = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        last = data[_MARK_BYTES:].decode()
    except (binascii.Error, ValueError) as error:
        raise bad_token("it was not given by this host") from error
    if data[:_MARK_BYTES] != _mark(request):
        raise bad_token("it is of a request with other filters")
    if not last:
        raise bad_token("it was not given by this host")
    return last


def page_of(request: Message, names: Sequence[str], default: int = MAX_PAGE) -> tuple[Sequence[str], str]:
    """The page of sorted *names* that *request* asks for, and the token of the next one."""
    start = page_start(request)
    rest = [name for name in names if name > start]
    page = rest[: page_size(request, default)]
    return page, page_token(request, page[-1]) if len(page) < len(rest) else ""


def bad_token(problem: str) -> SessionRefused:
    """The refusal of a page token."""
    return SessionRefused(3, "PAGE_TOKEN_INVALID", f"page_token: {problem}", {"field": "page_token"})


def _mark(request: Message) -> bytes:
    """What all requests have in common that differ in their page only."""
    filters = type(request)()
    filters.CopyFrom(request)
    filters.ClearField("page_size")
    filters.ClearField("page_token")
    name = request.DESCRIPTOR.full_name.encode()
    return hashlib.sha256(name + b"\0" + filters.SerializeToString(deterministic=True)).digest()[:_MARK_BYTES]
