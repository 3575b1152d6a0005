"""Questions that cannot be read are answered by the field, never with a traceback and never by a guess."""

import json
import random
from typing import Any

import pytest
from chaodipi.engine.judge import OPERATIONS, answer, answer_line

LEVELS = {"02": "8", "13": "8"}
PLAY = {"op": "play", "ruleset": "ming_chao", "levels": LEVELS, "dealer": 0}
CARDS = {"ruleset": "ming_chao", "level": "8", "trump": "S"}
SETTLE = {
    "op": "settle",
    "ruleset": "ming_chao",
    "dealer": 0,
    "score": 90,
    "positions": {"dealer": "8", "catchers": "8"},
}
FROM = {"phase": "play", "trump": "S"}
LEAD = [0, "play", "S9 S9"]

MALFORMED: list[tuple[str, dict[str, Any]]] = [
    ("hands", PLAY | {"hands": {"0": "S9 S9", "1": "S2"}, "from": FROM, "actions": [LEAD, [1, "play", "S2"]]}),
    ("hands", PLAY | {"hands": {"0": "SA S2"}, "from": FROM, "actions": [[0, "play", "SA"], [1, "timeout"]]}),
    ("hands", PLAY | {"hands": {"01": "S8 S8"}, "actions": []}),
    ("actions", PLAY | {"hands": {"1": "S8 S8"}, "actions": [[1, "declare", "S8 S8", 5]]}),
    ("actions", PLAY | {"hands": {"1": "S8 S8"}, "actions": [[1, "pass", "S8"]]}),
    ("zzz", PLAY | {"hands": {"0": "S8"}, "from": FROM, "actions": [[0, "play", "S8", {"zzz": 1}]]}),
    ("cards", PLAY | {"hands": {"0": "SA SA"}, "from": FROM, "actions": [[0, "play", "DA"]]}),
    ("trump", PLAY | {"hands": {"0": "SA"}, "from": {"phase": "play"}, "actions": []}),
    ("tricks_left", PLAY | {"hands": {}, "from": FROM | {"tricks_left": 0}, "actions": []}),
    ("on_stage", PLAY | {"hands": {}, "on_stage": ["02"], "actions": []}),
    ("positions", SETTLE | {"positions": {"dealer": {"level": "8", "released": 5}, "catchers": "8"}}),
    ("positions", SETTLE | {"positions": {"dealer": {"level": "8", "flag": True}, "catchers": "8"}}),
    ("trump", SETTLE | {"winner_side": "catchers", "last_play": "H5 HT HK"}),
    ("winner_side", SETTLE | {"last_play": "DJ", "trump": "S"}),
    ("last_play", SETTLE | {"winner_side": "catchers", "last_play": "D5 CT", "trump": "S"}),
    ("games", {"op": "match", "ruleset": "ming_chao", "games": {"02": "1", "13": 0}}),
    ("others", CARDS | {"op": "lead", "hand": "HA", "cards": "HA"}),
    ("others", CARDS | {"op": "lead", "hand": "HA HA", "cards": "HA HA", "others": ["HA", "", ""]}),
    ("plays", CARDS | {"op": "trick", "plays": ["HA", "HA", "HA"]}),
    ("hand", CARDS | {"op": "follow", "lead": "HA HA", "hand": "HA H2", "cards": "HA H2"}),
    ("play", CARDS | {"op": "dig", "play": "SA D3", "bottom": ""}),
    ("flag", CARDS | {"op": "sort", "flag": True, "cards": "SA"}),
    ("op", {"op": "deal"}),
    ("ruleset", {"op": "ruleset", "ruleset": "ming"}),
]  # fmt: skip


@pytest.mark.parametrize(("field", "question"), MALFORMED)
def test_malformed_questions_name_the_field(field: str, question: dict[str, Any]) -> None:
    """ok is false, and the field is the one that is wrong."""
    got = answer(question)

    assert not got["ok"]
    assert got["error"]["field"] == field


def test_a_refused_bury_does_not_close_the_window() -> None:
    """Refused actions change nothing: neither another seat's burying nor a wrong number of cards."""
    hands = {"0": "S2 S3 S8", "1": "S8", "2": "S2 S3"}
    actions = [[1, "declare", "S8"], [2, "bury", "S2 S3"], [0, "bury", "S2 S3"]]

    got = answer(PLAY | {"hands": hands, "bottom": "C2 C3 C4 C6 C7 C9 CJ CQ", "actions": actions})["result"]

    assert [line["accepted"] for line in got["results"]] == [True, False, False]
    assert got["phase"] == "declare"


def test_a_time_out_of_another_seat_is_out_of_turn() -> None:
    """Nobody but the seat that is asked can run out of time."""
    hands = {"0": "SA SA", "1": "S3 S4", "3": "S3"}

    got = answer(PLAY | {"hands": hands, "from": FROM, "actions": [[0, "play", "SA SA"], [3, "timeout"]]})["result"]

    assert got["results"][1]["reason"] == "NOT_YOUR_TURN"


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[" * 100_000,
        '{"op": "sort", "level": ' + "[" * 900 + "]" * 900 + "}",
        '{"op": "settle", "id": NaN}',
        '{"op": "settle", "id": 1e400}',
        '{"op": "settle", "score": ' + "9" * 5_000 + "}",
        '{"op": "settle", "id": "\\ud800"}',
    ],
    ids=lambda line: line[:30],
)
def test_a_line_that_is_no_question_is_answered_with_one_line(line: str) -> None:
    """Whatever the line is, its answer is JSON, in ASCII, and no traceback."""
    text = answer_line(line)

    assert text.isascii()
    assert "\n" not in text
    assert json.loads(text, parse_constant=pytest.fail)["ok"] is False


def test_no_question_ends_in_a_traceback() -> None:
    """Random fields of random types are answered, all of them, with ok true or false."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    values: list[Any] = [
        None,
        True,
        -1,
        0,
        3,
        10**9,
        "",
        "S",
        "8",
        "S9",
        "H5 HT HK",
        "ming_chao",
        [],
        ["S9"],
        [[0, "SA"]],
        {},
    ]
    values += [LEVELS, {"0": "S9"}, {"dealer": "8", "catchers": "J"}, [[0, "play", "S9"]], [[0]], FROM, {"phase": 3}]
    names = [
        "ruleset",
        "level",
        "trump",
        "cards",
        "hand",
        "lead",
        "others",
        "plays",
        "play",
        "bottom",
        "dealer",
        "score",
    ]
    names += ["positions", "levels", "hands", "actions", "from", "games", "turned", "limit", "leader", "flag", "mode"]

    for _ in range(3_000):
        base: dict[str, Any] = {"op": rng.choice(list(OPERATIONS))} | (CARDS if rng.random() < 0.6 else PLAY)
        base["op"] = rng.choice(list(OPERATIONS))
        question = base | {name: rng.choice(values) for name in rng.sample(names, rng.randrange(6))}

        assert answer(question)["ok"] in (True, False), question
