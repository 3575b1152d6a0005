"""What the README shows is true: the bot plays, the league file loads, the commands exist."""

import re
from pathlib import Path
from typing import Any

from chaodipi.sdk import Bot, play_local
from chaodipi.service.cli.app import app
from chaodipi.service.rulefile import load_rule_file
from chaodipi.service.scheduler.league_file import _BOT, _LIMITS, _TEAM, _TOP, load_league
from typer.main import get_command

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def _block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)
    assert found
    return found[1]


def test_the_bot_of_20_lines_plays_legally() -> None:
    """The bot plays whole deals in both presets without an illegal action (strict raises)."""
    names: dict[str, Any] = {"__name__": "mybot"}
    exec(_block("python"), names)
    mine = names["Mine"]
    assert issubclass(mine, Bot)

    for preset in ("ming_chao", "huanle_2"):
        assert play_local(preset, (mine, Bot), 2, 1, strict=True).mean is not None


def test_the_league_file_loads(tmp_path: Path) -> None:
    """The league file is accepted as it stands."""
    path = tmp_path / "spring.toml"
    path.write_text(_block("toml"))

    league = load_league(path)

    assert (league.boards, [bot.name for bot in league.bots]) == (4, ["greedy", "rules", "cautious"])


def test_the_league_file_of_its_page_loads_and_names_every_key(tmp_path: Path) -> None:
    """docs/leagues.md shows a file that is accepted, with each key and table there is and the values left out."""
    page = (ROOT / "docs" / "leagues.md").read_text()
    found = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert found
    path = tmp_path / "league.toml"
    path.write_text(found[1])
    league = load_league(path)
    assert [entry.name for entry in league.entries] == ["alpha+beta", "gamma+delta"]

    shown = set(re.findall(r"^(?:# )?(\w+) = |^\[+(\w+)\]", found[1], re.MULTILINE))
    known = {*_TOP, *_BOT, *_TEAM}
    assert known - {key or table for key, table in shown} == set()
    assert all(f"`{key}`" in page for key in _LIMITS)

    path.write_text(
        'name = "x"\nruleset = "ming_chao"\nbots = [{name = "a", remote = true}, {name = "b", remote = true}]'
    )
    least = load_league(path)
    for key in ("boards", "rank_by", "shared_boards", "mode", "tables_in_flight", "restarts", "same_owner"):
        assert getattr(league, key) == getattr(least, key), key


def test_the_ruleset_file_of_its_page_loads(tmp_path: Path) -> None:
    """docs/rulesets.md shows a file that is accepted as it stands."""
    found = re.search(r"```toml\n(.*?)```", (ROOT / "docs" / "rulesets.md").read_text(), re.DOTALL)
    assert found
    path = tmp_path / "house.toml"
    path.write_text(found[1])

    assert load_rule_file(path).ruleset.two_permanent


def test_the_commands_exist() -> None:
    """Every `chaodipi …` command of the README and the docs is one."""
    root: Any = get_command(app)
    pages = [README, *(page.read_text() for page in (ROOT / "docs").glob("*.md"))]
    lines = [line for page in pages for line in re.findall(r"^chaodipi ([a-z ]+)", page, re.MULTILINE)]
    assert lines

    for line in lines:
        command = root
        for word in line.split():
            if not hasattr(command, "commands"):
                break
            assert word in command.commands, line
            command = command.commands[word]


def test_the_links_lead_somewhere() -> None:
    """Relative links of README and docs name files of the tree."""
    for page in [*ROOT.glob("README*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_chinese_readme_shows_and_leads_to_the_same() -> None:
    """README.zh-CN.md has the code, files, commands and links of README.md; each links to the other."""
    chinese = (ROOT / "README.zh-CN.md").read_text("utf-8")
    blocks = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)

    def targets(text: str) -> set[str]:
        return set(re.findall(r"\]\(([^)]+)\)", text)) - {"README.md", "README.zh-CN.md", "docs/RULES.md"}

    assert blocks.findall(chinese) == blocks.findall(README)
    assert targets(chinese) == targets(README)
    assert "(README.zh-CN.md)" in README and "(README.md)" in chinese


def test_the_fragments_are_headings() -> None:
    """Links into the same page name a heading of it, as GitHub writes its anchor."""
    for page in (ROOT / "docs").glob("*.md"):
        text = page.read_text("utf-8")
        headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= anchors, page.name
