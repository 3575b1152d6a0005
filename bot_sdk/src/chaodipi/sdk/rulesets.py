"""The ruleset of a match, as the host names it: a preset, or all values of a custom one."""

import json

from chaodipi.engine.errors import RulesetError
from chaodipi.engine.ruleset import Ruleset, resolve, ruleset_of
from chaodipi.v1 import match_pb2

__all__ = ["ruleset_from_match"]


def ruleset_from_match(match: match_pb2.Match) -> Ruleset:
    """
    The ruleset that *match* is played by, with the digest that the host states.

    Raises:
        RulesetError: this SDK knows no such preset, key or value, or it gives the preset other values; the
            versions of host and SDK differ.
    """
    name = match.ruleset.removeprefix("rulesets/")
    if match.ruleset_values:
        try:
            values = {key: json.loads(text) for key, text in match.ruleset_values.items()}
        except ValueError as error:
            raise RulesetError(f"ruleset {name}: a value is no JSON: {error}", "ruleset_values") from error
        ruleset = ruleset_of(name, values)
    else:
        ruleset = resolve(name)
    if match.ruleset_digest not in ("", ruleset.digest):
        raise RulesetError(f"ruleset {name} has other values here than at the host", "ruleset")
    return ruleset
