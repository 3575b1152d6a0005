"""20,000 random and mutated inputs: nothing crashes, hangs or stays behind, and every refusal is typed."""

import os
import random

import structlog

from tests.fuzz.fuzzer import fuzz

COUNT = 20_000


async def test_the_host_stands_whatever_it_is_sent():
    seed = int(os.environ.get("CHAODIPI_FUZZ_SEED", random.SystemRandom().randrange(2**32)))
    logging = structlog.get_config()
    try:
        report = await fuzz(COUNT, seed)
    finally:
        structlog.configure(**logging)
    print("\n".join(report.lines()))
    assert sum(report.inputs.values()) >= COUNT
    assert report.untyped == []
    assert report.hung == 0
    assert report.log_errors == []
    assert report.left_over == []
    # Honest bots at the same host, and at the same tables, are none the worse.
    assert report.honest_faults == 0
    assert report.tables["honest played"] > 0
    ends = {"played", "no_declaration", "forfeit"}
    assert {kind.split()[1] for kind in report.tables} <= ends
    assert "honest forfeit" not in report.tables
    # The inputs reached the places that they were made for.
    assert {"FIELD_INVALID", "HELLO_REQUIRED", "PROTOCOL_VIOLATION", "SESSION_REPLACED", "OK"} <= set(report.answers)
