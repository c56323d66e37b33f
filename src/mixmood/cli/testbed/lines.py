"""What `mixmood testbed run` says while it runs: a bar on a terminal, a line a run elsewhere."""

from typing import TYPE_CHECKING, Any, Self

from mixmood.cli.terminal.streams import console, say
from mixmood.report.charts.numbers import duration
from mixmood.report.charts.printable import printable

if TYPE_CHECKING:
    from mixmood.testbed.runs.driver import Status


class RunLines:
    """Shows runs done, running and failed, and when the end is likely to come."""

    def __init__(self, is_quiet: bool) -> None:
        """Say nothing if `is_quiet`."""
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

    def tell(self, status: "Status", record: dict[str, Any] | None) -> None:
        """Show a change."""
        n_over = status.n_runs - status.n_left
        self._bar.update(self._task, total=status.n_runs, completed=n_over, note=told(status))
        if record is not None and not self._is_quiet and not self._has_bar:
            say(f"{n_over}/{status.n_runs} {describe(record)}: {_result(record)}; {told(status)}")


def told(status: "Status") -> str:
    """A driver's state in a few words."""
    left = status.seconds_left
    end = "" if left is None else f", about {duration(left)} left"
    n_failed = status.n_failed + status.n_failed_earlier
    return f"{len(status.running)} running, {n_failed} failed{end}"


def describe(record: dict[str, Any]) -> str:
    """A run in a few words."""
    run = record["run"]
    source = f"{run['source']} {run['percent']:g} %"
    return f"{run['task']} {source} n={run['n_labelled']} {run['algorithm']} seed {run['seed']}"


def _result(record: dict[str, Any]) -> str:
    if "error" in record:
        return f"failed, {printable(record['error']['message'].strip().splitlines()[-1])}"
    return f"accuracy {record['accuracy']['last']:.3f} after {duration(record['times']['total_s'])}"
