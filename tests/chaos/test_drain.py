"""SIGTERM of ``serve``: it drains within its limit and exits 0; a second one stops at once."""

import contextlib
import os
import re
import signal
import subprocess
import sys

import pytest

from tests.support.processes import below, gone, wait_until

CHAODIPI = [sys.executable, "-c", "from chaodipi.service.cli import main; main()"]
PATIENCE_S = 60


@contextlib.contextmanager
def house(folder, *, bot, drain_s):
    """A host with a house, and a guest that plays there by *bot*; the host's process, once tables are in flight."""
    (folder / "serve.toml").write_text(
        f'listen = "127.0.0.1:0"\nstore = "{folder}/chaodipi.db"\ndrain_s = {drain_s}\n[time]\nplay_ms = 86400000\n'
    )
    added = subprocess.run(
        [*CHAODIPI, "bot", "add", "guest", "--out", folder], capture_output=True, text=True, check=True
    )
    command = [*CHAODIPI, "serve", "--house", "ming_chao", "--config", str(folder / "serve.toml")]
    log = folder / "host.log"
    with log.open("w") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stderr=errors) as host:
        guest = None
        try:
            server = re.search(r"serving at (\S+),", host.stdout.readline())[1]
            env = os.environ | {"CHAODIPI_SERVER": server, "CHAODIPI_TOKEN": added.stdout.strip()}
            guest = subprocess.Popen(
                [sys.executable, "-m", *bot], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            wait_until(lambda: "table_started" in log.read_text(), "a table is begun", PATIENCE_S)
            yield host, log
        finally:
            host.kill()
            if guest is not None:
                guest.kill()
                guest.wait()


@pytest.mark.situation("T5")
def test_sigterm_lets_tables_end_and_exits_0(tmp_path):
    bot = ["chaodipi.sdk.cli", "run", "greedy"]
    with house(tmp_path, bot=bot, drain_s=PATIENCE_S) as (host, log):
        bots = below(host.pid)
        host.send_signal(signal.SIGTERM)
        said, _ = host.communicate(timeout=2 * PATIENCE_S)
        assert host.returncode == 0
        assert re.search(r"^draining: \d+ tables in flight, at most 60 s", said, re.M)
        assert gone(bots)
        events = log.read_text()
        assert events.count('"event": "table_started"') == events.count('"how": "played"') > 0


@pytest.mark.parametrize("signals", [1, 2])
def test_a_table_that_does_not_end_holds_the_host_until_the_limit_or_the_second_signal(tmp_path, signals):
    limit_s = 1 if signals == 1 else 3600
    with house(tmp_path, bot=["chaodipi.sdk.badbots.cli", "silent"], drain_s=limit_s) as (host, _):
        bots = below(host.pid)
        host.send_signal(signal.SIGTERM)
        while not host.stdout.readline().startswith("draining: "):
            assert host.poll() is None
        if signals == 2:
            host.send_signal(signal.SIGTERM)
        assert host.wait(PATIENCE_S) == (0 if signals == 1 else 130)
        assert gone(bots)
