"""Two entries of one owner meet at a table (spare e): the organiser is told, or has them refused."""

import subprocess
import sys
from pathlib import Path

import pytest
from chaodipi.service.config import ConfigError
from chaodipi.service.scheduler.league_file import load_league
from chaodipi.service.scheduler.owners import same_owners
from chaodipi.service.scheduler.schedule import Entry

CHAODIPI = [sys.executable, "-c", "from chaodipi.service.cli import main; main()"]
OWNERS = {"ant": "Ada Byron", "bee": "  ada  BYRON", "cat": "", "dog": "", "eel": "Bo"}

BOTS = """
[[bots]]
name = "ant"
baseline = "random"
owner = "Ada"

[[bots]]
name = "bee"
baseline = "random"
owner = "ada"

[[bots]]
name = "cat"
baseline = "random"
"""


@pytest.mark.situation("e")
def test_entries_share_an_owner_or_a_bot_but_not_that_nobody_is_known() -> None:
    entries = [
        Entry.of_bot("ant"), Entry.of_bot("bee"), Entry.of_bot("cat"), Entry.of_bot("dog"),
        Entry("mixed", ("eel", "ant")), Entry("third", ("dog", "eel")),
    ]  # fmt: skip
    assert list(map(str, same_owners(entries, OWNERS))) == [
        "entries ant and bee have one owner, Ada Byron",
        "entries ant and mixed share bot ant",
        "entries bee and mixed have one owner, ada BYRON",
        "entries dog and third share bot dog",
        "entries mixed and third share bot eel",
    ]


def league(folder: Path, same_owner: str) -> "subprocess.CompletedProcess[str]":
    path = folder / "league.toml"
    path.write_text(f'name = "x"\nruleset = "huanle_1"\nboards = 1\nseed = "e"\n{same_owner}\n{BOTS}')
    command = [*CHAODIPI, "league", "run", str(path), "--out", str(folder / "out")]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.situation("e")
def test_e_two_entries_of_one_owner_are_reported_or_refused(tmp_path: Path) -> None:
    refused = league(tmp_path, 'same_owner = "refuse"')
    assert refused.returncode == 2
    assert refused.stderr == "chaodipi: same_owner = refuse: entries ant and bee have one owner, Ada\n"
    assert not list((tmp_path / "out").glob("x/records/*"))
    # What is done about owners is no part of what decides the results: the same league may go on.
    told = league(tmp_path, "")
    assert told.returncode == 0, told.stderr
    assert "note: entries ant and bee have one owner, Ada, and meet at 1 boards\n" in told.stdout
    assert "3 pairs of tables, 0 done" in told.stdout


def test_a_remote_bots_owner_is_the_one_that_it_was_added_with(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    for name, owner in (("rem", "Ada"), ("other", "Bo")):
        added = subprocess.run(
            [*CHAODIPI, "bot", "add", name, "--owner", owner, "--out", out], capture_output=True, check=False
        )
        assert added.returncode == 0
    path = tmp_path / "league.toml"
    remote = '[[bots]]\nname = "rem"\nremote = true\n[[bots]]\nname = "other"\nremote = true\n'
    path.write_text(f'name = "x"\nruleset = "huanle_1"\nsame_owner = "refuse"\n{BOTS}{remote}')
    command = [*CHAODIPI, "league", "run", str(path), "--out", out]
    refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert refused.returncode == 2
    for pair in ("ant and bee", "ant and rem", "bee and rem"):
        assert f"entries {pair} have one owner" in refused.stderr
    assert "other" not in refused.stderr


def test_another_word_for_it_is_a_mistake_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "league.toml"
    path.write_text(f'name = "x"\nruleset = "huanle_1"\nsame_owner = "forbid"\n{BOTS}')
    with pytest.raises(ConfigError, match=r"league\.toml:3: same_owner = 'forbid': one of report, refuse"):
        load_league(path)
