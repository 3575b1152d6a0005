"""
Make the virtual environment of this checkout, or leave it alone if it is current.

Needs Python 3.11 or newer and nothing but the standard library. The environment is
current when ``.venv/stamp`` equals the hash over everything that decides what is in it:
the lock, the project files, this script and the Python version.

Syntax that Python 3.6 can parse, so that an old interpreter gets the message, not a
SyntaxError.
"""

import hashlib
import os
import subprocess
import sys
import venv

OLDEST_PYTHON = (3, 11)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOCK = "deploy/requirements-dev.txt"
DISTRIBUTIONS = ["proto", "engine", "bot_sdk", "service"]


def stamp():
    """Return the hash that a current environment carries."""
    digest = hashlib.sha256(repr(sys.version_info[:3]).encode())
    names = [LOCK, "deploy/tools/setup_env.py"]
    for name in names + [d + "/pyproject.toml" for d in DISTRIBUTIONS]:
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(name.encode() + b"\0" + file.read() + b"\0")
    # Editable installs and scripts name the folder, so a moved checkout is a new one.
    digest.update(ROOT.encode())
    return digest.hexdigest()


def pip(python, *arguments):
    """Run pip in the new environment, quietly; end the program if it fails."""
    command = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    environment = dict(os.environ, PIP_ROOT_USER_ACTION="ignore")
    code = subprocess.call(command + list(arguments), cwd=ROOT, env=environment)
    if code:
        sys.exit(f"make setup: pip failed (exit {code}) on: pip install {' '.join(arguments)}")


def main():
    """Bring ``.venv`` up to date."""
    if sys.version_info < OLDEST_PYTHON:
        version = ".".join(str(part) for part in sys.version_info[:3])
        sys.exit(f"make setup: Python 3.11 or newer is needed, this is {version} ({sys.executable})")
    home = os.path.join(ROOT, ".venv")
    marker = os.path.join(home, "stamp")
    wanted = stamp()
    try:
        with open(marker) as file:
            if file.read().strip() == wanted:
                return
    except OSError:
        pass
    print("make setup: installing into .venv (about a minute) ...", flush=True)
    try:
        venv.create(home, clear=True, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"make setup: cannot create .venv: {error} (on Debian, is python3-venv installed?)")
    python = os.path.join(home, "Scripts" if os.name == "nt" else "bin", "python")
    pip(python, "--require-hashes", "--only-binary=:all:", "-r", LOCK)
    editable = [word for name in DISTRIBUTIONS for word in ("-e", "./" + name)]
    pip(python, "--no-deps", "--no-build-isolation", *editable)
    with open(marker, "w") as file:
        file.write(wanted + "\n")


if __name__ == "__main__":
    main()
