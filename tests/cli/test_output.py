"""What is said may be lost, what is done is not: screens that are full, gone, closed or of few characters."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CHAODIPI = [sys.executable, "-c", "from chaodipi.service.cli import main; main()"]
LEAGUE = """\
name = "x"
ruleset = "huanle_2"
boards = 3
seed = "s"
tables_in_flight = 4
[[bots]]
name = "good"
baseline = "greedy"
[[bots]]
name = "low"
baseline = "random"
"""
DESCRIPTORS = {"stdin": 0, "stdout": 1, "stderr": 2}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a league that was played with a good screen."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "x.toml").write_text(LEAGUE)
    done = chaodipi(folder, "league", "run", "x.toml")
    assert done.returncode == 0, done.stderr
    assert chaodipi(folder, "bot", "add", "zed").returncode == 0
    return folder


def chaodipi(folder, *arguments, **more):
    options = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
        "check": False,
        "timeout": 120,
    } | more
    return subprocess.run([*CHAODIPI, *arguments], cwd=folder, **options)


def results(folder):
    found = json.loads((folder / "out/x/results.json").read_text())
    del found["timing"]
    return found


def closed(*names):
    """For a child process: as in ``>&-``."""
    return lambda: [os.close(DESCRIPTORS[name]) for name in names]


def gone():
    """A pipe whose reader went away."""
    reader, writer = os.pipe()
    os.close(reader)
    return os.fdopen(writer, "w")


@pytest.mark.situation("T15")
@pytest.mark.parametrize("screen", ["full", "gone", "closed", "all closed"])
def test_a_league_is_played_to_its_end_whatever_becomes_of_its_screen(tmp_path, whole, screen):
    """Its exit code speaks of the league; nothing that was meant for the screen lands in a file of the league's."""
    (tmp_path / "x.toml").write_text(LEAGUE)
    with contextlib.ExitStack() as files:
        more = {}
        if screen == "full":
            more = dict.fromkeys(("stdout", "stderr"), files.enter_context(open("/dev/full", "w")))
        elif screen == "gone":
            more = {"stdout": files.enter_context(gone())}
        else:
            names = DESCRIPTORS if screen == "all closed" else ["stdout"]
            more = dict.fromkeys(set(names) - {"stdin"}) | {"preexec_fn": closed(*names)}
        done = chaodipi(tmp_path, "league", "run", "x.toml", **more)
    assert (done.returncode, done.stderr or "") == (0, "")
    assert results(tmp_path) == results(whole)
    records = sorted((tmp_path / "out/x/records").glob("*.jsonl"))
    assert len(records) == 6
    assert [path.read_bytes() for path in records] == [
        path.read_bytes() for path in sorted((whole / "out/x/records").glob("*.jsonl"))
    ]
    for line in (tmp_path / "out/x/host.log").read_text().splitlines():
        json.loads(line)


@pytest.mark.parametrize(
    "arguments",
    [
        ("league", "standings"),
        ("bot", "list", "--json"),
        ("rules", "list"),
        ("bot", "rotate", "zed"),
        ("replay", "show"),
    ],
    ids=" ".join,
)
def test_an_answer_that_cannot_be_written_is_one_line_and_exit_code_2(whole, arguments):
    more = [str(min((whole / "out/x/records").glob("*.jsonl")))] if arguments == ("replay", "show") else []
    with open("/dev/full", "w") as full:
        done = chaodipi(whole, *arguments, *more, stdout=full)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr
    if "rotate" in arguments:  # the token is nowhere else
        assert done.stderr.endswith("; chaodipi bot rotate zed gives another one\n")


@pytest.mark.situation("T15")
@pytest.mark.parametrize("arguments", [("league", "standings"), ("rules", "list"), ("replay", "show")], ids=" ".join)
def test_a_reader_that_has_seen_enough_is_no_mistake(whole, arguments):
    """As in ``chaodipi rules list | head -1``."""
    more = [str(path) for path in (whole / "out/x/records").glob("*.jsonl")] if arguments == ("replay", "show") else []
    with gone() as pipe:
        done = chaodipi(whole, *arguments, *more, stdout=pipe)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_screen_without_some_characters_shows_the_others(whole):
    done = chaodipi(whole, "league", "standings", env=dict(os.environ, PYTHONIOENCODING="ascii"))
    assert done.returncode == 0, done.stderr
    assert " ? " in done.stdout


def test_results_that_cannot_be_written_are_said_and_written_by_the_same_command_later(tmp_path, whole):
    """A folder stands where the file goes; the table of results was shown before."""
    (tmp_path / "x.toml").write_text(LEAGUE)
    place: Path = tmp_path / "out/x/results.json"
    place.mkdir(parents=True)
    done = chaodipi(tmp_path, "league", "run", "x.toml")
    assert done.returncode == 2
    assert done.stderr == (
        "chaodipi: out/x/results.json cannot be written: Is a directory; "
        "what was played is in the store, and the same command writes it from there\n"
    )
    assert "x, by points" in done.stdout
    place.rmdir()
    again = chaodipi(tmp_path, "league", "run", "x.toml")
    assert (again.returncode, again.stderr) == (0, "")
    assert "3 pairs of tables, 3 done" in again.stdout
    assert results(tmp_path) == results(whole)
    assert not list(place.parent.glob("*.part"))
