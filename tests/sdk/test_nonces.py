"""A bot's nonces: not to be foreseen, the same for whoever asks again, kept for the check, never in its owner's way."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from chaodipi.sdk import Bot
from chaodipi.sdk.nonces import Nonces

ENTRY, OTHER = "leagues/l/entries/a", "leagues/l/entries/b"
SEED, OTHER_SEED = b"c" * 32, b"d" * 32


class Plain(Bot):
    seed = 7


def giving(answer: Any) -> type[Bot]:
    """A bot whose author overrides its nonce."""

    class Giving(Bot):
        @classmethod
        def nonce(cls, entry: str) -> bytes:
            if isinstance(answer, Exception):
                raise answer
            return answer(entry) if callable(answer) else answer

    return Giving


def test_a_nonce_is_32_bytes_by_chance_whatever_the_seed_of_the_bot() -> None:
    given = {Nonces(Plain).give(ENTRY, SEED) for _ in range(20)}
    assert len(given) == 20
    assert {len(nonce) for nonce in given} == {32}


def test_whoever_asks_again_under_the_same_commitment_is_told_the_same(caplog: pytest.LogCaptureFixture) -> None:
    """Asking until one likes the answer would be choosing it; under another commitment it is another league."""
    nonces = Nonces(Plain)
    first = nonces.give(ENTRY, SEED)
    assert nonces.give(ENTRY, SEED) == first
    assert nonces.give(OTHER, SEED) != first
    assert "another seed commitment" not in caplog.text
    assert nonces.give(ENTRY, OTHER_SEED) != first
    assert f"{ENTRY}: a nonce was given before, under another seed commitment" in caplog.text


def test_what_was_given_is_in_the_file_and_later_processes_give_the_same(tmp_path: Path) -> None:
    path = tmp_path / "nonces.jsonl"
    given = {entry: Nonces(Plain, path).give(entry, SEED) for entry in (ENTRY, OTHER)}
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"schema": "chaodipi/nonce/1", "entry": entry, "nonce": nonce.hex(), "seed_commitment": SEED.hex()}
        for entry, nonce in given.items()
    ]
    assert {entry: Nonces(Plain, path).give(entry, SEED) for entry in given} == given
    assert len(path.read_text().splitlines()) == 2


def test_a_worker_that_runs_beside_gives_what_the_other_one_gave(tmp_path: Path) -> None:
    path = tmp_path / "nonces.jsonl"
    one, other = Nonces(Plain, path), Nonces(Plain, path)
    assert one.give(ENTRY, SEED) == other.give(ENTRY, SEED) == one.give(ENTRY, SEED)


def test_an_author_may_give_his_own() -> None:
    assert Nonces(giving(lambda entry: entry[-1].encode())).give(ENTRY, SEED) == b"a"
    assert Nonces(giving(b"")).give(ENTRY, SEED) == b""


@pytest.mark.parametrize("wrong", [b"x" * 33, "text", None, ValueError("broken")])
def test_a_nonce_that_is_none_costs_an_error_in_the_log_and_chance_takes_its_place(
    wrong: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert len(Nonces(giving(wrong)).give(ENTRY, SEED)) == 32
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert f"{ENTRY}: nonce()" in caplog.text


def test_a_file_that_cannot_be_written_or_read_keeps_no_nonce_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    nonces = Nonces(Plain, tmp_path / "missing" / "nonces.jsonl")
    assert nonces.give(ENTRY, SEED) == nonces.give(ENTRY, SEED)
    assert "cannot be kept: No such file or directory" in caplog.text
    broken = tmp_path / "broken.jsonl"
    broken.write_text("no JSON\n[1]\n" + '{"entry": "x"}\n')
    assert len(Nonces(Plain, broken).give(ENTRY, SEED)) == 32
    assert caplog.text.count("not a nonce") == 3
    assert len(broken.read_text().splitlines()) == 4
