"""Refusals as gRPC statuses: canonical code, ``REASON: text``, and google.rpc.ErrorInfo in the trailer."""

from typing import Any, NoReturn

import grpc
from chaodipi.service.host.errors import SessionRefused

__all__ = ["refuse"]

MAX_TEXT_BYTES = 1_000
"""Bytes of one text of a refusal: beyond 8 KiB of trailers, where a byte may take three, clients see another error."""

_CODES = {code.value[0]: code for code in grpc.StatusCode}


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def error_details(error: SessionRefused) -> bytes:
    """
    google.rpc.Status with google.rpc.ErrorInfo, and RetryInfo if it is said when to try again; serialised.

    Written by hand, because the package that has these messages restricts the protobuf version.
    """
    info = _field(1, error.reason.encode()) + _field(2, b"chaodipi")
    for key, value in error.metadata.items():
        info += _field(3, _field(1, key.encode()) + _field(2, value.encode()))
    detail = _field(1, b"type.googleapis.com/google.rpc.ErrorInfo") + _field(2, info)
    status = _varint(1 << 3) + _varint(error.code) + _field(2, error.message.encode()) + _field(3, detail)
    if error.retry_after_s > 0:
        seconds, fraction = divmod(error.retry_after_s, 1)
        delay = _varint(1 << 3) + _varint(int(seconds)) + _varint(2 << 3) + _varint(int(fraction * 1e9))
        retry = _field(1, b"type.googleapis.com/google.rpc.RetryInfo") + _field(2, _field(1, delay))
        status += _field(3, retry)
    return status


def _short(error: SessionRefused) -> SessionRefused:
    """*error* with texts that fit into a trailer and are UTF-8, whatever of the caller's own they repeat."""
    metadata = {_cut(key): _cut(value) for key, value in error.metadata.items()}
    return SessionRefused(error.code, error.reason, _cut(error.message), metadata, retry_after_s=error.retry_after_s)


def _cut(text: str) -> str:
    data = text.encode(errors="backslashreplace")
    return data.decode() if len(data) <= MAX_TEXT_BYTES else f"{data[:MAX_TEXT_BYTES].decode(errors='ignore')} …"


async def refuse(context: Any, error: SessionRefused) -> NoReturn:
    """End the call of *context* with *error*."""
    error = _short(error)
    trailer = (("grpc-status-details-bin", error_details(error)),)
    await context.abort(_CODES[error.code], f"{error.reason}: {error.message}", trailer)
    raise AssertionError("abort returns never")
