"""Custom rulesets: a TOML file that names a base preset and replaces single values.

::

    name = "long"             # of the new ruleset
    base = "huanle_2"         # a preset

    [values]                  # keys and values as `chaodipi rules show` lists them
    two_permanent = true
    ladder = ["single", "D", "C", "H", "S", "bj", "rj"]
"""

import re
from dataclasses import dataclass
from pathlib import Path

from chaodipi.engine.errors import RulesetError
from chaodipi.engine.ruleset import Ruleset, check_playable, preset_names, resolve
from chaodipi.service.config import TomlFile

__all__ = ["RuleFile", "find_ruleset", "load_rule_file"]

_TOP: dict[str, type] = {"name": str, "base": str, "values": dict}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+]{0,31}")


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A checked ruleset file: the preset that it starts from, and what it makes of it."""

    base: Ruleset
    ruleset: Ruleset


def load_rule_file(path: Path) -> RuleFile:
    """
    Read and check a custom ruleset.

    Raises:
        ConfigError: the first mistake, with its line, key, value and what is allowed; the organiser's.
    """
    file = TomlFile(path)
    top = file.take(file.values, _TOP)
    for key in ("name", "base"):
        if key not in top:
            raise file.error(f"{key} is missing", key)
    name = top["name"]
    if not _NAME.fullmatch(name):
        raise file.error(f"name = {name!r}: letters, digits, '_', '.', '+', at most 32", "name")
    if name in preset_names():
        raise file.error(f"name = {name!r} is a preset's", "name")
    try:
        base = resolve(top["base"])
    except RulesetError as error:
        raise file.error(error.message, "base") from error
    try:
        ruleset = base.override(top.get("values", {}), name)
        check_playable(ruleset)
    except RulesetError as error:
        raise file.error(error.message, error.key, "values") from error
    return RuleFile(base, ruleset)


def find_ruleset(text: str, folder: Path = Path()) -> Ruleset:
    """
    The preset *text*, or the ruleset of a file if it ends in ``.toml``; relative paths start at *folder*.

    Raises:
        RulesetError: no such preset; the message lists them.
        ConfigError: a mistake in the file.
    """
    return load_rule_file(folder / text).ruleset if text.endswith(".toml") else resolve(text)
