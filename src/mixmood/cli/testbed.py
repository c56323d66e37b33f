"""`mixmood testbed`: the ablation grid, its tables and its page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixmood.cli import options
from mixmood.cli.options import takes
from mixmood.cli.terminal import INTERRUPTED, Bars, put, readable, say, typed_command
from mixmood.core.errors import OptionError, TrainingError
from mixmood.core.files import check_writable
from mixmood.core.text import counted
from mixmood.report.text import duration, printable
from mixmood.testbed.plan import PRESETS, TablesPlan, TestbedPlan

if TYPE_CHECKING:
    from mixmood.api.testbed import TestbedTables
    from mixmood.testbed.cells import Run
    from mixmood.testbed.driver import Status
    from mixmood.testbed.record import AnyRecord

app = typer.Typer(
    no_args_is_help=True, help="Train under controlled contamination, measure, correlate."
)
StoreOption = Annotated[
    str, typer.Option("--store", metavar="DIR", help="The folder of the records.")
]


@app.command()
@takes(TestbedPlan)
def run(
    testbed: Annotated[
        str,
        typer.Argument(metavar="PRESET|FILE.toml", help=f"{', '.join(PRESETS)}, or your own file."),
    ],
    store: StoreOption,
    plan: TestbedPlan,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many runs there are; run nothing.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Run all runs that are not done yet; it can be stopped and started again.

    Example: mixmood testbed run smoke --store smoke --jobs 2
    """
    from mixmood.api.testbed import prepared_testbed, run_testbed
    from mixmood.testbed.cells import cells

    with RunBars(quiet) as bars:
        try:
            if dry_run:
                config, jobs = prepared_testbed(testbed, plan, bars)
                used = {job.run.cell for job in jobs}
                typer.echo(f"test bed  {config.name}")
                typer.echo(f"cells     {len(used)} of {len(cells(config))}")
                typer.echo(f"runs      {len(jobs)}")
                return
            status = run_testbed(testbed, store, plan=plan, watch=bars.watch, listener=bars)
        except KeyboardInterrupt:
            if Path(store).exists():
                raise
            say("Interrupted before the first run: nothing was written.")
            raise typer.Exit(INTERRUPTED) from None
    say(f"{status.n_earlier + status.n_done} of {status.n_runs} runs are done.")
    if n_failed := status.n_failed + status.n_failed_earlier:
        raise TrainingError(
            f"{counted(n_failed, 'run')} failed; see: mixmood testbed status --store {store}. "
            "Run them again with --retry-failed."
        )


class RunBars(Bars):
    """A bar of all runs on a terminal, a line for each run elsewhere; nothing if quiet."""

    def note(self, message: str) -> None:
        """Print a note, unless quiet: here, notes say how far the work is."""
        if not self.is_quiet:
            super().note(message)

    def watch(self, status: "Status", record: "AnyRecord | None") -> None:
        """Show a change of the status, and the run that has finished, if there is one."""
        self.show_beside(_running(status))
        if record is not None and not self.is_drawn:
            n_finished = status.n_runs - status.n_left
            result = f"{describe_run(record.run)}: {_result(record)}"
            self.note(f"{n_finished}/{status.n_runs} {result}; {describe_status(status)}")


@app.command()
def status(store: StoreOption) -> None:
    """Show how far a test bed is, from any terminal.

    Example: mixmood testbed status --store smoke
    """
    from mixmood.api.testbed import testbed_status

    found = testbed_status(store)
    typer.echo(f"test bed  {found.name}, {counted(found.n_runs, 'run')} in its file")
    typer.echo(f"done      {found.n_done}")
    typer.echo(f"failed    {len(found.failures)}")
    last = found.driver
    driver = f"process {last.pid} on {last.host}: {describe_status(last)}" if last else "none"
    typer.echo(f"driver    {printable(driver)}")
    for name in last.running if last else ():
        typer.echo(f"running   {printable(name)}")
    for failed in found.failures:
        reason = printable(failed.error.last_line)
        typer.echo(f"error     {printable(describe_run(failed.run))}: {reason}")


def describe_status(status: "Status") -> str:
    """A driver's state in a few words."""
    left = status.seconds_left
    return _running(status) + ("" if left is None else f", about {duration(left)} left")


def _running(status: "Status") -> str:
    return f"{len(status.running)} running, {status.n_failed + status.n_failed_earlier} failed"


def describe_run(run: "Run") -> str:
    """A run in a few words."""
    regime = "" if run.regime == "scratch" else f" {run.regime}"
    pool = f"{run.source} {run.percent:g} %"
    size = "" if run.n_unlabelled is None else f" of {run.n_unlabelled}"
    return f"{run.task} {pool}{size} n={run.n_labelled}{regime} {run.algorithm} seed {run.seed}"


def _result(record: "AnyRecord") -> str:
    from mixmood.testbed.record import FailedRun

    if isinstance(record, FailedRun):
        return f"failed, {printable(record.error.last_line)}"
    return f"accuracy {record.accuracy.by('last'):.3f} after {duration(record.times['total_s'])}"


@app.command()
@takes(TablesPlan)
def tables(
    store: StoreOption,
    plan: TablesPlan,
    format: Annotated[
        str, typer.Option(help="text, markdown, latex, csv (with --table) or json.")
    ] = "text",
    table: Annotated[int | None, typer.Option(help="1 to 5.", show_default="all")] = None,
    out: Annotated[
        str | None,
        options.file(
            "Write all tables (Markdown, CSV, JSON), figures and records into a folder.", "DIR"
        ),
    ] = None,
) -> None:
    """Print the paper's three tables from the records of a store, and the same by arm (4, 5).

    Table 1 marks the best of each column (*), Table 2 distances that are not significant (~).

    Example: mixmood testbed tables --store smoke --format markdown --selection best
    """
    from mixmood.api.testbed import check_format, testbed_tables

    check_format(format, 1 if table is None and out is not None else table)
    found = testbed_tables(store, plan=plan)
    if out is not None:
        found.write(out)
        say(f"Tables, figures and records are in {out}.")
    _show(found, None if out is not None else format, table)


@app.command()
@takes(TablesPlan)
def correlate(
    store: StoreOption,
    plan: TablesPlan,
    format: Annotated[str, typer.Option(help="text, markdown, latex, csv or json.")] = "text",
) -> None:
    """Correlate distances with accuracies over any of the cells.

    Example: mixmood testbed correlate --store smoke --only percent=100
    """
    from mixmood.api.testbed import check_format, testbed_tables

    check_format(format, 3)
    found = testbed_tables(store, plan=plan, is_correlated=True)
    _show(found, format, 3)


def _show(found: "TestbedTables", format: str | None, table: int | None) -> None:
    """Print a table or all, unless the format is None, and say what is missing in them."""
    if format is not None:
        text = found.to_text(format, table)
        put("-", text if format in ("csv", "json") else readable(text))
    if gaps := found.tables.gaps.describe():
        say(gaps)


@app.command()
@takes(TablesPlan)
def report(
    store: StoreOption,
    html: Annotated[str, typer.Option("--html", metavar="FILE.html", help="Where to write it.")],
    plan: TablesPlan,
) -> None:
    """Write answer, tables and pictures as one HTML page.

    Example: mixmood testbed report --store smoke --html smoke.html
    """
    from mixmood.api.testbed import report_testbed

    if Path(html).suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"The page needs a name that ends in .html; got '{html}'.")
    check_writable(html)
    report_testbed(store, html, plan=plan, command=typed_command())
    say(f"The page is in {html}.")
