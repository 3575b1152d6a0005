"""Nonces over sockets: what clients that know nothing but the protocol are asked, and what their answers do."""

import asyncio
import contextlib

import pytest
from chaodipi.service.host.errors import HostError

from tests.support.raw_client import NAMES, Client, hosting, seated, table

COMMITMENT = bytes(range(32))
LONG_MS = 60_000
ENTRIES = {f"leagues/l/entries/{name}": name for name in NAMES}
ANT = {"leagues/l/entries/ant": "ant"}


@contextlib.asynccontextmanager
async def asked(names=NAMES, bots=ENTRIES, within_ms=LONG_MS, away=()):
    """A host that asks *bots*, with a client for each of *names*: it, its port, the clients, the task that collects."""
    async with hosting() as (host, port), seated(port, names) as clients:
        for name in away:
            host.give_up(name)
        await host.wait_for_bots(names, 30)
        collecting = asyncio.create_task(host.collect_nonces(bots, COMMITMENT, within_ms))
        try:
            yield host, port, clients, collecting
        finally:
            collecting.cancel()
            await asyncio.gather(collecting, return_exceptions=True)


async def warned(client):
    """Reason and metadata of the next warning."""
    warning = await asyncio.wait_for(client.warnings.get(), 30)
    return warning.reason, dict(warning.metadata)


async def test_every_entry_is_asked_with_the_commitment_and_what_it_answers_is_kept():
    async with asked() as (_host, _port, clients, collecting):
        for name, client in clients.items():
            request = await asyncio.wait_for(client.nonce_requests.get(), 30)
            assert request.entry == f"leagues/l/entries/{name}"
            assert request.seed_commitment == COMMITMENT
            assert 0 < request.within_ms <= LONG_MS
            assert not collecting.done()
            await client.send_nonce(request.entry, name.encode())
        given = await asyncio.wait_for(collecting, 30)
        assert given == {entry: name.encode() for entry, name in ENTRIES.items()}


async def test_a_bot_that_holds_two_entries_is_asked_for_each_and_a_partner_for_none():
    """Only who is named answers for an entry; the host does not ask others of it."""
    bots = {"leagues/l/entries/one": "ant", "leagues/l/entries/two": "ant"}
    async with asked(("ant", "bee"), bots) as (_host, _port, clients, collecting):
        for _ in range(2):
            request = await asyncio.wait_for(clients["ant"].nonce_requests.get(), 30)
            await clients["ant"].send_nonce(request.entry, request.entry[-3:].encode())
        assert await asyncio.wait_for(collecting, 30) == {entry: entry[-3:].encode() for entry in bots}
        assert clients["bee"].nonce_requests.empty()


async def test_what_is_not_asked_is_refused_in_the_same_words_and_disturbs_nobody():
    """Another's entry, an unknown one, one given before and one too late; the rightful nonce stays."""
    async with asked() as (host, _port, clients, collecting):
        requests = {name: await asyncio.wait_for(client.nonce_requests.get(), 30) for name, client in clients.items()}
        dog = clients["dog"]
        refusals = []
        for entry in ("leagues/l/entries/ant", "leagues/l/entries/nobody", ""):
            await dog.send_nonce(entry, b"mine")
            warning = await asyncio.wait_for(dog.warnings.get(), 30)
            assert (warning.reason, dict(warning.metadata)) == ("NONCE_NOT_ASKED", {"entry": entry})
            refusals.append(warning.message.replace(repr(entry), "it"))
        assert len(set(refusals)) == 1
        await dog.send_nonce("x" * 100_000, b"mine")
        assert await warned(dog) == ("NONCE_NOT_ASKED", {"entry": "x" * 100})
        for name, client in clients.items():
            await client.send_nonce(requests[name].entry, b"first of " + name.encode())
            if name != "dog":
                await client.send_nonce(requests[name].entry, b"second")
                assert (await warned(client))[0] == "NONCE_NOT_ASKED"
        given = await asyncio.wait_for(collecting, 30)
        assert given == {entry: b"first of " + name.encode() for entry, name in ENTRIES.items()}
        await dog.send_nonce("leagues/l/entries/dog", b"late")
        assert (await warned(dog))[0] == "NONCE_NOT_ASKED"
        assert (await host.play_table(table())).how == "played"


async def test_a_long_nonce_is_refused_by_its_field_and_a_good_one_still_counts():
    async with asked(("ant",), ANT) as (_host, _port, clients, collecting):
        ant = clients["ant"]
        request = await asyncio.wait_for(ant.nonce_requests.get(), 30)
        await ant.send_nonce(request.entry, b"x" * 33)
        assert await warned(ant) == ("FIELD_INVALID", {"field": "entry_nonce.nonce", "bytes": "33"})
        await ant.send_nonce(request.entry, b"x" * 32)
        assert await asyncio.wait_for(collecting, 30) == {request.entry: b"x" * 32}


async def test_bots_that_are_silent_or_away_count_as_empty_when_the_time_is_up():
    async with asked(("ant", "bee"), within_ms=300) as (_host, _port, _clients, collecting):
        assert await asyncio.wait_for(collecting, 30) == {}


async def test_bots_that_nobody_brings_back_are_not_waited_for():
    async with asked(("ant",), away=("bee", "cat", "dog")) as (_host, _port, clients, collecting):
        await clients["ant"].send_nonce("leagues/l/entries/ant", b"ant")
        assert await asyncio.wait_for(collecting, 30) == {"leagues/l/entries/ant": b"ant"}


async def test_a_bot_that_lost_its_stream_is_asked_again_with_what_is_left_of_the_time():
    async with asked(("ant",), ANT) as (_host, port, clients, collecting):
        first = await asyncio.wait_for(clients["ant"].nonce_requests.get(), 30)
        await clients["ant"].close()
        async with seated(port, ("ant",)) as again:
            second = await asyncio.wait_for(again["ant"].nonce_requests.get(), 30)
            assert (second.entry, second.seed_commitment) == (first.entry, first.seed_commitment)
            assert second.within_ms <= first.within_ms
            await again["ant"].send_nonce(second.entry, b"again")
            assert await asyncio.wait_for(collecting, 30) == {second.entry: b"again"}


async def test_two_leagues_ask_side_by_side():
    async with asked(("ant",), ANT) as (host, _port, clients, one):
        two = asyncio.create_task(host.collect_nonces({"leagues/m/entries/ant": "ant"}, COMMITMENT, LONG_MS))
        for _ in range(2):
            request = await asyncio.wait_for(clients["ant"].nonce_requests.get(), 30)
            await clients["ant"].send_nonce(request.entry, request.entry.encode())
        for collecting in (one, two):
            [(entry, nonce)] = (await asyncio.wait_for(collecting, 30)).items()
            assert nonce == entry.encode()


async def test_a_host_that_stops_collects_no_nonces():
    async with asked(("ant",)) as (host, _port, clients, collecting):
        await asyncio.wait_for(clients["ant"].nonce_requests.get(), 30)
        await host.drain(0)
        with pytest.raises(HostError, match="the host is stopping"):
            await asyncio.wait_for(collecting, 30)


async def test_a_nonce_instead_of_hello_opens_no_session():
    async with hosting() as (_host, port):
        client = Client(port, "ant")
        await client.send_nonce("leagues/l/entries/ant", b"x")
        code = await asyncio.wait_for(client._call.code(), 30)
        assert code.name == "FAILED_PRECONDITION"
        await client.close()
