"""Make `.venv` hold exactly what the lock says, and the workspace in editable form; quick when it does.

Standard library only, since it runs before anything is installed. A stamp in `.venv` holds the
hash of everything the environment depends on; while it matches, nothing is done.
"""

import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
LOCK = ROOT / "deploy" / "requirements-dev.txt"
DISTRIBUTIONS = ("proto", "engine", "bot_sdk", "service")


def stamp() -> str:
    """Hash of the lock, the packaging files, this script and the interpreter's version."""
    digest = hashlib.sha256(sys.version.encode())
    for path in [LOCK, Path(__file__), *(ROOT / name / "pyproject.toml" for name in DISTRIBUTIONS)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def run(*command: str) -> None:
    if subprocess.run(command, cwd=ROOT).returncode != 0:
        sys.exit(f"setup: failed: {' '.join(command)}")


def main() -> None:
    if sys.version_info < (3, 11):
        sys.exit(f"setup: Python 3.11 or newer is needed, this is {sys.version.split()[0]}")
    marker = VENV / "stamp"
    wanted = stamp()
    if marker.exists() and marker.read_text() == wanted:
        return
    if VENV.exists():
        shutil.rmtree(VENV)
    venv.create(VENV, with_pip=True)
    pip = (str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "-q", "install")
    run(*pip, "--require-hashes", "--only-binary=:all:", "-r", str(LOCK))
    editable = [part for name in DISTRIBUTIONS for part in ("-e", f"./{name}")]
    run(*pip, "--no-deps", "--no-build-isolation", *editable)
    marker.write_text(wanted)


if __name__ == "__main__":
    main()
