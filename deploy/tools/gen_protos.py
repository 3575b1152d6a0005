"""Generate the Python code of ``chaodipi.v1`` from its .proto files: ``make protos``.

The generators are pinned and live in two environments of their own under ``.cache/protos``: their protobuf
runtimes exclude each other and the one this project runs on. The first call installs them.
"""

import argparse
import fcntl
import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROTO = ROOT / "proto"
CACHE = ROOT / ".cache" / "protos"
PROTOC = ("protoc", ROOT / "deploy" / "requirements-protos.txt")
PLUGINS = ("mypy", ROOT / "deploy" / "requirements-protos-mypy.txt")
# The pinned grpcio-tools has no wheel for a later Python.
PYTHON_VERSIONS = ("3.11", "3.12")
INIT = '''"""Messages and gRPC stubs of the protobuf package ``chaodipi.v1``; written by ``make protos``."""
'''


def find_python() -> str:
    """Return an interpreter that the pinned generators have wheels for."""
    if f"{sys.version_info[0]}.{sys.version_info[1]}" in PYTHON_VERSIONS:
        return sys.executable
    for version in PYTHON_VERSIONS:
        if found := shutil.which(f"python{version}"):
            return found
    raise SystemExit("make protos: the generators need Python 3.11 or 3.12, and neither is on PATH")


def install(name: str, lock: Path) -> Path:
    """Return the ``bin`` folder of the environment *name*, made anew if its lock has changed."""
    home = CACHE / name
    marker = home / "stamp"
    wanted = hashlib.sha256(lock.read_bytes() + str(home).encode()).hexdigest()
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not marker.exists() or marker.read_text() != wanted:
            print(f"make protos: installing {lock.name} into {home.relative_to(ROOT)} ...", flush=True)
            python = find_python()
            subprocess.run([python, "-m", "venv", "--clear", str(home)], check=True)
            pip = [str(home / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
            subprocess.run([*pip, "--require-hashes", "--only-binary=:all:", "-r", str(lock)], check=True)
            marker.write_text(wanted)
    return home / "bin"


def generate(out: Path) -> None:
    """Write the package ``chaodipi.v1`` below *out*; what was there before goes."""
    sources = sorted(PROTO.glob("chaodipi/v1/*.proto"))
    if not sources:
        raise SystemExit("make protos: no .proto file in proto/chaodipi/v1")
    protoc, plugins = install(*PROTOC), install(*PLUGINS)
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(
            [
                str(protoc / "python"),
                *("-m", "grpc_tools.protoc"),
                f"--plugin=protoc-gen-mypy={plugins / 'protoc-gen-mypy'}",
                f"--plugin=protoc-gen-mypy_grpc={plugins / 'protoc-gen-mypy_grpc'}",
                f"--proto_path={PROTO}",
                f"--python_out={scratch}",
                f"--grpc_python_out={scratch}",
                f"--mypy_out=quiet:{scratch}",
                f"--mypy_grpc_out=quiet:{scratch}",
                *(str(source.relative_to(PROTO)) for source in sources),
            ],
            check=True,
        )
        made = Path(scratch) / "chaodipi" / "v1"
        (made / "__init__.py").write_text(INIT)
        (made / "py.typed").touch()
        for stub in made.glob("*_pb2_grpc.py"):
            if not any(line.startswith("class ") for line in stub.read_text().splitlines()):
                # A file without a service makes an empty module.
                stub.unlink()
                stub.with_suffix(".pyi").unlink(missing_ok=True)
        target = out / "chaodipi" / "v1"
        target.mkdir(parents=True, exist_ok=True)
        for old in target.iterdir():
            if old.is_dir():
                shutil.rmtree(old)
            else:
                old.unlink()
        for new in made.iterdir():
            shutil.copyfile(new, target / new.name)


def main() -> None:
    """Generate into the tree, or elsewhere with ``--out``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=PROTO / "gen", help="folder that gets chaodipi/v1")
    try:
        generate(parser.parse_args().out)
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"make protos: failed (exit {error.returncode}): {error.cmd[0]}") from None


if __name__ == "__main__":
    main()
