"""A league's plan as JSON, without secrets: what the store keeps, so that any process can say who meets whom."""

import json
from collections.abc import Mapping

from chaodipi.engine.ruleset import ruleset_of
from chaodipi.service.boards.board import Secrets
from chaodipi.service.match.clock import TimeControl
from chaodipi.service.scheduler.schedule import Entry, Plan

__all__ = ["labels_from_json", "plan_from_json", "plan_to_json"]


def plan_to_json(plan: Plan, labels: Mapping[str, str] | None = None) -> str:
    """*plan* without its name and its secrets, and the organiser's *labels*."""
    ruleset = plan.ruleset
    return json.dumps(
        {
            "ruleset": {"name": ruleset.name, "values": ruleset.values()},
            "entries": [[entry.name, *entry.bots] for entry in plan.entries],
            "boards": plan.boards,
            "shared": plan.shared,
            "time": (plan.time or TimeControl.of(ruleset)).as_json(),
            "mode": plan.mode,
            "labels": dict(sorted((labels or {}).items())),
        },
        separators=(",", ":"),
    )


def plan_from_json(league: str, text: str) -> Plan:
    """
    The plan of *league*, its secrets empty: who meets whom does not depend on them, cards and first drawers do.

    Raises:
        EngineError, TimeControlError: values of another version.
    """
    said = json.loads(text)
    return Plan(
        league=league,
        ruleset=ruleset_of(said["ruleset"]["name"], said["ruleset"]["values"]),
        entries=tuple(Entry(name, (one, two)) for name, one, two in said["entries"]),
        boards=said["boards"],
        secrets=Secrets(b"", tuple(b"" for _ in said["entries"])),
        time=TimeControl(**said["time"]),
        shared=said["shared"],
        mode=said["mode"],
    )


def labels_from_json(text: str) -> dict[str, str]:
    """The organiser's labels beside the plan."""
    labels: dict[str, str] = json.loads(text)["labels"]
    return labels
