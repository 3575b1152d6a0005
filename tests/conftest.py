"""What holds for every test: hypothesis settings, and tests that need a tool of the machine."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from tests.support.tools import LEFT_OUT, require_tools

# A run that was started in the background ignores SIGINT, and so would every process that it starts to interrupt it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# New examples in every run; a failure prints the line that repeats it. No time limits: machines are shared.
settings.register_profile(
    "ci",
    derandomize=False,
    print_blob=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("ci"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs_tool"):
        require_tools(mark.args)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what this run did not check."""
    left_out = []
    for report in terminalreporter.getreports("skipped"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if LEFT_OUT in reason:
            left_out.append((report.nodeid, reason.partition(LEFT_OUT)[2]))
    if left_out:
        terminalreporter.section("left out because a tool is missing")
        for nodeid, tools in sorted(left_out):
            terminalreporter.line(f"{nodeid}: {tools}")
