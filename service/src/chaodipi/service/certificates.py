"""From when to when certificates hold, read from their bytes, because the standard library shows it of no such file."""

import re
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime

__all__ = ["Lifetime", "lifetimes"]

_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_SEQUENCE, _VERSION, _UTC_TIME, _TIME = 0x30, 0xA0, 0x17, 0x18


@dataclass(frozen=True, slots=True)
class Lifetime:
    """From when to when a certificate holds, in UTC."""

    begins: datetime
    ends: datetime


def lifetimes(pem: str) -> list[Lifetime]:
    """
    Of every certificate of *pem*, in order.

    Raises:
        ValueError: there is none, or one that is none.
    """
    found = [_lifetime(ssl.PEM_cert_to_DER_cert(text)) for text in _PEM.findall(pem)]
    if not found:
        raise ValueError("no certificate")
    return found


def _lifetime(der: bytes) -> Lifetime:
    # Certificate { signed { [version], serial, algorithm, issuer, validity { begins, ends }, … }, … }: RFC 5280, 4.1.
    try:
        _, certificate, _ = _element(der)
        _, signed, _ = _element(certificate)
        tag, _, rest = _element(signed)
        for _ in range(3 if tag == _VERSION else 2):
            _, _, rest = _element(rest)
        tag, validity, _ = _element(rest)
        if tag != _SEQUENCE:
            raise ValueError("no validity")
        kind, begins, rest = _element(validity)
        other, ends, _ = _element(rest)
    except IndexError as error:
        raise ValueError("a certificate that ends too early") from error
    return Lifetime(_moment(kind, begins), _moment(other, ends))


def _element(data: bytes) -> tuple[int, bytes, bytes]:
    """The first element of *data* in DER: its tag, its content, and what comes after it."""
    length, start = data[1], 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(data[2:start], "big")
    if start + length > len(data):
        raise IndexError("too short")
    return data[0], data[start : start + length], data[start + length :]


def _moment(tag: int, content: bytes) -> datetime:
    text = content.decode("ascii")
    if tag == _UTC_TIME:
        # Two digits of the year, of 1950 to 2049.
        text = ("19" if text[:2] >= "50" else "20") + text
    elif tag != _TIME:
        raise ValueError("no time")
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
