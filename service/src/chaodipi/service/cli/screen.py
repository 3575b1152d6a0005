"""What the commands show on a terminal: progress, and the standings."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta

from chaodipi.service.scheduler.league import MissingPair
from chaodipi.service.scheduler.standings import Estimate, PairOutcome, Standing
from chaodipi.service.scheduler.timing import DecisionTime
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

__all__ = ["PairProgress", "pair_progress", "print_drained", "print_missing", "print_standings"]


class PairProgress:
    """
    Counts finished pairs and decisions; on a pipe, a plain line every tenth of the way.

    On a terminal the bar goes away at the end, since what it said is in what follows.
    """

    def __init__(self, console: Console, total: int, done: int) -> None:
        self.console = console
        self.total = total
        self.done = self._done_before = done
        self.decisions = 0
        self.started = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]:,.0f} decisions/s"),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("waiting for bots", total=total, completed=done, rate=0.0)

    def begin(self) -> None:
        """All bots are there: the clock of the rate starts."""
        self.started = time.monotonic()
        self._bar.update(self._task, description="pairs")

    @property
    def rate(self) -> float:
        """Decisions a second since the start."""
        return self.decisions / max(1e-9, time.monotonic() - self.started)

    def add(self, outcome: PairOutcome) -> None:
        """Count a finished pair."""
        self.done += 1
        self.decisions += outcome.decisions
        self._bar.update(self._task, completed=self.done, rate=self.rate)
        step = max(1, self.total // 10)
        if not self.console.is_terminal and (self.done % step == 0 or self.done == self.total):
            self.console.print(f"pairs {self.done}/{self.total}  {self.rate:,.0f} decisions/s  left {self._left()}")

    def _left(self) -> str:
        """Time until the end at the pace so far."""
        played = max(1, self.done - self._done_before)
        seconds = (self.total - self.done) * (time.monotonic() - self.started) / played
        return str(timedelta(seconds=round(seconds)))


@contextmanager
def pair_progress(console: Console, total: int, done: int = 0) -> Iterator[PairProgress]:
    """A progress bar over *total* pairs for as long as the block runs."""
    progress = PairProgress(console, total, done)
    with progress._bar:
        yield progress


def _estimate(value: Estimate, digits: int) -> str:
    text = f"{value.mean:+.{digits}f}"
    return text if value.half is None else f"{text} ± {value.half:.{digits}f}"


def print_standings(console: Console, title: str, lines: Sequence[Standing], times: Mapping[str, DecisionTime]) -> None:
    """The standings for people, and under them what faults and forfeits there were, by entry and kind."""
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("#", justify="right", no_wrap=True, min_width=2)
    table.add_column("entry", no_wrap=True)
    for heading in ("pairs", "points", "steps", "win", "faults", "time ms"):
        table.add_column(heading, justify="right", no_wrap=True)
    for line in lines:
        time = times.get(line.entry)
        table.add_row(
            str(line.rank),
            line.entry,
            str(line.pairs),
            _estimate(line.points, 1),
            _estimate(line.steps, 2),
            _estimate(line.win, 2),
            str(sum(line.faults.values())),
            "–" if time is None else f"{time.median_ms}/{time.p99_ms}",
        )
    console.print(table)
    console.print("means of a table ± 95 % interval, from pairs; time of a decision: median/99 %", style="dim")
    for line in lines:
        if line.faults or line.forfeits:
            said = [f"{kind} {count}" for kind, count in line.faults.items()]
            if line.forfeits:
                said.append(f"{line.forfeits} {'table' if line.forfeits == 1 else 'tables'} forfeited")
            console.print(f"faults of {line.entry}: {', '.join(said)}")


def print_missing(console: Console, missing: Sequence[MissingPair]) -> None:
    """How many pairs have no score because of the host, and why; nothing if there are none."""
    if not missing:
        return
    one = len(missing) == 1
    console.print(f"{len(missing)} {'pair is' if one else 'pairs are'} missing because of faults of the host:")
    for pair in sorted(missing, key=lambda pair: pair.number):
        console.print(f"  {pair}", soft_wrap=True, markup=False)
    it, counts = ("it", "it counts") if one else ("them", "they count")
    console.print(f"the same command plays {it} again; until then {counts} for nobody")


def print_drained(console: Console, done: int, planned: int, then: str) -> None:
    """How far a league came that was told to stop."""
    console.print(f"drained: {done} of {planned} pairs are done; {then}", soft_wrap=True)
