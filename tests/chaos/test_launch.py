"""Launched bots: nothing of them outlives the host, their logs stay short, and their limits hold. Real processes."""

import asyncio
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from chaodipi.service.launch import BotExitedError, Launcher, Limits
from chaodipi.service.rpc.server import check_address

from tests.support.processes import alive, below, gone, wait_until

PYTHON = [sys.executable, "-I", "-S", "-c"]
# A bot that ignores SIGTERM, with a child, and a grandchild in a session of its own.
STUBBORN = ["sh", "-c", "trap '' TERM; sleep 600 & setsid sleep 600 & wait; sleep 600"]


def started(pid, count):
    wait_until(lambda: len(below(pid)) >= count, f"{count} processes below {pid}")
    return below(pid)


async def ended(launcher):
    async with asyncio.timeout(30):
        await launcher.watch()


def test_a_bot_that_ignores_sigterm_is_stopped_with_all_it_started(tmp_path):
    with Launcher(tmp_path / "logs", grace_s=0.2) as launcher:
        launcher.start("x", STUBBORN, "h:1", "t")
        pids = started(launcher._bots[0].keeper.pid, 3)
        launcher.check()
    assert gone(pids)


def test_what_a_bot_leaves_behind_ends_with_it(tmp_path):
    marker = tmp_path / "child"
    script = f"setsid sleep 600 & echo $! > {marker}; exit 0"
    with Launcher(tmp_path / "logs") as launcher:
        launcher.start("x", ["sh", "-c", script], "h:1", "t")
        with pytest.raises(BotExitedError, match=r"bot x ended \(exit code 0\)"):
            asyncio.run(ended(launcher))
        assert gone([int(marker.read_text())])


@pytest.mark.situation("T10")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda n: n.name)
def test_t10_no_bot_of_64_and_no_child_outlives_the_host(tmp_path, number):
    host = f"""
import asyncio, pathlib
from chaodipi.service.cli.hosting import open_host
from chaodipi.service.launch import Launcher

async def main():
    async with open_host([]) as hosted:
        with Launcher(pathlib.Path({str(tmp_path)!r}), grace_s=0.5) as launcher:
            for i in range(64):
                launcher.start(f"b{{i}}", {STUBBORN!r}, hosted.local, "t")
            print(hosted.server, flush=True)
            await asyncio.sleep(600)

asyncio.run(main())
"""
    process = subprocess.Popen(
        [sys.executable, "-c", host], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    server = process.stdout.readline().strip()
    pids = started(process.pid, 64 * 4)
    process.send_signal(number)
    process.wait(30)
    process.stdout.close()
    # Whatever lives of the bots until then, none of them holds the host's port.
    assert check_address(server)
    assert gone(pids, 5.0)


EVENT = f"""
name = "z"
ruleset = "huanle_2"
boards = {{boards}}
seed = "zombies"

[[bots]]
name = "forker"
command = ["{Path(sys.executable).parent / "chaodipi-badbots"}", "forker"]

[[bots]]
name = "good"
baseline = "greedy"
"""


@pytest.mark.situation("T10")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda n: n.name)
def test_t10_the_next_start_of_a_league_finds_its_port_free_and_none_of_the_bots_before(tmp_path, number):
    """Whatever signal ended the host, and whatever the bots had started."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        server = f"127.0.0.1:{probe.getsockname()[1]}"
    (tmp_path / "z.toml").write_text(EVENT.format(boards=1000))
    (tmp_path / "serve.toml").write_text(f'listen = "{server}"\ndrain_s = 1\n')
    host = [sys.executable, "-c", "from chaodipi.service.cli import main; main()"]
    command = [*host, "league", "run", "z.toml", "--config", "serve.toml"]
    log = tmp_path / "out" / "z" / "host.log"
    with (tmp_path / "said").open("wb") as said:
        first = subprocess.Popen(command, cwd=tmp_path, stdout=said, stderr=said)
        try:
            wait_until(lambda: log.exists() and '"table_over"' in log.read_text(), "a table is over", 120)
            # Two bots, each with its keeper, and a child for each seat that was given.
            pids = started(first.pid, 5)
            first.send_signal(number)
            first.wait(60)
        finally:
            first.kill()
            first.wait()
    assert gone(pids, 5.0)
    (tmp_path / "z.toml").write_text(EVENT.format(boards=2))
    # Another league, at the same port.
    again = subprocess.run([*command, "--out", "again"], cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert again.returncode == 0, again.stdout + again.stderr
    assert f"bots at {server}" in again.stdout


@pytest.mark.situation("T10")
def test_a_bot_dies_with_its_keeper(tmp_path):
    with Launcher(tmp_path) as launcher:
        launcher.start("x", ["sleep", "600"], "h:1", "t")
        keeper = launcher._bots[0].keeper
        pids = started(keeper.pid, 1)
        keeper.kill()
        assert gone(pids)


@pytest.mark.situation("T11")
def test_t11_a_babbling_bot_fills_no_disk_and_its_last_words_are_kept(tmp_path):
    """100 MB of output in lines of 10 MB."""
    code = "import sys\nfor _ in range(10): sys.stdout.write('x' * 10**7 + chr(10))\nsys.exit('the end')"
    with Launcher(tmp_path, limits=Limits(log_kb=64)) as launcher:
        launcher.start("x", [*PYTHON, code], "h:1", "t")
        with pytest.raises(BotExitedError, match=r"exit code 1.*: the end; see"):
            asyncio.run(ended(launcher))
    text = (tmp_path / "x.log").read_bytes()
    assert len(text) < 70_000
    assert text.startswith(b"x" * 65_536)
    assert b"\n[99932482 bytes left out here; the end was:]\n" in text
    assert text.endswith(b"the end\n")


HEEDLESS = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
UNPYTHONIC = "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nopen('big', 'wb').write(bytes(2 << 20))"


@pytest.mark.parametrize(
    ("limits", "code", "how"),
    [
        (Limits(cpu_s=1), "while True: pass", r"\(SIGXCPU\): \[killed: more than 1 s of processor time\]"),
        (Limits(cpu_s=1), HEEDLESS, r"\(SIGKILL\): \[killed: more than 1 s of processor time\]"),
        (Limits(memory_mb=200), "x = bytearray(10**9)", r"\(exit code 1\): MemoryError"),
        (Limits(file_mb=1), "open('big', 'wb').write(bytes(2 << 20))", r"\(exit code 1\): .*File too large"),
        (Limits(file_mb=1), UNPYTHONIC, r"\(SIGXFSZ\): \[killed: a file of more than 1 MiB\]"),
        (
            Limits(processes=20),
            "import os, time\nfor _ in range(40): os.fork() or time.sleep(600)\ntime.sleep(600)",
            r"\(SIGKILL\): \[killed: more than 20 processes\]",
        ),
    ],
    ids=["cpu", "cpu, unheeded", "memory", "file", "file, by signal", "processes"],
)
def test_a_limit_ends_the_bot_that_breaks_it(tmp_path, monkeypatch, limits, code, how):
    monkeypatch.chdir(tmp_path)
    with Launcher(tmp_path, limits=limits, grace_s=0.2) as launcher:
        launcher.start("x", [*PYTHON, code], "h:1", "t")
        with pytest.raises(BotExitedError, match=how):
            asyncio.run(ended(launcher))
    assert (tmp_path / "x.log").read_text().count("[killed: ") == ("killed" in how)


def test_no_token_is_on_a_command_line(tmp_path):
    with Launcher(tmp_path) as launcher:
        launcher.start("x", ["sleep", "600"], "h:1", "s3cret")
        keeper = launcher._bots[0].keeper.pid
        for pid in [keeper, *started(keeper, 1)]:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                assert b"s3cret" not in file.read()


async def test_a_bot_that_ends_is_named_with_what_it_said(tmp_path):
    with Launcher(tmp_path) as launcher:
        launcher.start("x", [*PYTHON, "import sys; sys.exit('no such model')"], "h:1", "t")
        with pytest.raises(BotExitedError, match=r"bot x ended \(exit code 1\): no such model; see .*x\.log"):
            await ended(launcher)
        with pytest.raises(BotExitedError, match="bot y: cannot run 'no-such-program': no such program"):
            launcher.start("y", ["no-such-program"], "h:1", "t")


def test_stopping_is_quick_when_the_bots_are_willing(tmp_path):
    began = time.monotonic()
    with Launcher(tmp_path, grace_s=30) as launcher:
        launcher.start("x", ["sleep", "600"], "h:1", "t")
        pids = started(launcher._bots[0].keeper.pid, 1)
    assert not any(map(alive, pids))
    assert time.monotonic() - began < 30


async def test_a_bot_that_ends_is_started_again_so_many_times_and_its_log_goes_on(tmp_path):
    ends = []
    with Launcher(tmp_path, restarts=2) as launcher:
        launcher.start("x", [*PYTHON, "import sys; print('alive', flush=True); sys.exit('tired')"], "h:1", "t")
        launcher.start("y", ["sleep", "600"], "h:1", "t")
        keeping = asyncio.create_task(launcher.keep(ends.append))
        async with asyncio.timeout(60):
            while len(ends) < 3:
                await asyncio.sleep(0.01)
        keeping.cancel()
        assert launcher.tend() == []
    assert [str(end) for end in ends] == [
        "bot x ended (exit code 1): tired; started again in 0.5 s",
        "bot x ended (exit code 1): tired; started again in 1 s",
        "bot x ended (exit code 1): tired; not started again",
    ]
    assert (tmp_path / "x.log").read_text() == "alive\ntired\n" * 3
