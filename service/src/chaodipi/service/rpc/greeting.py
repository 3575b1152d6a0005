"""What a bot says of itself in Hello, held to its bounds."""

from chaodipi.service.host.errors import SessionRefused
from chaodipi.service.host.session import Cursor, Greeting
from chaodipi.v1 import session_pb2

__all__ = ["BOUNDS", "greeting_of"]

_NAME_BYTES = 100
_REFERENCE_BYTES = 300

BOUNDS = {
    "sdk": _NAME_BYTES,
    "language": _NAME_BYTES,
    "bot_version": _NAME_BYTES,
    "instance": _NAME_BYTES,
    "resume_token": _NAME_BYTES,
    "capabilities": 64,
    "capabilities[]": _NAME_BYTES,
    "cursors": 4_096,
    "cursors[].match": _REFERENCE_BYTES,
    "cursors[].seat_token": _NAME_BYTES,
    "ruleset_digests": 64,
    "ruleset_digests[]": _REFERENCE_BYTES,
    "ruleset_digests[].value": 64,
}
"""Field of Hello → bytes of a text, entries of a list or map; ``[]``: of each entry, of a map its key."""


def greeting_of(hello: session_pb2.Hello) -> Greeting:
    """
    What the host keeps of *hello*.

    Raises:
        SessionRefused: FIELD_INVALID, naming the field that is beyond its bound; the bot's mistake.
    """
    for field in ("sdk", "language", "bot_version", "instance", "resume_token"):
        _text(field, getattr(hello, field))
    for field in ("capabilities", "cursors", "ruleset_digests"):
        _count(field, len(getattr(hello, field)))
    for capability in hello.capabilities:
        _text("capabilities[]", capability)
    for cursor in hello.cursors:
        _text("cursors[].match", cursor.match)
        _text("cursors[].seat_token", cursor.seat_token)
    for name, digest in hello.ruleset_digests.items():
        _text("ruleset_digests[]", name)
        _text("ruleset_digests[].value", digest)
    return Greeting(
        instance=hello.instance,
        bot_version=hello.bot_version,
        sdk=hello.sdk,
        language=hello.language,
        legal=hello.legal_mode == session_pb2.LEGAL_MODE_FACTORED,
        immediate=hello.event_mode == session_pb2.EVENT_MODE_IMMEDIATE,
        resume_token=hello.resume_token,
        cursors=tuple(Cursor(cursor.seat_token, cursor.last_seq) for cursor in hello.cursors),
        ruleset_digests=dict(hello.ruleset_digests),
    )


def _text(field: str, value: str) -> None:
    if len(value) > BOUNDS[field] or len(value.encode()) > BOUNDS[field]:
        _refuse(field, len(value.encode()), "bytes")


def _count(field: str, number: int) -> None:
    if number > BOUNDS[field]:
        _refuse(field, number, "entries")


def _refuse(field: str, number: int, unit: str) -> None:
    text = f"hello.{field} has {number} {unit}, at most {BOUNDS[field]}"
    raise SessionRefused(3, "FIELD_INVALID", text, {"field": f"hello.{field}", unit: str(number)})
