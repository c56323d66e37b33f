"""The terminal: results on stdout; progress, warnings and notes on stderr."""

import os
import shlex
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from mixmood.core.files import write_atomic
from mixmood.core.listener import UNITS, Listener
from mixmood.report.text import duration, printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress, Task, TaskID

INTERRUPTED = 130  # the exit code of a program ended by Ctrl-C
FIRST_S, EVERY_S = 5.0, 30.0  # until the first line, and between lines, without a terminal


def open_closed_streams() -> None:
    """Open closed standard streams on the null device.

    Otherwise the next file that is opened gets a closed stream's number, and the printed text.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(handle, True)
            setattr(sys, name, os.fdopen(handle, mode))


def abandon_stdout() -> None:
    """Drop text that could not be written: at exit Python would try again and print an error."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


def console(is_error: bool = False) -> "Console":
    """A console for a terminal, which respects NO_COLOR; plain, 120 columns wide, for a file."""
    from rich.console import Console

    stream = sys.stderr if is_error else sys.stdout
    width = None if stream.isatty() else 120
    return Console(file=stream, width=width, highlight=False, soft_wrap=is_error)


def typed_command() -> str:
    """The command as the user typed it."""
    return shlex.join(["mixmood", *sys.argv[1:]])


def say(text: str, style: str = "") -> None:
    """Print one line on stderr; control characters in it are escaped."""
    from rich.text import Text

    # A full disk behind stderr cannot be reported; it must not end in a traceback.
    with suppress(OSError):
        console(is_error=True).print(Text(printable(text), style=style))


def show(view: "RenderableType") -> None:
    """Print a result on stdout; long lines that must not be broken are not cut."""
    console().print(view, crop=False)


def readable(text: str) -> str:
    """The text with control characters escaped in every line."""
    return "\n".join(printable(line) for line in text.split("\n"))


def deliver(report: Any, json: str | None, csv: str | None, html: str | None) -> bool:
    """Write the files that were asked for; whether stdout is left for the answer."""
    put(json, report.to_json())
    if csv is not None:
        put(csv, report.to_csv())
    if html is not None:
        report.to_html(html, command=typed_command())
    return "-" not in (json, csv)


def put(target: str | None, text: str) -> None:
    """Write a result to a file; `-` is stdout, None writes nothing."""
    if target == "-":
        # A file or a program gets the text unchanged; a terminal would obey control characters.
        sys.stdout.write(readable(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()
    elif target is not None:
        write_atomic(target, text)


class Bars(Listener):
    """The listener of a command: bars on a terminal; elsewhere nothing, or lines now and then."""

    def __init__(
        self,
        is_quiet: bool = False,
        unit: str = "images",
        has_lines: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare to draw, or only messages if quiet; `has_lines` without a terminal."""
        self.is_quiet, self.is_drawn = is_quiet, sys.stderr.isatty() and not is_quiet
        self._unit, self._has_lines, self._clock = unit, has_lines and not is_quiet, clock
        self._display: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._paces: dict[str, Pace] = {}

    def __enter__(self) -> Self:
        """Begin to draw."""
        if self.is_drawn:
            self._display = _display()
            self._display.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the terminal as it was."""
        if self._display is not None:
            self._display.stop()

    def start(self, task: str, total: int | None) -> None:
        """Show a bar; if the task has a bar already, that bar gets longer by `total`."""
        self._paces[task] = Pace(task, total, self._clock())
        if self._display is None:
            return
        if task not in self._tasks:
            from rich.markup import escape

            unit, label = UNITS.get(task, self._unit), escape(printable(task))
            self._tasks[task] = self._display.add_task(label, total=total, unit=unit, beside="")
        elif total is not None:
            known = self._display.tasks[self._tasks[task]].total or 0
            self._display.update(self._tasks[task], total=known + total)

    def advance(self, task: str, steps: int = 1) -> None:
        """Move the bar, or print a line if one is due."""
        if self._display is not None:
            self._display.advance(self._tasks[task], steps)
        elif self._has_lines and (line := self._paces[task].advance(steps, self._clock())):
            say(line)

    def finish(self, task: str) -> None:
        """Fill a bar that had no known length."""
        if self._display and self._display.tasks[self._tasks[task]].total is None:
            self._display.update(self._tasks[task], total=1, completed=1)

    def show_beside(self, text: str) -> None:
        """Show a text beside all bars."""
        if self._display is not None:
            for task in self._tasks.values():
                self._display.update(task, beside=text)

    def warn(self, message: str) -> None:
        """Print a warning above the bars."""
        say(f"Warning: {message}", style="yellow")

    def note(self, message: str) -> None:
        """Print a note above the bars."""
        say(message)


class Pace:
    """How far a task is, and when its next line is due."""

    def __init__(self, task: str, total: int | None, now_s: float) -> None:
        """Begin at `now_s`."""
        self._task, self._total = task, total
        self._start_s, self._due_s = now_s, now_s + FIRST_S
        self._n_done = self._n_before = 0

    def advance(self, steps: int, now_s: float) -> str | None:
        """Some steps further; a line to show, if one is due."""
        if self._n_done == 0 and now_s == self._start_s:
            # These steps were done by an earlier run: they took no time in this one.
            self._n_before = steps
        self._n_done += steps
        if now_s < self._due_s or self._total is None or self._n_done >= self._total:
            return None
        self._due_s = now_s + EVERY_S
        n_here = max(1, self._n_done - self._n_before)
        left_s = (now_s - self._start_s) / n_here * (self._total - self._n_done)
        return f"{self._task}: {self._n_done} of {self._total}, about {duration(left_s)} left"


def _display() -> "Progress":
    from rich import progress
    from rich.table import Column
    from rich.text import Text

    class Speed(progress.ProgressColumn):
        def render(self, task: "Task") -> Text:
            return Text(speed_of(task))

    # In a narrow window the text beside the bars is broken, not the numbers.
    kinds = (progress.MofNCompleteColumn, Speed, progress.TimeRemainingColumn)
    numbers = [kind(table_column=Column(no_wrap=True)) for kind in kinds]
    beside = progress.TextColumn("{task.fields[beside]}", table_column=Column())
    name = progress.TextColumn("{task.description}")
    columns = (name, progress.BarColumn(24), *numbers, beside)
    # Runs of a test bed take minutes: their speed is that of the last hour.
    return progress.Progress(
        *columns, console=console(is_error=True), transient=True, speed_estimate_period=3600
    )


def speed_of(task: "Task") -> str:
    """The rate of a bar in its own unit; nothing for a task of a single step."""
    # Before a second has passed, results come from the cache, and their rate means nothing.
    speed, seconds = task.finished_speed or task.speed, task.finished_time or task.elapsed
    if task.total == 1 or not speed or not seconds or seconds < 1:
        return ""
    return f"{speed:{',.0f' if speed >= 9.5 else '.2g'}} {task.fields['unit']}/s"
