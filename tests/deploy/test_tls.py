"""The lines of the runbook make certificates with which a host serves and a bot plays, as processes."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import wait_until
from tests.support.tools import needs_tool

ROOT = Path(__file__).parents[2]
CHAODIPI = [sys.executable, "-c", "from chaodipi.service.cli import main; main()"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All that the runbook's openssl lines make."""
    made = tmp_path_factory.mktemp("tls")
    for block in re.findall(r"```sh\n(openssl .*?)```", (ROOT / "docs/runbook.md").read_text(), re.S):
        subprocess.run(["sh", "-ec", block], cwd=made, check=True, capture_output=True)
    return made


@needs_tool("openssl")
@pytest.mark.parametrize("mutual", [False, True])
def test_a_bot_plays_by_the_certificates_of_the_runbook(folder, tmp_path, mutual):
    settings = f'listen = "127.0.0.1:0"\nstore = "{tmp_path}/c.db"\ntls_cert = "host.pem"\ntls_key = "host.key"\n'
    (tmp_path / "serve.toml").write_text(settings + 'tls_client_ca = "bots-ca.pem"\n' * mutual)
    added = subprocess.run(
        [*CHAODIPI, "bot", "add", "ant", "--out", tmp_path], capture_output=True, text=True, check=True
    )
    (tmp_path / "chaodipi.db").rename(tmp_path / "c.db")
    log, errors = tmp_path / "ant.log", tmp_path / "host.log"
    command = [*CHAODIPI, "serve", "--config", str(tmp_path / "serve.toml")]
    with (
        errors.open("w") as said,
        subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, stderr=said) as host,
    ):
        try:
            server = re.search(r"serving at (\S+),", host.stdout.readline())[1]
            assert host.stdout.readline() == ("TLS; bots need a certificate too\n" if mutual else "TLS\n")
            knock_in_the_clear(server)
            env = os.environ | {"CHAODIPI_SERVER": server, "CHAODIPI_TOKEN": added.stdout.strip()}
            env |= {"CHAODIPI_CA": "host.pem"}
            if mutual:
                env |= {"CHAODIPI_CERT": "ant.pem", "CHAODIPI_KEY": "ant.key"}
            with log.open("w") as file:
                bot = subprocess.Popen(
                    [sys.executable, "-m", "chaodipi.sdk.cli", "run", "greedy"], cwd=folder, env=env, stderr=file
                )
            try:
                wait_until(lambda: f"playing as bots/ant on {server}" in log.read_text(), "the bot is welcomed", 60)
            finally:
                bot.kill()
                bot.wait()
        finally:
            host.terminate()
    assert {json.loads(line)["event"] for line in errors.read_text().splitlines()} >= {"session_opened"}


def knock_in_the_clear(server):
    """As whoever looks for open ports does; it is over when the host has hung up."""
    host, port = server.split(":")
    with socket.create_connection((host, int(port)), timeout=30) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            while stranger.recv(4096):
                pass
