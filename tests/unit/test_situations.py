"""Every situation that a host must stand is shown by a test, and every marker names one."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import situations

ROOT = Path(__file__).parents[2]


def listed(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.support.situations", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


IDS = [*(f"T{number}" for number in range(1, 16)), *"abcdefg"]


def test_no_situation_is_left_out_of_the_table() -> None:
    assert [*situations.SITUATIONS] == IDS


def test_every_situation_is_shown_by_a_test() -> None:
    """``make situations`` finds none without a test, and no marker that names another."""
    run = listed()
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    assert "chaos/test_badbots::test_a_bad_bot_gets_its_own_faults_and_nobody_elses_notice[silent]" in run.stdout


@pytest.mark.parametrize("name", situations.SITUATIONS)
def test_a_situation_without_a_test_is_missed(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    collector = situations.Collector()
    for other in situations.SITUATIONS.keys() - {name}:
        collector.shown[other].append("a test")
    monkeypatch.setattr(situations, "collect", lambda paths: collector)
    assert situations.main([]) == 1
    assert f"without a test: {name}\n" in capsys.readouterr().out


def test_what_is_missing_or_unknown_is_named(tmp_path: Path) -> None:
    path = tmp_path / "test_one.py"
    path.write_text("import pytest\n@pytest.mark.situation('T1', 'T99')\ndef test_one(): ...\n")
    run = listed("-c", ROOT / "pyproject.toml", path)
    assert run.returncode == 1
    assert "\nwithout a test: T2, T3, " in run.stdout, run.stdout + run.stderr
    assert "test_one::test_one: T99\n" in run.stdout
