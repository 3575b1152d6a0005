"""A bad network costs nobody anything: a short run of what ``make chaos`` runs with 150 ms and more tables."""

import os
import random

import pytest

from tests.chaos import network


@pytest.mark.situation("T13")
async def test_cuts_and_half_open_connections_lose_nothing(tmp_path):
    """Seats resume, every table ends, nothing is scored as a fault, and the records are those of a good network."""
    seed = int(os.environ.get("CHAODIPI_CHAOS_SEED", random.randrange(2**32)))
    report = await network.run(tmp_path, seed, boards=4, delay_s=0.01, jitter_s=0.01, every_s=0.7)
    print(report)
    assert report.lost == 0
    assert report.injected["cut"] + report.resumed > 0
