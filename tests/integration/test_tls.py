"""TLS and mutual TLS: who gets through, what is refused at the start, and where a host listens without them."""

import asyncio
import contextlib
import re

import grpc
import pytest
import structlog
import trustme
from chaodipi.sdk import Tls, TlsError
from chaodipi.sdk.baselines.greedy import GreedyBot
from chaodipi.sdk.session import EXIT_UNREACHABLE, Session, SessionError
from chaodipi.sdk.tls import open_channel
from chaodipi.service.cli.hosting import open_host
from chaodipi.service.config import ServerConfig
from chaodipi.service.doctor import check_server
from chaodipi.service.host.errors import HostError
from chaodipi.service.host.identity import Grant
from chaodipi.v1 import bot_pb2, bot_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

GRANTS = [Grant.of("ant", "token-ant")]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Certificates of one authority for the host and a bot, and one of a stranger."""
    folder = tmp_path_factory.mktemp("tls")
    ours, strange = trustme.CA(), trustme.CA()
    ours.cert_pem.write_to_path(folder / "ca.pem")
    strange.cert_pem.write_to_path(folder / "strange-ca.pem")
    for name, authority in (("host", ours), ("ant", ours), ("strange", strange)):
        made = authority.issue_cert("localhost", "127.0.0.1")
        made.private_key_pem.write_to_path(folder / f"{name}.key")
        for blob in made.cert_chain_pems:
            blob.write_to_path(folder / f"{name}.pem", append=True)
    (folder / "none.pem").write_text("no certificate")
    return folder


def config(files, *, mutual=False, **more):
    client_ca = str(files / "ca.pem") if mutual else ""
    settings = {"listen": "127.0.0.1:0", "tls_cert": f"{files}/host.pem", "tls_key": f"{files}/host.key"}
    return ServerConfig(**settings | {"tls_client_ca": client_ca} | more)


def tls(files, ca="ca.pem", own=""):
    return Tls.read(f"{files}/{ca}", *(f"{files}/{own}.{kind}" if own else "" for kind in ("pem", "key")))


async def asks(server, credentials):
    """Whether a client with *credentials* gets an answer."""
    async with open_channel(server, credentials) as channel:
        system = bot_pb2_grpc.SystemServiceStub(channel)
        try:
            await system.WhoAmI(bot_pb2.WhoAmIRequest(), metadata=(("authorization", "Bearer token-ant"),), timeout=10)
        except grpc.aio.AioRpcError as error:
            if error.code() != grpc.StatusCode.UNAVAILABLE:
                raise
            return False
    return True


async def test_a_bot_reaches_a_host_that_it_trusts_and_no_other(files):
    async with open_host(GRANTS, config(files)) as hosted:
        assert hosted.security == "TLS"
        assert await asks(hosted.server, tls(files))
        assert not await asks(hosted.server, tls(files, "strange-ca.pem"))
        assert not await asks(f"https://{hosted.server}", None)
        assert not await asks(hosted.server, None)


async def test_with_mutual_tls_a_bot_shows_a_certificate_of_the_right_authority(files):
    async with open_host(GRANTS, config(files, mutual=True)) as hosted:
        assert hosted.security == "TLS; bots need a certificate too"
        assert await asks(hosted.server, tls(files, own="ant"))
        assert not await asks(hosted.server, tls(files, own="strange"))
        assert not await asks(hosted.server, tls(files))


async def test_a_session_goes_by_tls(files):
    async with open_host(GRANTS, config(files, mutual=True)) as hosted:
        session = Session(GreedyBot, hosted.server, "token-ant", tls=tls(files, own="ant"))
        running = asyncio.create_task(session.run())
        await hosted.host.wait_for_bots(["ant"], 20)
        session.stop()
        await running
        lost = Session(GreedyBot, hosted.server, "token-ant", tls=tls(files, "strange-ca.pem"), wait_s=0)
        with pytest.raises(SessionError, match="cannot reach") as ended:
            await lost.run()
        assert ended.value.exit_code == EXIT_UNREACHABLE


async def test_bots_that_the_host_launches_need_no_certificate(files):
    async with open_host(GRANTS, config(files, mutual=True), launching=True) as hosted:
        assert hosted.local != hosted.server
        assert hosted.local.startswith("127.0.0.1:")
        assert await asks(hosted.local, None)
        assert not await asks(hosted.server, None)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tls_key": "ant.key"}, "the key is not of this certificate"),
        ({"tls_cert": "none.pem"}, "no PEM, or the key is encrypted"),
        ({"tls_cert": "no.pem"}, r"tls_cert \S+/no.pem: No such file or directory"),
        ({"tls_client_ca": "none.pem"}, r"tls_client_ca \S+/none.pem: no PEM certificate in it"),
    ],
)
async def test_files_that_do_not_go_together_are_refused_before_anybody_connects(files, changed, message):
    wrong = config(files, **{name: f"{files}/{path}" for name, path in changed.items()})
    with pytest.raises(HostError, match=message):
        async with open_host(GRANTS, wrong):
            pass


def put(folder, files, name, authority):
    """Makes *name*'s certificate the host's, by a rename for each file, as who renews certificates does."""
    for source, target in ((f"{name}.pem", "host.pem"), (f"{name}.key", "host.key"), (authority, "bots.pem")):
        (folder / "new").write_bytes((files / source).read_bytes())
        (folder / "new").replace(folder / target)


def renewing(folder):
    """Settings of a host whose files :func:`put` renews."""
    return config(folder, tls_client_ca=f"{folder}/bots.pem")


async def test_renewed_certificates_hold_for_new_connections_and_open_ones_go_on(files, tmp_path):
    put(tmp_path, files, "host", "ca.pem")
    ours, theirs = tls(files, own="ant"), tls(files, "strange-ca.pem", own="strange")
    async with open_host(GRANTS, renewing(tmp_path)) as hosted, open_channel(hosted.server, ours) as before:
        system = bot_pb2_grpc.SystemServiceStub(before)
        await system.GetServerInfo(bot_pb2.GetServerInfoRequest(), timeout=10)
        assert not await asks(hosted.server, theirs)
        put(tmp_path, files, "strange", "strange-ca.pem")
        assert await asks(hosted.server, theirs)
        assert not await asks(hosted.server, ours)
        await system.GetServerInfo(bot_pb2.GetServerInfoRequest(), timeout=10)


@pytest.mark.parametrize("wrong", [{"host.key": "strange.key"}, {"host.pem": "none.pem"}, {"bots.pem": None}])
async def test_certificates_that_cannot_be_used_are_warned_of_and_the_last_ones_hold(files, tmp_path, wrong):
    put(tmp_path, files, "host", "ca.pem")
    ours = tls(files, own="ant")
    async with open_host(GRANTS, renewing(tmp_path)) as hosted:
        assert await asks(hosted.server, ours)
        for name, source in wrong.items():
            (tmp_path / name).unlink()
            if source is not None:
                (tmp_path / name).write_bytes((files / source).read_bytes())
        with structlog.testing.capture_logs() as lines:
            for _ in range(2):
                assert await asks(hosted.server, ours)
            put(tmp_path, files, "strange", "ca.pem")
            assert not await asks(hosted.server, ours)
        assert [line["event"] for line in lines] == ["certificates_kept", "certificates_read"]
        assert next(iter(wrong)) in lines[0]["why"]


async def test_without_tls_only_this_machine_is_served_unless_told_otherwise(files):
    with pytest.raises(HostError, match=r"0\.0\.0\.0:0 can be reached from other machines.*insecure = true"):
        async with open_host(GRANTS, ServerConfig(listen="0.0.0.0:0")):
            pass
    async with open_host(GRANTS, ServerConfig(listen="0.0.0.0:0", insecure=True)) as hosted:
        assert hosted.security == "no TLS (insecure = true): tokens and cards can be read on the way"
        assert await asks(hosted.local, None)
    async with open_host(GRANTS, ServerConfig(listen="localhost:0")) as hosted:
        assert hosted.security == "no TLS, so only this machine can connect"
    async with open_host(GRANTS, config(files, listen="0.0.0.0:0")) as hosted:
        assert hosted.security == "TLS"


@pytest.mark.parametrize(
    ("settings", "credentials", "hint"),
    [
        ({}, {}, r"\(if the host serves by TLS: --ca FILE or CHAODIPI_CA\)"),
        ({}, {"ca": "strange-ca.pem"}, r"\(nobody known here vouches for the host's certificate: .*\)"),
        ({"mutual": True}, {"ca": "ca.pem"}, r"\(if the host asks bots for certificates: --cert and --key, .*\)"),
        ({"mutual": True}, {"ca": "ca.pem", "own": "strange"}, r"\(if the host asks .*: one of its authority\)"),
        ({"tls_cert": "", "tls_key": ""}, {"ca": "ca.pem"}, r"\(the host does not serve by TLS: .*\)"),
    ],
)
async def test_who_fails_by_tls_is_told_what_may_be_wrong(files, settings, credentials, hint):
    """The author of a bot, and whoever asks the doctor: gRPC itself says no more than that a socket was closed."""
    async with open_host(GRANTS, config(files, **settings)) as hosted:
        wrong = tls(files, **credentials) if credentials else None
        session = Session(GreedyBot, hosted.server, "token-ant", tls=wrong, wait_s=0)
        with pytest.raises(SessionError, match=f"cannot reach .*{hint}$") as ended:
            await session.run()
        assert ended.value.exit_code == EXIT_UNREACHABLE
        [finding] = await check_server(hosted.server, wrong, "")
        assert re.search(f"does not answer: .*{hint}$", finding.text)


async def reflects(server):
    async with grpc.aio.insecure_channel(server) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        call = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
        with contextlib.suppress(grpc.aio.AioRpcError):
            return [answer async for answer in call] != []
        assert await call.code() == grpc.StatusCode.UNIMPLEMENTED
        return False


@pytest.mark.parametrize(
    ("listen", "setting", "expected"),
    [
        ("127.0.0.1:0", None, True),
        ("127.0.0.1:0", False, False),
        ("0.0.0.0:0", None, False),
        ("0.0.0.0:0", True, True),
    ],
)
async def test_services_are_told_to_this_machine_only_unless_told_otherwise(listen, setting, expected):
    async with open_host(GRANTS, ServerConfig(listen=listen, insecure=True, reflection=setting)) as hosted:
        assert await reflects(hosted.local) is expected


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("ca.pem", "ant.pem", ""), "--cert needs --key"),
        (("ca.pem", "", "ant.key"), "--key needs --cert"),
        (("no.pem", "", ""), r"--ca \S+/no.pem: No such file or directory"),
        (("none.pem", "", ""), r"--ca \S+/none.pem: not PEM"),
    ],
)
def test_what_is_wrong_with_a_bots_files_is_one_line(files, names, message):
    with pytest.raises(TlsError, match=message):
        Tls.read(*(f"{files}/{name}" if name else "" for name in names))
