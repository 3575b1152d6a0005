"""The commands: what they print, and one clear line for every mistake."""

import hashlib
import io
import json
import os
import re
import socket
import subprocess
import sys

import pytest
from chaodipi.service.cli.screen import print_standings
from chaodipi.service.config import ConfigError, load_server_config
from chaodipi.service.scheduler.league_file import load_league
from chaodipi.service.scheduler.standings import Estimate, Standing
from chaodipi.service.scheduler.timing import DecisionTime
from chaodipi.service.store import Store
from rich.console import Console

LEAGUE = """\
name = "spring"
ruleset = "ming_chao"
boards = 2
seed = "s"

[overrides]
stage = 100

[time]
play_ms = 900

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
        (["demo", "--ruleset", "nope"], r"unknown preset 'nope'; known: .*ming_chao.*"),
        (["demo", "--out", "/proc/x"], r"cannot write to /proc/x: .+"),
        (["demo", "--bots", "greedy,deep"], r"unknown baseline bot 'deep'; known: random, greedy, rules"),
        (["demo", "--boards", "0"], r"Invalid value for '--boards': .+"),
        (["league", "run", "no.toml"], r"no\.toml: cannot be read: No such file or directory"),
        (["league", "standings", "--out", "/proc/x"], r"no store at /proc/x/chaodipi\.db"),
        (["db", "upgrade", "--out", "/proc/x"], r"store /proc/x/chaodipi\.db is not writable: .+"),
        (["replay", "verify", "no.jsonl"], r"no\.jsonl: cannot be read: No such file or directory"),
        (["serve", "--house", "nope"], r"unknown preset 'nope'; known: .*ming_chao.*"),
        (["bot", "add", "a/b"], r"name 'a/b': letters, digits, '_', '.', '\+', at most 32"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, message):
    done = chaodipi(*arguments)
    assert done.returncode == 2
    assert re.fullmatch(f"chaodipi: {message}\n", done.stderr)


def test_a_league_is_hosted_with_a_referee_and_its_own_clock_if_it_says_so(tmp_path):
    """By default breaches are prevented, and the limits not given are the ruleset's."""
    path = tmp_path / "league.toml"
    path.write_text(LEAGUE)
    plain = load_league(path)
    path.write_text(LEAGUE.replace("stage = 100", "bury_s = 30").replace("boards = 2", 'boards = 2\nmode = "penalise"'))
    strict = load_league(path)

    assert (plain.mode, plain.time.play_ms, plain.time.bury_ms) == ("prevent", 900, 90_000)
    assert (strict.mode, strict.time.play_ms, strict.time.bury_ms) == ("penalise", 900, 30_000)
    assert plain.digest != strict.digest


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "spring"', 'name = "spring', ":1: not TOML"),
        ("boards = 2", "bords = 2", ":3: unknown key 'bords'; known: name, ruleset"),
        ("boards = 2", 'boards = "2"', ":3: boards = '2': a whole number expected"),
        ("boards = 2", "boards = 0", ":3: boards = 0: 1 or more"),
        ("boards = 2", 'mode = "strict"', ":3: mode = 'strict': one of prevent, penalise"),
        ("[overrides]\nstage = 100", "[limits]\nmemory = 1", ":7: unknown key 'memory' in [limits]; known: cpu_s"),
        ("[overrides]\nstage = 100", "[limits]\ncpu_s = -1", ":7: cpu_s = -1 in [limits]: 0 (none) or more"),
        ("ming_chao", "ming", ":2: unknown preset 'ming'"),
        ("stage = 100", "stage = 0", ":7: stage = 0: a whole number from"),
        ("stage = 100", "stags = 1", ":7: unknown ruleset key 'stags'"),
        ('"greedy"', '"clever"', ":14: unknown baseline 'clever'; known: random, greedy, rules"),
        ('name = "b"', 'name = "a"', ":17: bot 'a' stands twice"),
        ('name = "b"', 'name = "b/c"', ":17: name = 'b/c'"),
        ("nonce", "nonze", ":19: unknown key 'nonze' in [bots]"),
        ('nonce = "n"', f'nonce = "{33 * "n"}"', ":19: nonce has 33 bytes, at most 32"),
        ("play_ms = 900", "play_ms = -9", ":10: [time]: play_ms = -9: 0 to 86400000 expected"),
        ("play_ms = 900", "max_faults = -1", ":10: [time]: max_faults = -1: 0 to 1000000 expected"),
        ("play_ms = 900", "untimed = true", ":10: [time]: untimed = true is for debugging, never for a league"),
        ("play_ms = 900", "increment_ms = 5", ":10: [time]: increment_ms = 5 needs a bank_ms"),
        ("play_ms = 900", "cap_ms = 5", ":10: [time]: cap_ms = 5: 90000 or more for its limits"),
        ("play_ms = 900", 'untimed = "no"', ":10: untimed = 'no' in [time]: true or false expected"),
        ("boards = 2", "restarts = -1", ":3: restarts = -1: 0 (never) or more"),
        ("play_ms = 900", "play = 9", ":10: unknown key 'play' in [time]; known: play_ms"),
        ('command = ["bot"]', "", ":17: bot 'b' needs one of command, baseline, remote = true; here: none"),
        ('command = ["bot"]', "remote = false", ":17: bot 'b' needs one of"),
        (
            'nonce = "n"',
            "remote = true",
            ":19: bot 'b' needs one of command, baseline, remote = true; here: command and",
        ),
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


def test_the_nonces_of_a_team_are_one_nonce_and_have_32_bytes_together(tmp_path):
    path = tmp_path / "league.toml"
    team = '[[teams]]\nname = "x"\nbots = ["a", "b"]\n[[teams]]\nname = "y"\nbots = ["b", "b"]\n'
    mine = LEAGUE.replace('baseline = "greedy"', 'baseline = "greedy"\nnonce = "m"')
    path.write_text(mine + team)
    assert load_league(path).nonces == (b"mn", b"n")
    path.write_text(mine.replace('"n"', f'"{32 * "n"}"') + team)
    with pytest.raises(ConfigError, match="the nonces of team 'x' have 33 bytes, at most 32"):
        load_league(path)


def test_bots_are_asked_for_nonces_where_the_file_names_neither_a_seed_nor_a_nonce(tmp_path):
    """64 hex digits are bytes, so that what a league revealed can be written down to repeat it."""
    path = tmp_path / "league.toml"
    asked = {}
    for seed in ("", 'seed = "s"\n'):
        for nonce in ("", 'nonce = "n"\n'):
            path.write_text(LEAGUE.replace('seed = "s"\n', seed).replace('nonce = "n"\n', nonce))
            league = load_league(path)
            asked[bool(seed), bool(nonce)] = league.asks_nonces
    assert asked == {(False, False): True, (False, True): False, (True, False): False, (True, True): False}
    path.write_text(LEAGUE.replace('"n"', f'"{"0aF" * 21}0"'))
    assert load_league(path).nonces[1] == bytes.fromhex("0aF" * 21 + "0")


def test_a_league_plays_by_its_rulesets_limits_and_what_its_file_says(tmp_path):
    path = tmp_path / "league.toml"
    path.write_text(LEAGUE.replace("stage = 100", "play_s = 7").replace("play_ms = 900", "bank_ms = 5000"))
    time = load_league(path).time
    assert (time.play_ms, time.bury_ms, time.bank_ms) == (7_000, 90_000, 5_000)


def test_the_servers_settings_have_a_clock_too(tmp_path):
    path = tmp_path / "server.toml"
    path.write_text('listen = "0.0.0.0:1"\n[time]\nuntimed = true\n')
    assert load_server_config(path, {}).time == {"untimed": True}
    path.write_text("[time]\nbyoyomi_ms = 5\n")
    with pytest.raises(ConfigError, match=r"server\.toml:2: \[time\]: byoyomi_ms and byoyomi_periods go together"):
        load_server_config(path, {})
    path.write_text("[time]\nbyo = 5\n")
    with pytest.raises(ConfigError, match=r"server\.toml:2: unknown key 'byo' in \[time\]; known: play_ms"):
        load_server_config(path, {})


def test_server_settings_from_file_and_environment(tmp_path):
    path = tmp_path / "server.toml"
    path.write_text('listen = "0.0.0.0:1"\nmetrics_port = 9\n')
    config = load_server_config(path, {"CHAODIPI_METRICS_PORT": "8"})
    assert (config.listen, config.metrics_port) == ("0.0.0.0:1", 8)
    with pytest.raises(ConfigError, match="CHAODIPI_METRICS_PORT = 'x': a whole number expected"):
        load_server_config(None, {"CHAODIPI_METRICS_PORT": "x"})
    with pytest.raises(ConfigError, match="log_level = 'loud': one of debug, info, warning, error expected"):
        load_server_config(path, {"CHAODIPI_LOG_LEVEL": "loud"})
    assert load_server_config(path, {"CHAODIPI_LOG_LEVEL": "INFO"}).log_level == "INFO"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('tls_cert = "x"\n', "{path}: tls_cert needs tls_key"),
        ('tls_client_ca = "x"\n', "{path}: tls_client_ca needs tls_cert"),
        (
            'listen = "127.0.0.1:1"\nlog_level = "loud"\n',
            "{path}:2: log_level = 'loud': one of debug, info, warning, error",
        ),
        ("metrics_port = 99999\n", "{path}:1: metrics_port = 99999: a port, 0 to 65535, expected"),
        ("drain_s = -1\n", "{path}:1: drain_s = -1: 0 or more expected"),
        ("insecure = 1\n", "{path}:1: insecure = 1: true or false expected"),
        (
            "[quotas]\nframes = 1\n",
            "{path}:2: unknown key 'frames' in [quotas]; known: sessions, matches, opens_s",
        ),
        ("[quotas]\nsessions = 0\n", "{path}:2: sessions = 0 in [quotas]: 1 or more expected"),
    ],
)
def test_a_mistake_in_the_settings_is_named_with_its_line(tmp_path, text, message):
    path = tmp_path / "serve.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=re.escape(message.format(path=path))):
        load_server_config(path, {})


def test_settings_that_are_true_or_false_are_so_in_the_environment_too():
    on = load_server_config(None, {"CHAODIPI_INSECURE": "true", "CHAODIPI_REFLECTION": "0"})
    assert (on.insecure, on.reflection) == (True, False)
    assert load_server_config(None, {}).reflection is None
    with pytest.raises(ConfigError, match="CHAODIPI_INSECURE = 'maybe': true or false expected"):
        load_server_config(None, {"CHAODIPI_INSECURE": "maybe"})


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


def test_the_judge_goes_on_after_lines_that_cannot_be_read():
    """JSON is UTF-8 whatever the terminal speaks; a line that is none, or too deep to read, gets its own error."""
    lines = [b'{"id": "\xff", "op"', b"[" * 100_000, '{"id": "三"}'.encode()]
    command = [sys.executable, "-c", "from chaodipi.service.cli import main; main()", "judge"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        command, input=b"\n".join(lines), capture_output=True, check=False, timeout=120, env=environment
    )
    answers = list(map(json.loads, done.stdout.splitlines()))
    assert [found["ok"] for found in answers] == [False] * 3
    assert answers[2]["id"] == "三"
    assert done.stderr == b""


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


def test_without_a_command_the_help_is_shown_and_nothing_else():
    done = chaodipi()
    assert done.returncode == 2
    assert "Usage: " in done.stdout
    assert done.stderr == ""


@pytest.fixture
def busy():
    """The number of a port that somebody else listens at."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def league_file(folder):
    path = folder / "league.toml"
    path.write_text(LEAGUE.replace('command = ["bot"]', 'baseline = "rules"'))
    return path


@pytest.mark.situation("T7")
@pytest.mark.parametrize("command", ["demo", "league", "league metrics", "serve", "serve metrics"])
def test_a_port_in_use_is_one_line_and_exit_code_2(tmp_path, busy, command):
    out = tmp_path / "out"
    config = tmp_path / "server.toml"
    where = f'listen = "127.0.0.1:{busy}"' if command == "serve" else f'listen = "127.0.0.1:0"\nmetrics_port = {busy}'
    config.write_text(f'{where}\nstore = "{out}/c.db"\n')
    arguments = {
        "demo": ("demo", "--out", out, "--metrics-port", busy),
        "league": ("league", "run", league_file(tmp_path), "--out", out, "--listen", f"127.0.0.1:{busy}"),
        "league metrics": ("league", "run", league_file(tmp_path), "--out", out, "--metrics-port", busy),
        "serve": ("serve", "--config", config),
        "serve metrics": ("serve", "--config", config),
    }
    done = chaodipi(*arguments[command])
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert done.stderr.startswith(f"chaodipi: port {busy} is in use at 127.0.0.1")


def test_metrics_at_an_address_that_is_none_here_say_so(tmp_path):
    config = tmp_path / "server.toml"
    config.write_text(
        f'listen = "127.0.0.1:0"\nmetrics_port = 9\nmetrics_host = "192.0.2.1"\nstore = "{tmp_path}/c.db"\n'
    )
    done = chaodipi("serve", "--config", config)
    assert (done.returncode, done.stderr) == (
        2,
        "chaodipi: no metrics at 192.0.2.1:9: Cannot assign requested address\n",
    )


@pytest.mark.parametrize(
    ("listen", "message"),
    [
        ("nonsense", "'nonsense' is no address: host:port expected, such as 127.0.0.1:7878"),
        ("127.0.0.1:99999", "'127.0.0.1:99999' is no address: .*"),
        ("192.0.2.1:0", "192.0.2.1 is no address of this machine: .*"),
    ],
)
def test_an_address_that_cannot_be_is_one_line_and_exit_code_2(tmp_path, listen, message):
    done = chaodipi("league", "run", league_file(tmp_path), "--out", tmp_path / "out", "--listen", listen)
    assert done.returncode == 2
    assert re.fullmatch(f"chaodipi: {message}\n", done.stderr)


def test_a_store_or_folder_that_cannot_be_written_is_one_line_and_exit_code_2(tmp_path):
    path = league_file(tmp_path)
    done = chaodipi("league", "run", path, "--out", "/proc/x")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("chaodipi: store /proc/x/chaodipi.db is not writable: ")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "spring").write_text("a file where the league's folder goes")
    done = chaodipi("league", "run", path, "--out", tmp_path / "out")
    assert (done.returncode, done.stderr) == (2, f"chaodipi: {tmp_path}/out/spring: File exists\n")


def test_a_token_that_the_host_refuses_is_one_line_and_exit_code_2(tmp_path):
    """As an author sees it who mistyped his token: the host and what is wrong, no traceback."""
    config = tmp_path / "server.toml"
    config.write_text(f'listen = "127.0.0.1:0"\nstore = "{tmp_path}/c.db"\n')
    command = [sys.executable, "-c", "from chaodipi.service.cli import main; main()", "serve", "--config", str(config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL) as host:
        try:
            said = host.stdout.readline()
            server = re.search(r"serving at (\S+),", said)[1]
            bot = [sys.executable, "-m", "chaodipi.sdk.cli", "run", "greedy", "--server", server, "--token", "wrong"]
            done = subprocess.run(bot, capture_output=True, text=True, check=False, timeout=60)
        finally:
            host.terminate()
    assert done.returncode == 2
    assert re.fullmatch(
        f"chaodipi-bot: {re.escape(server)} does not accept the token: TOKEN_INVALID: .+\n", done.stderr
    )


def test_a_bot_is_added_once_and_its_token_is_nowhere_but_on_the_screen(tmp_path):
    """``<id>_<256 random bits>``; the store has the hash."""
    done = chaodipi("bot", "add", "zed", "--out", tmp_path)
    assert (done.returncode, done.stderr) == (0, f"bot zed added to {tmp_path}/chaodipi.db\n")
    token = done.stdout.strip()
    assert re.fullmatch(r"[0-9a-f]{8}_[A-Za-z0-9_-]{43}", token)
    for path in tmp_path.iterdir():
        assert token[9:].encode() not in path.read_bytes()
    with Store(tmp_path / "chaodipi.db", writing=False) as store:
        [row] = store.bots.tokens()
    assert (row.bot, row.id, row.hash) == ("zed", token[:8], hashlib.sha256(token.encode()).hexdigest())
    again = chaodipi("bot", "add", "zed", "--out", tmp_path)
    assert (again.returncode, again.stderr) == (2, f"chaodipi: bot 'zed' exists already in {tmp_path}/chaodipi.db\n")
