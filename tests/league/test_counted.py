"""What a league counts in the metrics of its host: each metric moves by what it stands for."""

import asyncio
import sys

from chaodipi.service.cli.console import Screen
from chaodipi.service.cli.hosting import Hosted
from chaodipi.service.cli.playing import play_plan
from chaodipi.service.cli.signals import StopSignals
from chaodipi.service.launch import Launcher
from chaodipi.service.metrics import Metrics
from chaodipi.service.scheduler.league import SaveFailedError
from chaodipi.service.store import Store
from chaodipi.service.store.rows import Rows
from chaodipi.service.store.writer import Writer

from tests.league.test_host_faults import FaultyHost, plan, second_table


class FaultyLeagueHost(FaultyHost):
    """One that fails at one table every time; as the commands need it."""

    draining = False
    tables_in_flight = 0

    async def wait_for_bots(self, names, timeout=None):
        """All are there."""

    def give_up(self, bot):
        """Nobody waits."""


async def test_pairs_reruns_failed_saves_flags_ends_of_bots_and_writes_are_counted(tmp_path):
    metrics = Metrics()

    def value(name, **labels):
        return metrics.registry.get_sample_value(f"chaodipi_{name}", labels) or 0

    refusals = [SaveFailedError("database is locked")]

    async def save(played):
        async with asyncio.timeout(60):
            while not value("bot_ends_total", bot="low"):
                await asyncio.sleep(0.01)
        if refusals:
            raise refusals.pop()
        await writer.save(Rows((), (), ()))

    host = FaultyLeagueHost(second_table(plan(), 4))
    hosted = Hosted(host, "h:1", "h:1", "", "", metrics)
    with (
        Store(tmp_path / "c.db", writing=True) as store,
        Launcher(tmp_path / "bots", restarts=0) as launcher,
    ):
        async with StopSignals() as signals, Writer(store, metrics.stored) as writer:
            launcher.start("low", [sys.executable, "-I", "-S", "-c", "pass"], "h:1", "t")
            names = ["low", "shower", "high"]
            played = await play_plan(
                Screen(), plan(), hosted, launcher, names, tmp_path / "records", signals, drain_s=1, save=save
            )
    assert (len(played.outcomes), len(played.missing)) == (8, 1)
    assert value("pairs_total") == 8
    assert value("flagged_pairs_total") == 1
    assert value("reruns_total") == 2
    assert value("failed_saves_total") == 1
    assert value("bot_ends_total", bot="low") == 1
    assert 1 <= value("store_seconds_count") <= 8
    assert value("store_seconds_sum") > 0
