"""Seeds and nonces are write-only until their board or league is over, whoever looks, at any number in flight (T14)."""

import asyncio
import io
import json
from collections import Counter
from pathlib import Path

import pytest
import structlog
from chaodipi.service.boards.board import Secrets
from chaodipi.service.boards.shuffle import board_commitment
from chaodipi.service.host.host import Host
from chaodipi.service.logs import configure_logs
from chaodipi.service.records.verify import verify
from chaodipi.service.scheduler.league import play_league, results_json
from chaodipi.service.scheduler.schedule import Entry, Plan
from chaodipi.v1 import session_pb2

from tests.league.stand_in import StandInHost, default_brain, high, shower
from tests.support.raw_client import NAMES, RULES, Client, hosting

BRAINS = {"low": default_brain, "shower": shower, "high": high}
SECRETS = Secrets(b"\x5e\xed" * 16, (b"first nonce", b"second nonce", b"third nonce", b"fourth nonce"))
PLAN = Plan("t", RULES, tuple(map(Entry.of_bot, NAMES)), 2, SECRETS, shared=True)
"""Four entries that all play the same two boards: twelve tables a board."""


def forms(secret: bytes) -> list[bytes]:
    """The ways in which a secret could stand somewhere."""
    return [secret, secret.hex().encode(), str(int.from_bytes(secret)).encode()]


def secrets_of(plan: Plan) -> dict[str, bytes]:
    """Everything of *plan* that nobody may learn while it is played: its seed, every board's, and the nonces."""
    boards = {
        f"seed of board {board}, shuffle {redeal}": plan.secrets.board_seed(board, redeal, plan.ruleset)
        for board in range(plan.boards)
        for redeal in range(3)
    }
    nonces = {f"nonce {at}": nonce for at, nonce in enumerate(plan.secrets.nonces)}
    return boards | nonces | {"seed": plan.secrets.seed}


def found_in(data: bytes, secrets: dict[str, bytes]) -> list[str]:
    return [name for name, secret in secrets.items() if any(form in data for form in forms(secret))]


class Searcher(Client):
    """A bot that keeps every byte that it receives."""

    def __init__(self, port: int, name: str) -> None:
        super().__init__(port, name)
        self.bytes = b""
        self.commitments: set[bytes] = set()

    def _receive(self, message: session_pb2.ServerMessage) -> session_pb2.ClientMessage | None:
        self.bytes += message.SerializeToString()
        for event in message.seat_update.events:
            if event.WhichOneof("event") == "deal_started":
                self.commitments.add(event.deal_started.board_commitment)
        return super()._receive(message)


async def played(folder: Path, in_flight: int) -> tuple[dict[str, Searcher], Host, str]:
    """The league over sockets with bots that keep what they receive; them, the host and its log."""
    log = io.StringIO()
    configure_logs("debug", log)
    try:
        async with hosting() as (host, port):
            clients = {name: Searcher(port, name) for name in NAMES}
            running = [asyncio.create_task(client.run()) for client in clients.values()]
            await host.wait_for_bots(NAMES, 30)
            for client, nonce in zip(clients.values(), SECRETS.nonces, strict=True):
                client.nonce = nonce
            entries = {f"leagues/t/entries/{name}": name for name in NAMES}
            given = await host.collect_nonces(entries, SECRETS.commitment, 60_000)
            assert tuple(given[entry] for entry in entries) == SECRETS.nonces
            outcomes = await play_league(PLAN, host, folder / "records", tables_in_flight=in_flight)
            (folder / "results.json").write_text(json.dumps(results_json(PLAN, outcomes, "points")))
            for client in clients.values():
                await client.close()
            await asyncio.gather(*running, return_exceptions=True)
    finally:
        structlog.reset_defaults()
    return clients, host, log.getvalue()


@pytest.mark.situation("T14")
async def test_t14_no_bot_finds_a_seed_and_the_same_league_comes_out_at_any_number_in_flight(tmp_path):
    """Deals, seats, pairings and results are those of one pair after the other; commitments before, seeds after."""
    one, many = tmp_path / "one", tmp_path / "many"
    for folder, in_flight in ((one, 1), (many, 16)):
        folder.mkdir()
        clients, host, log = await played(folder, in_flight)
        secrets = secrets_of(PLAN)
        for client in clients.values():
            assert len(client.bytes) > 10_000
            assert found_in(client.bytes, secrets) == []
        assert found_in(log.encode() + host.metrics.text().encode(), secrets) == []
        committed = set().union(*(client.commitments for client in clients.values()))
        boards = [PLAN.secrets.board_seed(board, 0, RULES) for board in range(PLAN.boards)]
        assert committed == {board_commitment(seed) for seed in boards}
        league = json.loads((folder / "results.json").read_text())
        records = sorted((folder / "records").glob("*.jsonl"))
        assert len(records) == 24
        for path in records:
            assert verify(path, league) == []
            assert found_in(path.read_bytes(), secrets) != []
    again, once = (json.loads((folder / "results.json").read_text()) for folder in (many, one))
    again.pop("timing")
    once.pop("timing")
    assert again == once
    for path in (one / "records").glob("*.jsonl"):
        assert path.read_bytes() == (many / "records" / path.name).read_bytes()


class Watching(StandInHost):
    """Looks at every file of the league whenever a table begins or ends, for the seed of a board that is open."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        super().__init__(BRAINS, stagger=True)
        self.plan, self.folder = plan, folder
        self.left = Counter(dict.fromkeys(range(plan.boards), 6))
        self.looked = 0

    def look(self) -> None:
        hidden = {
            name: secret
            for name, secret in secrets_of(self.plan).items()
            if not name.startswith("seed of board ") or self.left[int(name.split()[3].rstrip(","))]
        }
        for path in self.folder.rglob("*"):
            try:
                held = path.read_bytes()
            except (FileNotFoundError, IsADirectoryError):
                continue  # a record that is written meanwhile is given its name in this moment
            self.looked += 1
            assert found_in(held, hidden) == [], path

    async def play_table(self, spec):
        self.look()
        result = await super().play_table(spec)
        self.look()
        self.left[int(spec.table_id.split("/")[1])] -= 1
        return result


@pytest.mark.situation("T14")
async def test_no_file_holds_the_seed_of_a_board_that_another_table_still_plays(tmp_path):
    plan = Plan("t", RULES, tuple(map(Entry.of_bot, BRAINS)), 6, SECRETS, shared=True)
    host = Watching(plan, tmp_path)
    await play_league(plan, host, tmp_path / "records", tables_in_flight=8)
    assert host.looked > 50
    assert not any(host.left.values())


async def test_a_seed_that_stands_somewhere_is_found():
    """The search notices a secret in each of its forms."""
    secrets = secrets_of(PLAN)
    for name, secret in secrets.items():
        for form in forms(secret):
            assert name in found_in(b"before" + form + b"after", secrets)
