"""A bot may keep old libraries: code and SDK run on grpcio 1.62.3 and protobuf 4.25.1, against today's host."""

import asyncio
import os
import subprocess
from pathlib import Path

from chaodipi.engine.cards import deck
from chaodipi.engine.ruleset import resolve
from chaodipi.engine.setup import Setup
from chaodipi.service.host.host import Host
from chaodipi.service.host.identity import hash_token
from chaodipi.service.match.table import TableSpec
from chaodipi.service.rpc.server import start_server

from tests.support.generators import oldest_python

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": os.pathsep.join(str(ROOT / path) for path in ("proto/gen", "engine/src", "bot_sdk/src")),
    "PYTHONDONTWRITEBYTECODE": "1",
}
ROUND_TRIP = """
import google.protobuf, grpc, importlib, pkgutil
import chaodipi.v1
assert (grpc.__version__, google.protobuf.__version__) == ("1.62.3", "4.25.1")
count = 0
for found in pkgutil.iter_modules(chaodipi.v1.__path__):
    module = importlib.import_module(f"chaodipi.v1.{found.name}")
    if found.name.endswith("_pb2"):
        for name in module.DESCRIPTOR.message_types_by_name:
            kind = getattr(module, name)
            assert kind.FromString(kind().SerializeToString()) == kind()
            count += 1
print(count)
"""


def test_the_generated_code_needs_no_newer_runtime() -> None:
    """Every module imports, without a warning, and every message goes out and back."""
    done = subprocess.run(
        [oldest_python(), "-W", "error", "-c", ROUND_TRIP], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50


async def test_a_bot_on_the_oldest_runtimes_plays_a_table() -> None:
    """A whole deal, all four seats, and no fault."""
    python = await asyncio.to_thread(oldest_python)
    host = Host({"old": hash_token("token-old")})
    server, port = await start_server(host)
    bot = await asyncio.create_subprocess_exec(
        *(python, "-W", "error", "-m", "chaodipi.sdk.cli", "run", "rules", "--server", f"127.0.0.1:{port}"),
        env={**ENVIRONMENT, "CHAODIPI_TOKEN": "token-old"},
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        await host.wait_for_bots(["old"], 30)
        rules = resolve("ming_chao")
        spec = TableSpec("old/1", rules, lambda redeals: Setup(rules, deck(2), redeals=redeals), ("old",) * 4)
        result = await asyncio.wait_for(host.play_table(spec), 60)
        assert result.how == "played"
        assert result.faults == {}
    finally:
        await host.stop(0)
        await server.stop(1)
        if bot.returncode is None:
            bot.terminate()
        _, errors = await bot.communicate()
    assert b"Traceback" not in errors, errors.decode()
