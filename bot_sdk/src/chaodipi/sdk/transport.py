"""What carries a session: options of the channel, retries of single calls, pauses between streams, frames."""

import json
from collections.abc import Iterator, Sequence

from chaodipi.v1 import bot_pb2, league_pb2, match_pb2, rules_pb2, session_pb2

__all__ = ["FRAME_BYTES", "FRAME_MESSAGES", "OPTIONS", "SERVICE_CONFIG", "SESSION_OPTIONS", "backoff", "frames"]

FRAME_BYTES = 256 * 1024
FRAME_MESSAGES = 4_096
"""What one frame takes; a host may take fewer bytes."""

SERVICE_CONFIG = json.dumps(
    {
        "methodConfig": [
            {
                # Questions only: asking again changes nothing. Sessions are never opened again by gRPC.
                "name": [
                    {"service": service.full_name}
                    for file in (bot_pb2, rules_pb2, match_pb2, league_pb2)
                    for service in file.DESCRIPTOR.services_by_name.values()
                ],
                "timeout": "10s",
                "retryPolicy": {
                    "maxAttempts": 4,
                    "initialBackoff": "0.2s",
                    "maxBackoff": "3s",
                    "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE"],
                },
            }
        ]
    }
)
"""gRPC itself has no deadline and does not retry."""

OPTIONS: Sequence[tuple[str, int | str]] = (
    # Hosts allow pings at half of this distance. A dead path is left after both: long before a decision's time is up.
    ("grpc.keepalive_time_ms", 3_000),
    ("grpc.keepalive_timeout_ms", 4_000),
    # Without it the default of 60 s decides.
    ("grpc.http2.ping_timeout_ms", 4_000),
    # By default no more than two pings are sent while the bot has nothing to say.
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.max_receive_message_length", 1 << 20),
    ("grpc.max_send_message_length", 1 << 20),
    ("grpc.service_config", SERVICE_CONFIG),
)
"""Of every channel to a host."""

SESSION_OPTIONS = (
    *OPTIONS,
    # A session is opened again by whoever knows what it held, and never by gRPC.
    ("grpc.enable_retries", 0),
    # Sessions of one process would share a connection, and come back on the dead one for as long as any holds it.
    ("grpc.use_local_subchannel_pool", 1),
)

_BACKOFF_FIRST_S, _BACKOFF_MOST_S = 0.2, 10.0


def backoff(failures: int, chance: float) -> float:
    """Seconds to wait after so many failures: half to all of 0.2 s doubled each time, at most 10 s."""
    return float(min(_BACKOFF_MOST_S, _BACKOFF_FIRST_S * 2 ** min(failures, 16)) * (0.5 + chance / 2))


def frames(
    messages: Sequence[session_pb2.ClientMessage], most_bytes: int = FRAME_BYTES
) -> Iterator[session_pb2.OpenSessionRequest]:
    """*messages* in order, in as few frames as the host takes; one that is too long stands alone."""
    frame, size = session_pb2.OpenSessionRequest(), 0
    for message in messages:
        # Its tag and length besides.
        length = message.ByteSize() + 8
        if frame.messages and (size + length > most_bytes or len(frame.messages) == FRAME_MESSAGES):
            yield frame
            frame, size = session_pb2.OpenSessionRequest(), 0
        frame.messages.append(message)
        size += length
    if frame.messages:
        yield frame
