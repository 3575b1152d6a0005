"""Every situation that a host must stand is shown by a test, and every marker names one."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def listed(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.support.situations", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_every_situation_is_shown_by_a_test() -> None:
    """``make situations`` finds none without a test, and no marker that names another."""
    run = listed()
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    assert "chaos/test_badbots::test_a_bad_bot_gets_its_own_faults_and_nobody_elses_notice[silent]" in run.stdout


def test_what_is_missing_or_unknown_is_named(tmp_path: Path) -> None:
    path = tmp_path / "test_one.py"
    path.write_text("import pytest\n@pytest.mark.situation('T1', 'T99')\ndef test_one(): ...\n")
    run = listed("-c", ROOT / "pyproject.toml", path)
    assert run.returncode == 1
    assert "\nwithout a test: T2, T3, " in run.stdout, run.stdout + run.stderr
    assert "test_one::test_one: T99\n" in run.stdout
