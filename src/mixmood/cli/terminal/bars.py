"""Progress bars on stderr."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mixmood.cli.terminal.streams import console, say
from mixmood.core.listener import UNITS, Listener, Silent
from mixmood.report.text import duration, printable

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import Task as RichTask
    from rich.progress import TaskID


LEAST_S = 5.0
"""The remaining time is shown only after so many seconds, and only if it is at least as long."""


class Lines(Silent):
    """Prints warnings and notes, and draws nothing."""

    def warn(self, message: str) -> None:
        """Print a warning."""
        say(f"Warning: {message}", style="yellow")

    def note(self, message: str) -> None:
        """Print a note."""
        say(message)


class Bars:
    """Draws one bar for each task, with steps per second."""

    def __init__(self, display: "RichProgress", unit: str = "images") -> None:
        """Draw on this display; `unit` is what the steps of most tasks are."""
        self._display, self._unit = display, unit
        self._tasks: dict[str, TaskID] = {}

    def start(self, task: str, total: int | None) -> None:
        """Show a bar; if the task has a bar already, that bar gets longer by `total`."""
        from rich.markup import escape

        if task not in self._tasks:
            label = escape(printable(task))
            unit = UNITS.get(task, self._unit)
            self._tasks[task] = self._display.add_task(label, total=total, unit=unit)
        elif total is not None:
            known = self._display.tasks[self._tasks[task]].total or 0
            self._display.update(self._tasks[task], total=known + total)

    def advance(self, task: str, steps: int = 1) -> None:
        """Move the bar."""
        self._display.advance(self._tasks[task], steps)

    def warn(self, message: str) -> None:
        """Print a warning above the bars."""
        say(f"Warning: {message}", style="yellow")

    def note(self, message: str) -> None:
        """Print a note above the bars."""
        say(message)

    def finish(self, task: str) -> None:
        """Fill a bar that had no known length."""
        if self._display.tasks[self._tasks[task]].total is None:
            self._display.update(self._tasks[task], total=1, completed=1)


def rate(speed: float | None, seconds: float | None, unit: str) -> str:
    """Steps per second in words; empty before a second has passed.

    Cached results come at once, and their rate would mean nothing.

    >>> rate(812.4, 3.0, "images"), rate(75140.0, 0.01, "images"), rate(None, None, "images")
    ('812 images/s', '', '')
    >>> rate(0.34, 9.0, "pools")
    '0.34 pools/s'
    """
    if not speed or not seconds or seconds < 1:
        return ""
    return f"{speed:,.0f} {unit}/s" if speed >= 9.5 else f"{speed:.2g} {unit}/s"


def rate_of(task: "RichTask") -> str:
    """The rate of a bar in its own unit; nothing for a task of a single step."""
    speed, seconds = task.finished_speed or task.speed, task.finished_time or task.elapsed
    return rate(speed, seconds, task.fields["unit"]) if task.total != 1 else ""


def time_left(seconds_left: float | None, seconds: float | None) -> str:
    """The remaining time in words; empty if it is short or cannot be estimated yet.

    >>> time_left(192.0, 30.0), time_left(192.0, 2.0), time_left(1.0, 30.0), time_left(None, None)
    ('3 min 12 s left', '', '', '')
    """
    is_known = seconds_left and seconds and seconds >= LEAST_S and seconds_left >= LEAST_S
    return f"{duration(seconds_left or 0.0)} left" if is_known else ""


@contextmanager
def progress_bars(is_quiet: bool, unit: str = "images") -> Iterator[Listener]:
    """The progress of long work: bars on a terminal, nothing elsewhere."""
    if is_quiet or not sys.stderr.isatty():
        yield Lines()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn
    from rich.progress import Progress as RichProgress
    from rich.text import Text

    class Speed(ProgressColumn):
        def render(self, task: "RichTask") -> Text:
            return Text(rate_of(task))

    class Left(ProgressColumn):
        def render(self, task: "RichTask") -> Text:
            return Text(time_left(task.time_remaining, task.elapsed))

    texts = (TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn())
    columns = (*texts, Speed(), Left())
    with RichProgress(*columns, console=console(is_error=True), transient=True) as display:
        yield Bars(display, unit)
