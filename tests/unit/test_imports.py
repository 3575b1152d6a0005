"""Who may import whom: ``make lint`` checks the contracts in ``pyproject.toml``; a breach would be noticed."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
SOURCES = {
    "chaodipi.engine": "engine/src",
    "chaodipi.sdk": "bot_sdk/src",
    "chaodipi.service": "service/src",
}


def imports_of(path: Path) -> set[str]:
    """Every absolute module name that the file imports, at any depth."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module)
    return found


def test_the_engine_imports_only_the_standard_library() -> None:
    """The contracts name what is forbidden; this is the other way round, so that nothing is forgotten."""
    for path in (ROOT / SOURCES["chaodipi.engine"]).rglob("*.py"):
        for name in imports_of(path):
            inside = name == "chaodipi.engine" or name.startswith("chaodipi.engine.")
            assert inside or name.split(".")[0] in sys.stdlib_module_names, f"{path.name} imports {name}"


@pytest.mark.parametrize(
    ("package", "planted", "contract"),
    [
        ("chaodipi.engine", "import random", "engine"),
        ("chaodipi.engine", "from chaodipi.v1 import cards_pb2", "engine"),
        ("chaodipi.engine", "import chaodipi.sdk", "distributions"),
        ("chaodipi.sdk", "import chaodipi.service", "sdk"),
        ("chaodipi.service.match", "import time", "match"),
        ("chaodipi.service.boards", "import secrets", "match"),
        ("chaodipi.service.match", "import chaodipi.service.scheduler", "service"),
        ("chaodipi.service.host", "import chaodipi.service.rpc", "service"),
        ("chaodipi.service.host", "import grpc", "wire"),
        ("chaodipi.service.records", "from chaodipi.v1 import match_pb2", "wire"),
        ("chaodipi.service.scheduler", "import sqlalchemy", "database"),
    ],
)
def test_a_forbidden_import_breaks_its_contract(tmp_path: Path, package: str, planted: str, contract: str) -> None:
    """One line in one new file is enough, and only with it."""
    top = ".".join(package.split(".")[:2])
    source = tmp_path / "src"
    shutil.copytree(ROOT / SOURCES[top], source, ignore=shutil.ignore_patterns("__pycache__"))
    command = [BIN / "lint-imports", ROOT / "pyproject.toml", "--no-cache", "--no-logo", "--contract", contract]

    def lint() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(source)}, capture_output=True, text=True
        )

    before = lint()
    assert before.returncode == 0, before.stdout
    source.joinpath(*package.split("."), "planted.py").write_text(planted + "\n")
    after = lint()
    assert after.returncode == 1, after.stdout
    assert f"{package}.planted" in after.stdout
