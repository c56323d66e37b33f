"""`mixmood testbed`: the ablation grid and its tables."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from mixmood.cli.terminal import options
from mixmood.cli.terminal.plan_command import takes
from mixmood.cli.terminal.streams import say
from mixmood.cli.testbed.lines import RunLines, describe_run, describe_status
from mixmood.cli.testbed.report import report
from mixmood.cli.testbed.tables import StoreOption, correlate, tables
from mixmood.core.errors import TrainingError
from mixmood.core.interrupt import INTERRUPTED
from mixmood.core.text import counted
from mixmood.report.text import printable
from mixmood.testbed.plan import PRESETS, TestbedPlan

if TYPE_CHECKING:
    from mixmood.testbed.plan import PreparedTestbed

app = typer.Typer(
    no_args_is_help=True, help="Train under controlled contamination, measure, correlate."
)


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
    from mixmood.testbed.config import load_config
    from mixmood.testbed.plan import prepare

    config = load_config(testbed)
    inform = (lambda text: None) if quiet else say
    inform(f"Checking the test bed {config.name} and its data sets ...")
    with _interrupted_before_runs():
        prepared = prepare(config, plan)
        if dry_run:
            _print_size(prepared)
            return
    at_once = f"{plan.n_jobs} at once" if plan.n_jobs else "as many at once as the cluster takes"
    inform(f"{counted(len(prepared.work), 'run')}, {at_once}; finished runs are kept in {store}.")
    with RunLines(quiet) as lines:
        status = prepared.run(store, lines.show, lambda text: say(f"Warning: {text}"))
    say(f"{status.n_earlier + status.n_done} of {status.n_runs} runs are done.")
    if n_failed := status.n_failed + status.n_failed_earlier:
        raise TrainingError(
            f"{counted(n_failed, 'run')} failed; see: mixmood testbed status --store {store}. "
            "Run them again with --retry-failed."
        )


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
    if last := found.driver:
        typer.echo(
            f"driver    process {last.pid} on {printable(last.host)}: {describe_status(last)}"
        )
        for name in last.running:
            typer.echo(f"running   {printable(name)}")
    else:
        typer.echo("driver    none")
    for failed in found.failures:
        reason = printable(failed.error.last_line)
        typer.echo(f"error     {printable(describe_run(failed.run))}: {reason}")


app.command()(tables)
app.command()(correlate)
app.command()(report)


@contextmanager
def _interrupted_before_runs() -> Iterator[None]:
    """On an interrupt inside, say that nothing was written: no run has started."""
    try:
        yield
    except KeyboardInterrupt:
        say("Interrupted before the first run: nothing was written.")
        raise typer.Exit(INTERRUPTED) from None


def _print_size(prepared: "PreparedTestbed") -> None:
    from mixmood.testbed.cells import cells

    config, work = prepared.config, prepared.work
    typer.echo(f"test bed  {config.name}")
    typer.echo(f"cells     {len({job.run.cell for job in work})} of {len(cells(config))}")
    typer.echo(f"runs      {len(work)}")
