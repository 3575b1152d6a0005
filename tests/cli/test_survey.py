"""The survey plays a preset through the service, verifies every record and counts what happened."""

from chaodipi.engine.ruleset import preset_names, resolve
from chaodipi.service.survey import common_events, survey


def test_a_survey_counts_what_the_records_hold(tmp_path):
    tables, counts, wrong = survey("ming_chao", 1, tmp_path, "survey")
    assert tables == 6
    assert counts["played out"] == 6
    assert counts["declared"] == 6
    # Six tables need not show every common event, but nothing else may be wrong.
    assert all(line.startswith("never ") for line in wrong), wrong


def test_a_survey_says_so_if_a_record_does_not_verify(tmp_path, monkeypatch):
    monkeypatch.setattr("chaodipi.service.survey.verify", lambda _path: ["line 3: card: planted"])
    _, _, wrong = survey("huanle_1", 1, tmp_path, "survey")
    assert any("planted" in line for line in wrong)


def test_what_must_occur_follows_from_the_ruleset():
    for name in preset_names():
        wanted, ruleset = common_events(resolve(name)), resolve(name)
        assert ("510K led" in wanted) is ruleset.k510
        assert ("stirred" in wanted) is (ruleset.stir != "none")
        assert {"declared", "thrown", "throw failed", "ruffed", "dug"} <= wanted
