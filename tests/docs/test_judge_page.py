"""The pages about the judge say what the judge does."""

import json
import re
from pathlib import Path

import pytest
from chaodipi.engine.judge import OPERATIONS, answer
from chaodipi.engine.reasons import REASONS

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = re.findall(r"```json\n(.*?)```", (DOCS / "judge.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: json.loads(block.splitlines()[0])["op"])
def test_example_is_answered_as_printed(block: str) -> None:
    """Each question on the page gets the answer printed below it."""
    question, *printed = [json.loads(line) for line in block.splitlines()]

    got = answer(question)

    assert [json.loads(json.dumps(got))] == printed or (not printed and got["ok"])


def test_every_operation_has_an_example() -> None:
    """No operation is undocumented."""
    assert {json.loads(block.splitlines()[0])["op"] for block in BLOCKS} == set(OPERATIONS)


def test_every_reason_is_on_its_page() -> None:
    """docs/errors.md lists the engine's reasons with their meaning, word for word."""
    page = (DOCS / "errors.md").read_text()

    assert [name for name, meaning in REASONS.items() if f"| `{name}` | {meaning} |" not in page] == []
