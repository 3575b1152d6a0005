"""TLS of the host: its certificate and key, and who vouches for the certificates of bots."""

import ssl
from dataclasses import dataclass
from pathlib import Path

import grpc
from chaodipi.service.host.errors import HostError

__all__ = ["TlsFiles", "server_credentials"]


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """
    Where the host's TLS files are, each PEM.

    Attributes:
        cert: Its certificate, with its chain.
        key: The private key of it.
        client_ca: Certificates of the authorities that vouch for bots; with it, only bots with a certificate of theirs
            are let in to show their token.
    """

    cert: Path
    key: Path
    client_ca: Path | None = None


def server_credentials(files: TlsFiles) -> grpc.ServerCredentials:
    """
    What gRPC needs of *files*.

    Raises:
        HostError: a file cannot be read, or they do not go together, which gRPC would say to nobody; the operator's
            mistake.
    """
    cert, key = _read(files.cert, "tls_cert"), _read(files.key, "tls_key")
    client_ca = None if files.client_ca is None else _read(files.client_ca, "tls_client_ca")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(files.cert, files.key, password=lambda: "")
    except (ssl.SSLError, ValueError) as error:
        reason = "the key is not of this certificate" if "MISMATCH" in str(error) else "no PEM, or the key is encrypted"
        raise HostError(f"tls_cert {files.cert} and tls_key {files.key}: {reason}") from error
    if files.client_ca is not None:
        try:
            context.load_verify_locations(files.client_ca)
        except ssl.SSLError as error:
            raise HostError(f"tls_client_ca {files.client_ca}: no PEM certificate in it") from error
    return grpc.ssl_server_credentials([(key, cert)], client_ca, require_client_auth=client_ca is not None)


def _read(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise HostError(f"{name} {path}: {error.strerror}") from error
