"""The tree can be built, published and moved: one namespace, one version, no trace of the machine it was made on."""

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Mapping
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMESPACES = {
    "proto": ROOT / "proto" / "gen" / "chaodipi",
    "engine": ROOT / "engine" / "src" / "chaodipi",
    "bot_sdk": ROOT / "bot_sdk" / "src" / "chaodipi",
    "service": ROOT / "service" / "src" / "chaodipi",
}
PROJECTS = {
    folder: tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for folder in NAMESPACES
}
# In two parts each, so that this file does not name them itself.
FORBIDDEN = [
    first + last
    for first, last in [
        ("/wor", "k/"),
        ("../sha", "red"),
        ("/tmp/bash_", "jobs"),
        ("index", "-url"),
        ("https://py", "pi"),
        ("file", "s.pythonhosted"),
    ]
]


def tracked_files() -> list[Path]:
    """Every file in the git index that is still there."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.mark.parametrize("folder", NAMESPACES)
def test_the_namespace_is_open_and_typed(folder: str) -> None:
    """No ``chaodipi/__init__.py``, which would hide the other distributions; each package says it is typed."""
    namespace = NAMESPACES[folder]
    assert [path.name for path in namespace.iterdir() if path.is_file()] == []
    packages = [path for path in namespace.iterdir() if path.name != "__pycache__"]
    assert len(packages) == 1
    assert (packages[0] / "__init__.py").is_file()
    assert (packages[0] / "py.typed").read_text() == ""


def test_the_licence_is_mit() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert text.startswith("MIT License\n\nCopyright (c) 2026 The Chao Di Pi authors\n")


def test_no_file_names_a_machine_or_an_index() -> None:
    """Where packages come from, and where this tree lay when it was written, is nobody's business."""
    found = []
    for path in tracked_files():
        text = path.read_bytes().decode("utf-8", "replace")
        # What the lock's own recipe has to say.
        text = text.replace("--no-emit-" + FORBIDDEN[3], "")
        found += [f"{path.relative_to(ROOT)}: {word}" for word in FORBIDDEN if word in text]
    assert found == []


def test_one_version_and_exact_pins_between_the_distributions() -> None:
    """The four are released together, so each asks for exactly the others it was tested with."""
    (version,) = {project["version"] for project in PROJECTS.values()}
    for project in PROJECTS.values():
        ours = [need for need in project["dependencies"] if need.startswith("chaodipi-")]
        assert all(need.endswith(f"=={version}") for need in ours), ours
        assert importlib.metadata.version(project["name"]) == version
    assert PROJECTS["engine"]["dependencies"] == []


def test_the_sdk_asks_for_little() -> None:
    """Health and reflection would force a protobuf runtime on the bot; the server's libraries stay with the server."""
    needs = {need for folder in ("proto", "bot_sdk") for need in PROJECTS[folder]["dependencies"]}
    assert {need for need in needs if not need.startswith("chaodipi-")} == {"grpcio>=1.62.3,<2", "protobuf>=4.25.1,<9"}


@pytest.mark.parametrize("folder", NAMESPACES)
def test_what_is_declared_is_what_is_imported(folder: str) -> None:
    """Nobody installs a library that nothing imports, or misses one that something does."""
    providers = importlib.metadata.packages_distributions()
    declared = {re.split(r"[\[<>=~! ]", need)[0].lower() for need in PROJECTS[folder]["dependencies"]}
    imported = set()
    for path in NAMESPACES[folder].rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            tops = {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"chaodipi"}
            imported |= {re.sub(r"[_.]", "-", provider.lower()) for top in tops for provider in owners(providers, top)}
    assert {name for name in declared if not name.startswith("chaodipi-")} == imported


def owners(providers: Mapping[str, list[str]], top: str) -> list[str]:
    """Who ships the package *top*; ``google`` is a namespace that protobuf shares with others."""
    return ["protobuf"] if top == "google" else sorted(set(providers[top]))


def test_the_lock_has_a_hash_for_each_pin() -> None:
    for lock in (ROOT / "deploy").glob("requirements-*.txt"):
        entries = lock.read_text().replace("\\\n", " ").splitlines()
        for entry in (line for line in entries if line and not line.lstrip().startswith("#")):
            assert "==" in entry, f"{lock.name}: {entry}"
            assert "--hash=sha256:" in entry, f"{lock.name}: {entry}"


@pytest.mark.packaging
def test_a_bot_author_gets_the_sdk_and_not_the_server(tmp_path: Path) -> None:
    """The three wheels of a bot, and what they declare to need, are enough to import the SDK."""
    wheels = tmp_path / "wheels"
    sources = [str(ROOT / folder) for folder in ("proto", "engine", "bot_sdk")]
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(wheels)]
    subprocess.run([*build, *sources], check=True, cwd=tmp_path)

    home = tmp_path / "venv"
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    (site,) = home.glob("lib/python*/site-packages")
    versions = set()
    for wheel in wheels.iterdir():
        with zipfile.ZipFile(wheel) as archive:
            assert {name.split("/")[0] for name in archive.namelist() if ".dist-info/" not in name} == {"chaodipi"}
            (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            versions.add(Parser().parsestr(archive.read(metadata).decode())["Version"])
            (licence,) = (name for name in archive.namelist() if name.endswith(".dist-info/licenses/LICENSE"))
            assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
            assert any(name.endswith("/py.typed") for name in archive.namelist()), wheel.name
            archive.extractall(site)
    assert versions == {PROJECTS["bot_sdk"]["version"]}

    # The declared dependencies, taken from this environment: no download.
    for name in ("grpcio", "protobuf", "typing_extensions"):
        files = importlib.metadata.files(name) or []
        for top in {file.parts[0] for file in files if file.parts[0] != ".."}:
            (site / top).symlink_to(importlib.metadata.distribution(name).locate_file(top))
    script = """
import importlib.util, pkgutil, chaodipi.engine, chaodipi.sdk, chaodipi.v1
for module in pkgutil.walk_packages(chaodipi.sdk.__path__, "chaodipi.sdk."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
assert importlib.util.find_spec("chaodipi.service") is None
assert importlib.util.find_spec("sqlalchemy") is None
"""
    subprocess.run([python, "-I", "-W", "error", "-c", script], check=True, cwd=tmp_path)
