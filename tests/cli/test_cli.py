"""The commands: what they print, and one clear line for every mistake."""

import io
import json
import re
import subprocess
import sys

import pytest
from chaodipi.service.cli.screen import print_standings
from chaodipi.service.config import ConfigError, load_server_config
from chaodipi.service.scheduler.league_file import load_league
from chaodipi.service.scheduler.standings import Estimate, Standing
from chaodipi.service.scheduler.timing import DecisionTime
from rich.console import Console

LEAGUE = """\
name = "spring"
ruleset = "ming_chao"
boards = 2
seed = "s"

[overrides]
stage = 100

[[bots]]
name = "a"
baseline = "greedy"

[[bots]]
name = "b"
command = ["bot"]
nonce = "n"
"""


def chaodipi(*arguments, **more):
    command = [sys.executable, "-c", "from chaodipi.service.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **more)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--ruleset", "nope"], r"unknown preset 'nope'; known: .*ming_chao"),
        (["demo", "--out", "/proc/x"], r"cannot write to /proc/x: .+"),
        (["demo", "--bots", "greedy,deep"], r"unknown baseline bot 'deep'; known: random, greedy, rules"),
        (["demo", "--boards", "0"], r"Invalid value for '--boards': .+"),
        (["league", "run", "no.toml"], r"no\.toml: cannot be read: No such file or directory"),
        (["league", "standings", "--out", "/proc/x"], r"no store at /proc/x/chaodipi\.db"),
        (["db", "upgrade", "--out", "/proc/x"], r"store /proc/x/chaodipi\.db is not writable: .+"),
        (["replay", "verify", "no.jsonl"], r"no\.jsonl: cannot be read: .+"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, message):
    done = chaodipi(*arguments)
    assert done.returncode == 2
    assert re.fullmatch(f"chaodipi: {message}\n", done.stderr)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "spring"', 'name = "spring', ":1: not TOML"),
        ("boards = 2", "bords = 2", ":3: unknown key 'bords'; known: name, ruleset"),
        ("boards = 2", 'boards = "2"', ":3: boards = '2': a whole number expected"),
        ("boards = 2", "boards = 0", ":3: boards = 0: 1 or more"),
        ("[overrides]\nstage = 100", "[limits]\nmemory = 1", ":7: unknown key 'memory' in [limits]; known: cpu_s"),
        ("[overrides]\nstage = 100", "[limits]\ncpu_s = -1", ":7: cpu_s = -1 in [limits]: 0 (none) or more"),
        ("ming_chao", "ming", ":2: unknown preset 'ming'"),
        ("stage = 100", "stage = 0", ":7: stage = 0: a whole number from 1"),
        ("stage = 100", "stags = 1", ":7: unknown ruleset key 'stags'"),
        ('"greedy"', '"clever"', ":11: unknown baseline 'clever'; known: random, greedy, rules"),
        ('name = "b"', 'name = "a"', ":14: bot 'a' stands twice"),
        ('name = "b"', 'name = "b/c"', ":14: name = 'b/c'"),
        ("nonce", "nonze", ":16: unknown key 'nonze' in [bots]"),
    ],
)
def test_a_mistake_in_a_league_file_is_named_with_its_line(tmp_path, old, new, message):
    path = tmp_path / "league.toml"
    path.write_text(LEAGUE)
    assert load_league(path).ruleset.stage == 100
    path.write_text(LEAGUE.replace(old, new, 1))
    with pytest.raises(ConfigError, match=re.escape(f"{path}{message}")):
        load_league(path)


def test_teams_are_two_bots(tmp_path):
    path = tmp_path / "league.toml"
    path.write_text(LEAGUE + '[[teams]]\nname = "x"\nbots = ["a", "b"]\n[[teams]]\nname = "y"\nbots = ["b", "b"]\n')
    league = load_league(path)
    assert [entry.bots for entry in league.entries] == [("a", "b"), ("b", "b")]
    assert league.nonces == (b"n", b"n")


def test_server_settings_from_file_and_environment(tmp_path):
    path = tmp_path / "server.toml"
    path.write_text('listen = "0.0.0.0:1"\nmetrics_port = 9\n')
    config = load_server_config(path, {"CHAODIPI_METRICS_PORT": "8"})
    assert (config.listen, config.metrics_port) == ("0.0.0.0:1", 8)
    with pytest.raises(ConfigError, match="CHAODIPI_METRICS_PORT = 'x': a whole number expected"):
        load_server_config(None, {"CHAODIPI_METRICS_PORT": "x"})


def test_judge_answers_line_by_line():
    question = {
        "id": 7,
        "op": "trick",
        "ruleset": "ming_chao",
        "level": "2",
        "trump": "C",
        "plays": ["S5", "SK", "ST", "S7"],
    }
    done = chaodipi("judge", input=json.dumps(question) + "\n\nnonsense\n")
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["id"], first["ok"], first["result"]["points"]) == (7, True, 25)
    assert second["ok"] is False


def test_standings_fit_on_80_columns():
    value = Estimate(-100.0, 100.0)
    faults = {"illegal": 60, "timeout": 40}
    line = Standing(1, "a_long_name", 1000, value, Estimate(-1.0, 1.0), Estimate(-1.0, 1.0), -0.5, faults, 7)
    console = Console(width=80, record=True, file=io.StringIO())
    print_standings(console, "title", [line], {"a_long_name": DecisionTime(9, 4.0, 120, 1400, 2000)})
    text = console.export_text()
    assert "…" not in text
    assert re.search(r"a_long_name +1000 .* 100 120/1400$", text, re.MULTILINE)
    assert "faults of a_long_name: illegal 60, timeout 40, 7 tables forfeited" in text
    assert max(map(len, text.splitlines())) <= 80
