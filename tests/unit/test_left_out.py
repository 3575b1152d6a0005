"""What a run did not check, because a program of the machine is missing, is named; CI leaves nothing out."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NEEDS_NODE = "tests/league/test_schedule.py::test_vector_in_javascript"


def run_without_programs(folder: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    """Run the test that needs node, where PATH has nothing."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", NEEDS_NODE],
        cwd=ROOT,
        env={"PATH": str(folder)} | more,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_test_without_its_program_is_left_out_and_named(tmp_path: Path) -> None:
    done = run_without_programs(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "left out because a tool is missing" in done.stdout
    assert f"{NEEDS_NODE}: node" in done.stdout


def test_ci_leaves_nothing_out(tmp_path: Path) -> None:
    """`.ci/run` sets the variable that makes leaving out a failure."""
    assert "export CHAODIPI_REQUIRE_ALL=1" in (ROOT / ".ci" / "run").read_text()
    done = run_without_programs(tmp_path, CHAODIPI_REQUIRE_ALL="1")
    assert done.returncode == 1
    assert "CHAODIPI_REQUIRE_ALL is set, but node is missing" in done.stdout
