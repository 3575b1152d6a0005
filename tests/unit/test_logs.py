"""The log of a run: whole lines of JSON, whatever ended the run before."""

import json

import pytest
import structlog
from chaodipi.service.logs import logs_in


@pytest.fixture(autouse=True)
def _configured_as_before():
    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.mark.parametrize("kept", ["", '{"event": "a"}\n', '{"event": "a"}\n' + '{"event": "' + "b" * 200_000 + '"}\n'])
@pytest.mark.parametrize("torn", ["", '{"event": "to', "x" * 150_000])
def test_a_line_that_a_kill_has_torn_is_taken_off_and_all_before_it_stays(tmp_path, kept, torn):
    path = tmp_path / "host.log"
    path.write_text(kept + torn)
    with logs_in(path, append=True):
        structlog.get_logger("test").info("begun")
    lines = path.read_text().splitlines(keepends=True)
    assert "".join(lines[:-1]) == kept
    assert json.loads(lines[-1])["event"] == "begun"
