"""What a league reveals at its end: whatever does not match is named, down to what was changed."""

import json
import subprocess
from pathlib import Path

import pytest
from chaodipi.engine.ruleset import resolve
from chaodipi.sdk import Bot
from chaodipi.sdk.nonces import Nonces
from chaodipi.service.boards import board
from chaodipi.service.boards.board import Secrets
from chaodipi.service.cli.errors import UsageError
from chaodipi.service.cli.replay import verify_files
from chaodipi.service.records.record import chained
from chaodipi.service.scheduler.league import MissingPair, play_league, results_json
from chaodipi.service.scheduler.schedule import Entry, Plan

from tests.league.stand_in import StandInHost, default_brain, high, shower
from tests.support.tools import needs_tool

BRAINS = {"low": default_brain, "shower": shower, "high": high}
SEED = b"\x5e" * 32


class Author(Bot):
    """Whoever owns the bot ``shower``."""


@pytest.fixture
async def league(tmp_path):
    """A league whose second entry's owner keeps his nonce: its folder, its results and that file."""
    kept = tmp_path / "mine.jsonl"
    commitment = Secrets(SEED).commitment
    mine = Nonces(Author, kept).give("leagues/t/entries/shower", commitment)
    plan = Plan("t", resolve("ming_chao"), tuple(map(Entry.of_bot, BRAINS)), 2, Secrets(SEED, (b"a", mine, b"")))
    outcomes = await play_league(plan, StandInHost(BRAINS), tmp_path / "t/records")
    results = results_json(plan, outcomes, "points")
    (tmp_path / "t/results.json").write_text(json.dumps(results))
    return tmp_path / "t", results, kept


def check(folder, results, capsys, nonces=None):
    """Whether all match, and what is said."""
    (folder / "results.json").write_text(json.dumps(results))
    good = verify_files([folder / "records"], nonces)
    return good, capsys.readouterr().out


async def test_true_results_match_and_the_owner_of_a_nonce_has_it_confirmed(league, capsys):
    folder, results, kept = league
    good, said = check(folder, results, capsys, kept)
    assert good
    assert said == (
        "12 records, 12 match, 0 do not (with the league's seed)\npairs and standings are those of the records\n"
        "commitment and nonce are those of shower\n"
    )


def another_seed(results):
    results["seed"] = "00" * 32
    return "seed: the seed has the commitment "


def another_seed_and_commitment(results):
    results["seed"] = "00" * 32
    results["seed_commitment"] = Secrets(bytes(32)).commitment.hex()
    return "that seed fits its commitment, so a nonce is another, or both of these are"


def another_nonce(results):
    results["nonces"][0] = "00"
    return "that seed fits its commitment, so a nonce is another, or both of these are"


def swapped_nonces(results):
    nonces = results["nonces"]
    nonces[0], nonces[1] = nonces[1], nonces[0]
    return "the nonces of low and shower have changed places"


def swapped_entries(results):
    entries = results["entries"]
    entries[0], entries[1] = entries[1], entries[0]
    results["nonces"][:2] = reversed(results["nonces"][:2])
    return "the nonces of shower and low have changed places"


def nonce_put_in(results):
    results["nonces"][2] = "c0de"
    return "the nonce of high was empty"


def nonce_left_out(results):
    del results["nonces"][2]
    return "nonce: 2 nonces stand here for 3 entries"


def long_nonce(results):
    results["nonces"][0] = "00" * 33
    return "nonce: that of low has 33 bytes, at most 32"


def another_ruleset(results):
    results["ruleset"]["digest"] = "0" * 64
    return "ruleset: ming_chao "


CHANGES = [
    another_seed, another_seed_and_commitment, another_nonce, swapped_nonces, swapped_entries, nonce_put_in,
    nonce_left_out, long_nonce, another_ruleset,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
async def test_every_change_of_what_is_revealed_is_named(league, change, capsys):
    folder, results, _kept = league
    text = change(results)
    good, said = check(folder, results, capsys)
    assert not good
    assert text in said
    assert said.endswith("12 records, 0 match, 12 do not (with the league's seed)\n")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1, "shuffle 0 of board 1 is not from the league's seed and nonces: it is shuffle 0 of board 0"),
        (1, "board: table t/00000/low-shower/1 is not of board 1 of league t"),
        (99, "shuffle 0 of board 99 is not from the league's seed and nonces: it is shuffle 0 of board 0"),
    ],
)
async def test_a_changed_board_number_is_named_with_the_board_that_it_is(league, number, text, capsys):
    folder, results, _kept = league
    path = folder / "records/t_00000_low-shower_1.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["board"] = number
    path.write_text(chained({key: line[key] for key in line if key != "chain"} for line in lines))
    good, said = check(folder, results, capsys)
    assert not good
    assert text in said
    assert said.endswith("12 records, 11 match, 1 do not (with the league's seed)\n")


async def test_a_table_of_a_board_that_the_league_does_not_have_is_named(league, capsys):
    folder, results, _kept = league
    results["boards_per_pairing"] = 1
    good, said = check(folder, results, capsys)
    assert not good
    assert "board: board 5 of a league that has 3" in said


async def test_a_host_that_puts_another_nonce_or_seed_in_everywhere_is_found_out_by_the_owner(league, tmp_path, capsys):
    """Records and results that fit together: only what the owner kept shows that they are not what he was promised."""
    _folder, results, kept = league
    entries = tuple(map(Entry.of_bot, BRAINS))
    for secrets, text in (
        (Secrets(SEED, (b"a", b"forged", b"")), "here it is 666f72676564"),
        (Secrets(SEED, (b"a", b"", b"")), "here it counts as empty"),
        (
            Secrets(b"other" * 8, (b"a", bytes.fromhex(results["nonces"][1]), b"")),
            f"seed: shower was asked under the commitment {results['seed_commitment']}, the league says ",
        ),
    ):
        plan = Plan("t", resolve("ming_chao"), entries, 1, secrets)
        folder = tmp_path / text[-8:]
        outcomes = await play_league(plan, StandInHost(BRAINS), folder / "records")
        forged = results_json(plan, outcomes, "points")
        assert check(folder, forged, capsys)[0]
        good, said = check(folder, forged, capsys, kept)
        assert not good
        assert text in said
        assert "commitment and nonce are" not in said


async def test_a_nonce_given_twice_under_one_commitment_may_be_either(league, capsys):
    """A bot that was started anew without its file gave another one; the host may use the later."""
    folder, results, kept = league
    first = kept.read_text()
    kept.write_text(first.replace(results["nonces"][1], "11" * 32) + first)
    assert check(folder, results, capsys, kept)[0]


async def test_a_file_without_a_nonce_of_these_entries_confirms_nothing(league, capsys):
    folder, results, kept = league
    kept.write_text(kept.read_text().replace("leagues/t/", "leagues/u/"))
    with pytest.raises(UsageError, match="no nonce of an entry of these records"):
        check(folder, results, capsys, kept)
    kept.write_text("{}\n")
    with pytest.raises(UsageError, match=r"mine\.jsonl: line 1 is no nonce that the SDK kept"):
        check(folder, results, capsys, kept)


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("seed", "xyz", r"seed is not hex: 'xyz'"),
        ("nonces", ["", 7, ""], r"nonces\[1\] is not hex: 7"),
        ("nonces", None, r"a field is missing or of the wrong type"),
        ("seed_commitment", None, r"seed_commitment is not hex: None"),
        ("ruleset", "x", r"a field is missing or of the wrong type"),
    ],
)
async def test_results_that_cannot_be_read_name_the_field(league, field, value, text, capsys):
    folder, results, _kept = league
    with pytest.raises(UsageError, match=r"results\.json: " + text):
        check(folder, results | {field: value}, capsys)


async def test_while_pairs_are_missing_neither_seed_nor_nonces_are_shown_and_records_verify(league, capsys):
    folder, results, kept = league
    plan = Plan("t", resolve("ming_chao"), tuple(map(Entry.of_bot, BRAINS)), 2, Secrets(SEED, (b"a", b"b", b"c")))
    outcomes = await play_league(plan, StandInHost(BRAINS), folder / "again")
    missing = MissingPair(5, 5, "shower", "high", "a reason")
    told = results_json(plan, [outcome for outcome in outcomes if outcome.number != 5], "points", [missing])
    assert (told["seed"], told["nonces"]) == (None, None)
    good, said = check(folder, results | {"seed": None, "nonces": None}, capsys)
    assert good
    assert said.startswith("12 records, 12 match, 0 do not (without the league's seed)\n")
    with pytest.raises(UsageError, match="or their seed is not revealed yet"):
        check(folder, results | {"seed": None, "nonces": None}, capsys, kept)


@needs_tool("node")
async def test_what_is_revealed_deals_the_same_in_javascript(league):
    """A second implementation finds every shuffle of the records by the league's seed and nonces, and no other."""
    folder, results, _kept = league
    here = Path(__file__).parent
    command = ["node", here / "shuffle_check.mjs", Path(board.__file__).with_name("vector.json")]
    command += [folder / "results.json", *sorted((folder / "records").glob("*.jsonl"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results["nonces"][1] = "00"
    (folder / "results.json").write_text(json.dumps(results))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert len([line for line in done.stderr.splitlines() if " shuffle 0: " in line]) == 12


async def test_a_revealed_league_is_repeated_by_its_seed_and_nonces(league, tmp_path):
    """With what is revealed, the same bytes come out once more."""
    folder, results, _kept = league
    secrets = Secrets(bytes.fromhex(results["seed"]), tuple(map(bytes.fromhex, results["nonces"])))
    plan = Plan("t", resolve("ming_chao"), tuple(map(Entry.of_bot, BRAINS)), 2, secrets)
    await play_league(plan, StandInHost(BRAINS), tmp_path / "again")
    for path in (folder / "records").glob("*.jsonl"):
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()
