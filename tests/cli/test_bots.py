"""``chaodipi bot``: tokens are given once, end when told to, and a running host follows."""

import contextlib
import json
import re
import subprocess
import sys

import pytest
from chaodipi.service.store import Store

from tests.support.processes import WAIT_S, wait_until

CHAODIPI = [sys.executable, "-c", "from chaodipi.service.cli import main; main()"]
TOKEN = r"[0-9a-f]{8}_[A-Za-z0-9_-]{43}"


def chaodipi(*arguments):
    command = [*CHAODIPI, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def bot(folder, *arguments):
    done = chaodipi("bot", *arguments, "--out", folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def listed(folder):
    return [json.loads(line) for line in bot(folder, "list", "--json").splitlines()]


def test_a_token_from_its_first_day_to_its_last(tmp_path):
    first = bot(tmp_path, "add", "zed", "--owner", "Zoë", "--expires", "30d", "--scope", "play").strip()
    second = bot(tmp_path, "rotate", "zed", "--grace", "1d").strip()
    third = bot(tmp_path, "rotate", "zed").strip()
    assert all(re.fullmatch(TOKEN, token) for token in (first, second, third))
    [zed] = listed(tmp_path)
    assert (zed["schema"], zed["name"], zed["owner"]) == ("chaodipi/bot/1", "zed", "Zoë")
    assert [token["id"] for token in zed["tokens"]] == [first[:8], second[:8], third[:8]]
    assert [token["holds"] for token in zed["tokens"]] == [False, False, True]
    # A token that replaces one of 30 days is one of 30 days.
    assert zed["tokens"][0]["created"][:11] < zed["tokens"][2]["expires"][:11]
    assert bot(tmp_path, "expire", third[:8], "never") == f"token {third[:8]} of zed never ends\n"
    assert listed(tmp_path)[0]["tokens"][2]["expires"] is None
    assert bot(tmp_path, "revoke", third[:8]) == f"revoked: token {third[:8]} of zed\n"
    assert bot(tmp_path, "revoke", "zed") == "nothing to do: every token of zed was revoked before\n"
    assert not any(token["holds"] for token in listed(tmp_path)[0]["tokens"])


def test_bots_and_copies_are_of_the_store_that_the_hosts_settings_name(tmp_path, monkeypatch):
    """By the same file or variable that ``serve`` reads, under whatever name; where the bot is now is said."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "serve.toml").write_text('store = "host.db"\n')
    done = chaodipi("bot", "add", "ant", "--config", "serve.toml")
    assert re.fullmatch(TOKEN, done.stdout.strip())
    assert done.stderr == "bot ant added to host.db\n"
    assert chaodipi("db", "upgrade", "--config", "serve.toml").stdout == "host.db is up to date\n"
    assert chaodipi("db", "backup", "copy.db", "--config", "serve.toml").stdout == "host.db copied to copy.db\n"
    monkeypatch.setenv("CHAODIPI_STORE", "copy.db")
    assert '"ant"' in chaodipi("bot", "list", "--json").stdout
    monkeypatch.delenv("CHAODIPI_STORE")
    assert chaodipi("bot", "add", "bee").stderr == "bot bee added to out/chaodipi.db\n"
    both = chaodipi("bot", "add", "cat", "--config", "serve.toml", "--out", "out")
    assert (both.returncode, both.stdout) == (2, "")
    assert both.stderr == "chaodipi: --out and --config both name a store: give one of them\n"


def test_the_list_fits_on_80_columns_whatever_the_owner_is_called(tmp_path):
    assert bot(tmp_path / "x", "add", "a" * 32, "--owner", "O" * 200, "--scope", "play", "--scope", "matches.read")
    assert bot(tmp_path / "x", "add", "yak")
    bot(tmp_path / "x", "revoke", "yak")
    text = bot(tmp_path / "x", "list", "--all")
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    assert re.search(r"^yak +– +[0-9a-f]{8} +play +revoked +never", text, re.M)
    assert re.search(r"^yak +– +none", bot(tmp_path / "x", "list"), re.M)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add", "zed", "--expires", "soon"], "'soon' is no span of time: a number and s, m, h or d expected, .*"),
        (["add", "zed", "--scope", "all"], "unknown scope 'all'; known: play, matches.read, leagues.read, admin"),
        (["add", "0123abcd"], "name '0123abcd': 8 hex digits are the id of a token"),
        (["rotate", "yak"], r"no bot 'yak' in .*/chaodipi.db; bots there: none"),
        (["revoke", "yak"], r"no bot and no token 'yak' in .*/chaodipi.db; bots there: none"),
        (["expire", "yak", "never"], r"no bot and no token 'yak' in .*"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(tmp_path, arguments, message):
    done = chaodipi("bot", *arguments, "--out", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(f"chaodipi: {message}\n", done.stderr)


@contextlib.contextmanager
def serving(folder):
    """A host as a process: its address, and what it says."""
    config = folder / "serve.toml"
    config.write_text(f'listen = "127.0.0.1:0"\nstore = "{folder}/chaodipi.db"\n')
    with subprocess.Popen(
        [*CHAODIPI, "serve", "--config", str(config)], stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL
    ) as host:
        try:
            address = re.search(r"serving at (\S+),", host.stdout.readline())[1]
            assert "no TLS" in host.stdout.readline()
            yield address, host.stdout
        finally:
            host.terminate()


def player(server, token, log):
    command = [sys.executable, "-m", "chaodipi.sdk.cli", "run", "greedy", "--server", server, "--token", token]
    with log.open("w") as file:
        return subprocess.Popen(command, stderr=file, stdout=subprocess.DEVNULL)


def test_a_running_host_lets_new_bots_in_and_ends_the_sessions_of_revoked_tokens(tmp_path):
    with serving(tmp_path) as (server, said):
        tokens = {name: bot(tmp_path, "add", name).strip() for name in ("ant", "bee")}
        logs = {name: tmp_path / f"{name}.log" for name in tokens}
        assert sorted(said.readline() for _ in tokens) == ["bot ant added\n", "bot bee added\n"]
        players = {name: player(server, token, logs[name]) for name, token in tokens.items()}
        try:
            for log in logs.values():
                wait_until(lambda log=log: "playing as" in log.read_text(), "the bot is let in")
            with Store(tmp_path / "chaodipi.db", writing=False) as store:
                wait_until(lambda: all(t.used_at for t in store.bots.tokens()), "the use is written down")
            bot(tmp_path, "revoke", "ant")
            assert players["ant"].wait(WAIT_S) == 2
            assert "TOKEN_REVOKED: the token was revoked" in logs["ant"].read_text()
            assert players["bee"].poll() is None
            bot(tmp_path, "expire", tokens["bee"][:8], "0s")
            assert players["bee"].wait(WAIT_S) == 2
            assert "TOKEN_EXPIRED" in logs["bee"].read_text()
        finally:
            for process in players.values():
                process.kill()
                process.wait()
