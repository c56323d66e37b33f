"""The progress bar of a training run, with losses and accuracy."""

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
from mixmood.report.charts.printable import printable

if TYPE_CHECKING:
    from mixmood.ssl.output.record import EpochRecord


class TrainingBar:
    """Draws on stderr what a run tells; where stderr is no terminal, one line for each epoch."""

    def __init__(self) -> None:
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
        self._tasks: dict[str, TaskID] = {}

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

    def advance(self, task: str, steps: int = 1) -> None:
        """Some steps further."""
        self._bars.advance(self._tasks[task], steps)

    def finish(self, task: str) -> None:
        """The bar stays, full."""
        self._bars.stop_task(self._tasks[task])

    def tell_epoch(self, epoch: "EpochRecord") -> None:
        """Losses and accuracies beside the bar, or on a line of their own."""
        note = epoch_line(epoch)
        if self._console.is_terminal:
            for task in self._tasks.values():
                self._bars.update(task, note=note)
        else:
            self._console.print(Text(note))

    def warn(self, message: str) -> None:
        """A warning above the bars; control characters in it are shown, not obeyed."""
        self._console.print(Text(f"Warning: {printable(message)}", style="yellow"))


def epoch_line(epoch: "EpochRecord") -> str:
    """An epoch in one line."""
    words = [f"epoch {epoch.epoch}", f"loss {epoch.loss:.4f}"]
    if epoch.loss_unlabelled is not None:
        words.append(f"unlabelled {epoch.loss_unlabelled:.4f}")
    if epoch.share_dropped is not None:
        words.append(f"dropped {epoch.share_dropped:.0%}")
    words.append(f"test {epoch.test_accuracy:.3f}")
    if epoch.validation_accuracy is not None:
        words.append(f"validation {epoch.validation_accuracy:.3f}")
    return "  ".join(words)
