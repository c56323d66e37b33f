"""The progress of a training run on stderr: bars, losses, accuracy and the time that is left."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from mixmood.cli.terminal.streams import console
from mixmood.report.text import printable

if TYPE_CHECKING:
    from mixmood.ssl.record import EpochRecord

FIRST_S = 5.0
"""Seconds until a long task shows how long it will take."""
EVERY_S = 30.0
"""Seconds between lines if stderr is not a terminal."""


class Pace:
    """How far a task is, and when its next line is due."""

    def __init__(self, task: str, total: int | None, now_s: float) -> None:
        """Begin at `now_s`."""
        self._task, self._total = task, total
        self._start_s = now_s
        self._due_s = now_s + FIRST_S
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
        return self._line(now_s)

    def _line(self, now_s: float) -> str:
        n_here = max(1, self._n_done - self._n_before)
        total = self._total or 0
        left_s = (now_s - self._start_s) / n_here * (total - self._n_done)
        return f"{self._task}: {self._n_done} of {total}, about {rough_duration(left_s)} left"


class TrainingBar:
    """Draws bars on a terminal; elsewhere prints a line for each epoch and every 30 seconds.

    After the first seconds it shows how long the run will take.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Prepare to draw."""
        self._console = console(is_error=True)
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._clock = clock
        self._tasks: dict[str, TaskID] = {}
        self._paces: dict[str, Pace] = {}
        self._has_estimate = False

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the terminal as it was."""
        self._bars.stop()

    def start(self, task: str, total: int | None) -> None:
        """A new bar."""
        self._tasks[task] = self._bars.add_task(escape(printable(task)), total=total, note="")
        self._paces[task] = Pace(printable(task), total, self._clock())

    def advance(self, task: str, steps: int = 1) -> None:
        """Some steps further."""
        self._bars.advance(self._tasks[task], steps)
        line = self._paces[task].advance(steps, self._clock()) if steps else None
        if line is not None and not (self._console.is_terminal and self._has_estimate):
            self._has_estimate = True
            self._console.print(Text(line))

    def finish(self, task: str) -> None:
        """The bar stays, full."""
        self._bars.stop_task(self._tasks[task])

    def show_epoch(self, epoch: "EpochRecord") -> None:
        """Losses and accuracies beside the bar, or on a line of their own."""
        note = epoch_line(epoch)
        if self._console.is_terminal:
            for task in self._tasks.values():
                self._bars.update(task, note=note)
        else:
            self._console.print(Text(note))

    def note(self, message: str) -> None:
        """A line above the bars; control characters in it are escaped."""
        self._console.print(Text(printable(message)))

    def warn(self, message: str) -> None:
        """A warning above the bars."""
        self._console.print(Text(f"Warning: {printable(message)}", style="yellow"))


def rough_duration(seconds: float) -> str:
    """A length of time in one unit.

    >>> rough_duration(42), rough_duration(400), rough_duration(9000), rough_duration(200_000)
    ('42 s', '7 min', '2.5 h', '2.3 days')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 100_000 else f"{seconds / 86_400:.1f} days"


def epoch_line(epoch: "EpochRecord") -> str:
    """An epoch in one line."""
    words = [f"epoch {epoch.epoch}", f"loss {epoch.loss:.4f}"]
    if epoch.share_sure == 0:
        words.append("no guess has reached the threshold yet: the pool is not used")
    elif epoch.loss_unlabelled is not None:
        words.append(f"unlabelled {epoch.loss_unlabelled:.4f}")
    if epoch.share_sure:
        words.append(f"confident guesses {epoch.share_sure:.0%}")
    if epoch.share_dropped is not None:
        words.append(f"dropped {epoch.share_dropped:.0%}")
    words.append(f"test {epoch.test_accuracy:.3f}")
    if epoch.validation_accuracy is not None:
        words.append(f"validation {epoch.validation_accuracy:.3f}")
    return "  ".join(words)
