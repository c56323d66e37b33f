"""Progress of `mixmood testbed run`: a bar on a terminal, a line for each run elsewhere."""

from typing import TYPE_CHECKING, Self

from mixmood.cli.terminal.streams import console, say
from mixmood.report.text import duration, printable

if TYPE_CHECKING:
    from mixmood.testbed.cells import Run
    from mixmood.testbed.driver import Status
    from mixmood.testbed.record import AnyRecord


class RunLines:
    """Shows runs done, running and failed, and how long the rest may take."""

    def __init__(self, is_quiet: bool) -> None:
        """Show nothing if `is_quiet`."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._is_quiet = is_quiet
        where = console(is_error=True)
        self._has_bar = where.is_terminal and not is_quiet
        columns = (TextColumn("runs"), BarColumn(24), MofNCompleteColumn())
        note = TextColumn("{task.fields[note]}")
        self._bar = Progress(*columns, note, console=where, disable=not self._has_bar)
        self._task = self._bar.add_task("runs", total=None, note="")

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the terminal as it was."""
        self._bar.stop()

    def show(self, status: "Status", record: "AnyRecord | None") -> None:
        """Show a change of the status, and the run that has finished, if there is one."""
        n_finished = status.n_runs - status.n_left
        words = describe_status(status)
        self._bar.update(self._task, total=status.n_runs, completed=n_finished, note=words)
        if record is not None and not self._is_quiet and not self._has_bar:
            result = f"{describe_run(record.run)}: {_result(record)}"
            say(f"{n_finished}/{status.n_runs} {result}; {words}")


def describe_status(status: "Status") -> str:
    """A driver's state in a few words."""
    left = status.seconds_left
    end = "" if left is None else f", about {duration(left)} left"
    n_failed = status.n_failed + status.n_failed_earlier
    return f"{len(status.running)} running, {n_failed} failed{end}"


def describe_run(run: "Run") -> str:
    """A run in a few words."""
    regime = "" if run.regime == "scratch" else f" {run.regime}"
    pool = f"{run.source} {run.percent:g} %"
    return f"{run.task} {pool} n={run.n_labelled}{regime} {run.algorithm} seed {run.seed}"


def _result(record: "AnyRecord") -> str:
    from mixmood.testbed.record import FailedRun

    if isinstance(record, FailedRun):
        return f"failed, {printable(record.error.last_line)}"
    return f"accuracy {record.accuracy.by('last'):.3f} after {duration(record.times['total_s'])}"
