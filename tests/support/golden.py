"""The golden positions: one file a preset, ``tests/rules/golden/PRESET.jsonl``, one line a question.

A line has ``id``, ``clauses``, ``preset``, ``ask`` (a question to the judge) and ``expect``, the part of the
result that must match.
"""

import json
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "rules" / "golden"


def golden_lines():
    """Every line of every preset, presets in the order of their names."""
    return [json.loads(x) for file in sorted(FOLDER.glob("*.jsonl")) for x in file.read_text("utf-8").splitlines()]
