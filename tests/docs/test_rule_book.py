"""The rule books say what the judge does: examples, preset tables, clause ids, and both books alike."""

from typing import Any

import pytest
from chaodipi.engine.ruleset import KEYS, preset_names, resolve

from tests.support import rule_book
from tests.support.clauses import clauses, is_known, root
from tests.support.golden import ALL, Line, mistakes, report

LANGUAGES = tuple(rule_book.BOOKS)
EXAMPLES = [line for language in LANGUAGES for line in rule_book.examples(language)]
SHOWN = {language: rule_book.preset_table(language) for language in LANGUAGES}


@pytest.mark.parametrize("line", rule_book.played(EXAMPLES), ids=lambda line: f"{line['id']}-{line['preset']}")
def test_example_is_answered_as_printed(line: Line) -> None:
    """The judge answers each example of a played preset as the book does."""
    found = mistakes(line)
    if found:
        pytest.fail(report(line, found), pytrace=False)


WRONG = """
| preset | level | trump | cards | order, highest first |
| --- | --- | --- | --- | --- |
| `ming_chao` | 8 | S | `H5 rj` | `rj > H5` |

| preset | level | trump | cards | one tractor? |
| --- | --- | --- | --- | --- |
| `ming_chao` | 8 | S | `H7 H7 H9 H9` | yes |

| preset | level | trump | cards | pattern |
| --- | --- | --- | --- | --- |
| `ming_chao` | 8 | S | `HA HA` | single `HA` + single `HA` |

| preset | level | trump | thrown | others hold | outcome |
| --- | --- | --- | --- | --- | --- |
| `ming_chao` | 8 | S | `HA HK` | `HK` / – / – | fails: `HK` |

| preset | level | trump | led | hand | legal | illegal |
| --- | --- | --- | --- | --- | --- | --- |
| `ming_chao` | 8 | S | `HA` | `H3 S3` | `S3` | `H3` |

| preset | level | trump | trick | winner |
| --- | --- | --- | --- | --- |
| `ming_chao` | 8 | S | `HA` · `S3` | seat 0 |

| preset | level | trump | winning play | multiplier |
| --- | --- | --- | --- | --- |
| `ming_chao` | 8 | S | `SA SA` | ×2 |

| preset | score | outcome |
| --- | --- | --- |
| `ming_chao` | 40 | dealer side +2 |

| preset | score | each of the dealer side | each catcher |
| --- | --- | --- | --- |
| `ming_chao` | 40 | +3 | −2 |

| preset | dealer side on | catchers on | score | more | stage next | dealer side after | catchers after |
| --- | --- | --- | --- | --- | --- | --- | --- |
| `ming_chao` | 5 | 8 | 40 | | dealer side | 7 | 8 |

```deal
ming_chao, level 8, dealer 0
0 shows D8                refused (OVERCALL_CLOSED)
```

```deal
ming_chao, level 8, dealer 0
0 shows D8
=> trump S
```
"""


def test_a_wrong_answer_is_noticed_in_every_form() -> None:
    """Each of these examples says what the judge does not."""
    lines = rule_book.examples_of(WRONG)

    assert len(lines) == 13
    assert [line["id"] for line in lines if not mistakes(line)] == []


def test_a_misspelt_heading_is_an_error() -> None:
    """A table that names presets cannot drop out of the test unnoticed."""
    with pytest.raises(AssertionError, match="no example has the headings"):
        rule_book.examples_of(WRONG.replace("winner", "winers"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_preset_has_examples(language: str) -> None:
    """No preset is left without a worked example."""
    assert {line["preset"] for line in rule_book.examples(language)} == set(ALL)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("preset", preset_names())
def test_preset_tables_show_the_values(language: str, preset: str) -> None:
    """Each cell of part 3 is the preset's value; a dash stands for a key that the preset has no use for."""
    values = resolve(preset).values()
    cells = {key: row[preset] for key, row in SHOWN[language].items() if preset in row}

    wrong = {
        key: (cell, rule_book.shown_value(values[key]))
        for key, cell in cells.items()
        if cell not in ("–", rule_book.shown_value(values[key]))
    }

    assert wrong == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_difference_has_a_row(language: str) -> None:
    """A key on which two presets differ is in the tables, and every row is a key."""
    values: list[dict[str, Any]] = [resolve(preset).values() for preset in preset_names()]
    differing = {key for key in KEYS if len({str(each[key]) for each in values}) > 1}

    assert differing - set(SHOWN[language]) == set()
    assert set(SHOWN[language]) - set(KEYS) == set()


def test_the_books_have_the_same_rules_and_clauses() -> None:
    """Each numbered rule and each clause id of one book is in the other."""
    texts = [rule_book.read(language) for language in LANGUAGES]

    numbers = [rule_book.RULE_NUMBER.findall(text) for text in texts]
    clauses = [sorted(set(rule_book.CLAUSE.findall(text))) for text in texts]

    assert all(len(set(found)) == len(found) for found in numbers)
    assert [found for found in numbers if found != numbers[0]] == []
    assert [set(found) ^ set(clauses[0]) for found in clauses if found != clauses[0]] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_clause_ids_are_known_and_no_rule_is_left_out(language: str) -> None:
    """Each id is a clause or a decision, and each clause that says what happens stands behind a rule of the book."""
    named = set(rule_book.CLAUSE.findall(rule_book.read(language)))
    behind = {root(name) for name in named if name.startswith("S")}

    assert [name for name in sorted(named) if not is_known(name)] == []
    assert [name for name, clause in clauses().items() if clause.kind in ("rule", "host") and name not in behind] == []
