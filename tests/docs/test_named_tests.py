"""A page that names a test as its evidence names one that there is."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
PAGES = [page for page in sorted(ROOT.glob("docs/*.md")) if NAMED.search(page.read_text())]


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("page", [page.name for page in PAGES])
def test_every_named_test_is_there(page: str) -> None:
    for file, name in NAMED.findall((ROOT / "docs" / page).read_text()):
        assert (ROOT / file).is_file(), file
        assert not name or name in functions(ROOT / file), f"{file}::{name}"


def test_the_transports_page_names_tests() -> None:
    assert len(NAMED.findall((ROOT / "docs/transport.md").read_text())) > 10
