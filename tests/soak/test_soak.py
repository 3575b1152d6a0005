"""Half a minute of many bots, good and bad: nobody honest is booked and nothing stays behind."""

import io

import structlog
from chaodipi.service.logs import configure_logs

from tests.soak.soak import soak

SECONDS = 30.0


async def test_half_a_minute_leaves_nothing_behind():
    logging = structlog.get_config()
    configure_logs("error", io.StringIO())
    try:
        report = await soak(SECONDS, bots=16, tables=32)
    finally:
        structlog.configure(**logging)
    print("\n".join(report.lines()))
    assert report.left_over == []
    assert report.alone.honest_faults == 0
    assert report.beside.honest_faults == 0
    assert report.alone.tables["honest played"] > 0
    assert report.beside.tables["honest played"] > 0
    assert {kind for half in (report.alone, report.beside) for kind in half.tables} <= {
        "honest played",
        "honest no_declaration",
        "spoiled played",
        "spoiled no_declaration",
        "spoiled forfeit",
    }
