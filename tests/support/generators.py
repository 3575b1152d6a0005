"""The environments of ``make protos``: the generators, and the oldest runtimes that the SDK supports."""

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType

from tests.support.tools import leave_out

ROOT = Path(__file__).resolve().parents[2]


def generator() -> ModuleType:
    """The script that generates the protocol's code, as a module, with its environments installed."""
    spec = importlib.util.spec_from_file_location("gen_protos", ROOT / "deploy" / "tools" / "gen_protos.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        for pinned in (module.PROTOC, module.PLUGINS):
            module.install(*pinned)
    except (OSError, subprocess.CalledProcessError, SystemExit) as error:
        leave_out("the pinned generators", error)
    return module


def oldest_python() -> Path:
    """The interpreter that sees grpcio 1.62.3 and protobuf 4.25.1, and nothing of this project."""
    tool = generator()
    home: Path = tool.install(*tool.PROTOC)
    return home / "python"
