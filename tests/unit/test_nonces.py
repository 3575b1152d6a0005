"""Asking for the entries' nonces, without a network: who is asked, what is taken, what is refused."""

import pytest
from chaodipi.service.host.nonces import NonceRound
from chaodipi.service.host.session import NonceAsked

COMMITMENT = b"\2" * 32
ANT, BEE, SECOND = "leagues/l/entries/ant", "leagues/l/entries/bee", "leagues/l/entries/second"


@pytest.fixture
def asking():
    """A round until 10 s, in which ant answers for two entries."""
    return NonceRound({ANT: "ant", BEE: "bee", SECOND: "ant"}, COMMITMENT, 10.0)


def test_a_bot_is_asked_for_each_of_its_entries_and_for_no_other(asking):
    assert asking.ask("ant", "s1", 0.0) == [NonceAsked(ANT, COMMITMENT, 10_000), NonceAsked(SECOND, COMMITMENT, 10_000)]
    assert asking.ask("bee", "s2", 0.0) == [NonceAsked(BEE, COMMITMENT, 10_000)]
    assert asking.ask("cat", "s3", 0.0) == []
    assert [asking.asks(entry, "ant") for entry in (ANT, SECOND, BEE, "leagues/l/entries/none", "")] == [
        True, True, False, False, False,
    ]  # fmt: skip


def test_one_of_a_bots_workers_is_asked_and_another_one_when_that_is_lost(asking):
    """What was answered is not asked again, and the time left is that of the first request."""
    assert len(asking.ask("ant", "s1", 0.0)) == 2
    assert asking.ask("ant", "s2", 1.0) == []
    assert asking.receive(ANT, b"one") is None
    asking.lose("s1")
    assert asking.ask("ant", "s2", 7.5) == [NonceAsked(SECOND, COMMITMENT, 2_500)]
    asking.lose("s3")
    assert asking.ask("ant", "s4", 8.0) == []
    asking.lose("s2")
    assert asking.ask("ant", "s4", 11.0) == [NonceAsked(SECOND, COMMITMENT, 0)]


@pytest.mark.parametrize("length", [0, 1, 32])
def test_a_nonce_has_up_to_32_bytes_and_the_first_one_stays(asking, length):
    nonce = b"\x80" * length
    assert asking.receive(ANT, nonce) is None
    assert asking.receive(ANT, nonce) is None
    refused = asking.receive(ANT, b"another")
    assert (refused.code, refused.reason) == (9, "NONCE_NOT_ASKED")
    assert asking.given == {ANT: nonce}
    assert asking.owing == {BEE: "bee", SECOND: "ant"}


@pytest.mark.parametrize("length", [33, 100_000])
def test_a_longer_one_is_refused_by_its_field_and_a_good_one_may_still_come(asking, length):
    refused = asking.receive(ANT, b"x" * length)
    assert (refused.code, refused.reason) == (3, "FIELD_INVALID")
    assert refused.metadata == {"field": "entry_nonce.nonce", "bytes": str(length)}
    assert "at most 32" in refused.message
    assert asking.given == {}
    assert asking.receive(ANT, b"x" * 32) is None
    assert asking.given == {ANT: b"x" * 32}
