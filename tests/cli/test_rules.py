"""``chaodipi rules`` and rulesets of one's own: what people see, and that bots play by them."""

import json
import re
import subprocess
import sys

import pytest
from chaodipi.engine.errors import RulesetError
from chaodipi.engine.ruleset import KEYS, preset_names, resolve
from chaodipi.sdk.rulesets import ruleset_from_match
from chaodipi.service.convert import match_to_wire
from chaodipi.service.match.table import TableSpec

HOUSE = """\
name = "house"
base = "huanle_2"

[values]
two_permanent = true
throw_penalty = 10
"""


def chaodipi(*arguments, **more):
    command = [sys.executable, "-c", "from chaodipi.service.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **more)


@pytest.fixture
def house(tmp_path):
    path = tmp_path / "house.toml"
    path.write_text(HOUSE, encoding="utf-8")
    return path


def test_list_names_every_preset_with_its_digest():
    done = chaodipi("rules", "list", env={"COLUMNS": "80"})
    assert done.returncode == 0
    for name in preset_names():
        assert re.search(rf"^{name} .*{resolve(name).digest[:12]}", done.stdout, re.M)
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("name", preset_names())
def test_show_has_every_key_and_fits_a_terminal(name):
    done = chaodipi("rules", "show", name, env={"COLUMNS": "80"})
    for key in KEYS:
        assert re.search(rf"^{key} ", done.stdout, re.M), key
    assert max(map(len, done.stdout.splitlines()[1:])) <= 80
    said = json.loads(chaodipi("rules", "show", name, "--json").stdout)
    assert said["digest"] == resolve(name).digest
    assert list(said["values"]) == list(KEYS)


def test_diff_shows_what_differs_and_nothing_else():
    lines = chaodipi("rules", "diff", "ming_chao", "huanle_2").stdout.splitlines()
    shown = {line.split()[0] for line in lines[1:]}
    ours, theirs = resolve("ming_chao").values(), resolve("huanle_2").values()
    assert shown == {key for key in KEYS if ours[key] != theirs[key]}
    assert "no difference" in chaodipi("rules", "diff", "huanle_2", "huanle_2").stdout


def test_check_shows_the_differences_and_the_digest(house):
    done = chaodipi("rules", "check", house)
    assert done.returncode == 0
    assert re.search(r"^two_permanent +false +true", done.stdout, re.M)
    assert re.search(r"^throw_penalty +0 +10", done.stdout, re.M)
    expected = resolve("huanle_2", {"two_permanent": True, "throw_penalty": 10}).digest
    assert expected in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "house"\n', "", r":1: name is missing"),
        ('name = "house"', 'name = "ming_chao"', r":1: name = 'ming_chao' is a preset's"),
        ('"huanle_2"', '"nope"', r":2: unknown preset 'nope'; known: .*"),
        (
            "throw_penalty = 10",
            "throw_penalti = 10",
            r":6: unknown ruleset key 'throw_penalti'; known: throw_penalty.*",
        ),
        ("throw_penalty = 10", 'throw_penalty = "10"', r":6: throw_penalty = '10': a whole number from 0 to 50"),
        ("throw_penalty = 10", "hand = 20", r":6: hand = 20: 4 hands and bottom = 8 are not 108 cards"),
        ("throw_penalty = 10", 'stir = "never"', r":6: stir = 'never': allowed are 'none', .*"),
        ("throw_penalty = 10", 'ladder = ["H6"]', r":6: ladder = \['H6'\]: a list of single, .*"),
        ("[values]", "[valeus]", r":4: unknown key 'valeus'; known: name, base, values"),
    ],
)
def test_a_mistake_in_a_ruleset_file_is_named_with_its_line(house, old, new, message):
    house.write_text(HOUSE.replace(old, new), encoding="utf-8")
    done = chaodipi("rules", "check", house)
    assert done.returncode == 2
    assert re.fullmatch(f"chaodipi: {re.escape(str(house))}{message}\n", done.stderr), done.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["S9 S9 S8 S8", "--trump", "H"], ["side suit S", "a single pattern:", "tractor of 2", "8 times"]),
        (["S9 S9 HT", "--trump", "H"], ["trumps", "not a lead"]),
        (["SA SA S3", "--trump", "S"], ["a throw of 2 components:", "pair: SA SA", "single: S3"]),
        (["DT ST HT bj", "--trump", "S", "--level", "T"], ["bj  ST  DT = HT"]),
    ],
)
def test_explain(arguments, expected):
    done = chaodipi("rules", "explain", *arguments, "--ruleset", "huanle_2")
    assert done.returncode == 0, done.stderr
    for text in expected:
        assert text in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["S9 SX", "--trump", "H"], "cards: unknown card 'SX'.*"),
        (["S9", "--trump", "X"], "trump: unknown trump 'X': one of C D H S NT"),
        (["S9", "--trump", "H", "--level", "1"], "level: .*'1'.*"),
        (["S9 S9 S9", "--trump", "H"], "cards: 3 copies of S9: the decks hold 2"),
    ],
)
def test_explain_names_a_mistake(arguments, message):
    done = chaodipi("rules", "explain", *arguments)
    assert done.returncode == 2
    assert re.fullmatch(f"chaodipi: {message}\n", done.stderr), done.stderr


def spec(ruleset):
    return TableSpec("t", ruleset, setup=lambda _redeals: None, bots=("a", "b", "a", "b"))


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_travels_by_its_name(name):
    match = match_to_wire(spec(resolve(name)))
    assert not match.ruleset_values
    assert ruleset_from_match(match) == resolve(name)


def test_a_ruleset_of_ones_own_travels_with_all_its_values():
    ruleset = resolve("ming_chao", {"stage": 100, "ladder": ["single", "S"]})
    assert ruleset_from_match(match_to_wire(spec(ruleset))) == ruleset


def test_other_values_than_the_hosts_are_refused():
    match = match_to_wire(spec(resolve("ming_chao")))
    match.ruleset_digest = "0" * 64
    with pytest.raises(RulesetError, match="other values here"):
        ruleset_from_match(match)


def test_bots_play_a_league_by_a_ruleset_file(house, tmp_path):
    out = tmp_path / "out"
    done = chaodipi("demo", "--ruleset", house, "--boards", "1", "--bots", "greedy,rules", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "demo, house" in done.stdout
    checked = chaodipi("replay", "verify", out / "records")
    assert checked.returncode == 0, checked.stdout + checked.stderr
