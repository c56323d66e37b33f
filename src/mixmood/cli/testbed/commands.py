"""`mixmood testbed`: the ablation grid and its tables."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from mixmood.cli.terminal import options
from mixmood.cli.terminal.streams import say
from mixmood.cli.testbed.lines import RunLines, describe, told
from mixmood.cli.testbed.report import report
from mixmood.cli.testbed.tables import Only, StoreOption, correlate, tables
from mixmood.core.errors import OptionError, OutputError, TrainingError
from mixmood.core.suggest import unknown_name
from mixmood.report.charts.numbers import duration
from mixmood.report.charts.printable import printable

if TYPE_CHECKING:
    from mixmood.testbed.grid.config import Config
    from mixmood.testbed.runs.driver import Spread, Status
    from mixmood.testbed.runs.run import Job
    from mixmood.testbed.runs.store import Record, Store

app = typer.Typer(
    no_args_is_help=True, help="Train under controlled contamination, measure, correlate."
)

BACKENDS = ("local", "ray")


@app.command()
def run(
    testbed: Annotated[
        str,
        typer.Argument(
            metavar="PRESET|FILE.toml", help="paper, paper-small, digits, smoke, or your own file."
        ),
    ],
    store: StoreOption,
    jobs: Annotated[
        int | None, typer.Option(help="Runs at once.", show_default="all cores")
    ] = None,
    backend: Annotated[str, typer.Option(help="local or ray.")] = "local",
    ray_address: Annotated[
        str | None, typer.Option(help="A running cluster; otherwise one is started here.")
    ] = None,
    gpus_per_run: Annotated[float, typer.Option(help="0.25 puts four runs on a GPU.")] = 0.0,
    only: Only = None,
    seeds: Annotated[
        int | None, typer.Option(help="Runs of each cell.", show_default="as in the file")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run again what ended with an error.")
    ] = False,
    mlflow: Annotated[
        str | None,
        typer.Option(metavar="URI", help="Log to MLflow; 'default' is a SQLite file in the store."),
    ] = None,
    cache: options.Cache = "default",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would run and how long it may take.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Run what is not done yet; stop it at will and start it again.

    Example: mixmood testbed run smoke --store smoke --jobs 2
    """
    from mixmood.jobs.local import n_cores
    from mixmood.testbed.grid.config import load_config
    from mixmood.testbed.runs.driver import drive
    from mixmood.testbed.runs.store import Store

    config = load_config(testbed)
    if jobs is not None and jobs < 1:
        raise OptionError(f"jobs must be at least 1; got {jobs}.")
    # 0: a cluster knows best how many runs it can take.
    n_jobs = jobs or (0 if ray_address else n_cores())
    spread = _spread(backend, ray_address, gpus_per_run)
    if not quiet:
        say(f"Checking the test bed {config.name} and its data sets ...")
    with _nothing_kept():
        work = _work(config, only or [], seeds, cache, "cuda" if gpus_per_run else "cpu")
    if dry_run:
        with _nothing_kept():
            _say_plan(config, work, n_jobs)
        return
    place = Store.make(store, config)
    track = _tracking(mlflow, place)
    if not quiet:
        at_once = f"{n_jobs} at once" if n_jobs else "as many at once as the cluster takes"
        say(f"{len(work)} runs, {at_once}; what is done is kept in {store}.")
    with RunLines(quiet) as lines:

        def watch(now: "Status", record: "Record | None") -> None:
            lines.tell(now, record)
            track(record)

        status = drive(work, place, spread, n_jobs=n_jobs, retry_failed=retry_failed, watch=watch)
    say(f"{status.n_earlier + status.n_done} of {status.n_runs} runs are done.")
    if n_failed := status.n_failed + status.n_failed_earlier:
        raise TrainingError(
            f"{n_failed} runs failed; see: mixmood testbed status --store {store}. "
            "Run them again with --retry-failed."
        )


@app.command()
def status(store: StoreOption) -> None:
    """Show how far a test bed is, from any terminal.

    Example: mixmood testbed status --store smoke
    """
    from mixmood.testbed.grid.cells import runs
    from mixmood.testbed.runs.driver import read_status
    from mixmood.testbed.runs.store import Store

    place = Store(store)
    failures = place.records(failed=True)
    typer.echo(f"test bed  {place.config.name}, {len(runs(place.config))} runs in its file")
    typer.echo(f"done      {len(place.keys())}")
    typer.echo(f"failed    {len(failures)}")
    last = read_status(place)
    if place.is_locked and last is not None:
        typer.echo(f"driver    process {last.pid} on {printable(last.host)}: {told(last)}")
        for name in last.running:
            typer.echo(f"running   {printable(name)}")
    else:
        typer.echo("driver    none")
    for record in failures:
        message = record["error"]["message"].strip().splitlines()[-1]
        typer.echo(f"error     {printable(describe(record))}: {printable(message)}")


app.command()(tables)
app.command()(correlate)
app.command()(report)


@contextmanager
def _nothing_kept() -> Iterator[None]:
    """Who interrupts here is not told that results are kept: there are none yet."""
    try:
        yield
    except KeyboardInterrupt:
        say("Interrupted before the first run: nothing was written.")
        raise typer.Exit(options.INTERRUPTED) from None


def _work(
    config: "Config", only: list[str], seeds: int | None, cache: str, device: str
) -> "list[Job]":
    """The jobs that are asked for, once nothing speaks against them."""
    from mixmood.testbed.grid.cells import Selection, runs
    from mixmood.testbed.grid.check import check_data, check_names
    from mixmood.testbed.runs.run import job_for

    wanted = runs(config, Selection.parse(only), seeds)
    check_names(config)
    work = [job_for(config, run, cache=cache, device=device) for run in wanted]
    check_data(work)
    return work


def _tracking(uri: str | None, store: "Store") -> "Callable[[Record | None], None]":
    """What logs a record to MLflow, if that was asked for; those in the store are logged now."""
    if uri is None:
        return lambda record: None
    from mixmood.testbed.runs.tracking import Tracker

    tracker = Tracker(uri, store.config.name, store.folder)
    is_well = True

    def log(record: "Record | None") -> None:
        nonlocal is_well
        if record is None or not is_well:
            return
        try:
            tracker.log(record)
        except OutputError as error:
            # The store has it all; a server that does not answer must not hold up the runs.
            is_well = False
            say(f"Warning: {error} Runs go on; what is missing there is logged at the next start.")

    for record in (*store.records(), *store.records(failed=True)):
        log(record)
    return log


def _say_plan(config: "Config", work: "list[Job]", n_jobs: int) -> None:
    from mixmood.testbed.grid.cells import cells
    from mixmood.testbed.grid.estimate import estimate

    n_cells = len({job.run.cell for job in work})
    typer.echo(f"test bed  {config.name}")
    typer.echo(f"cells     {n_cells} of {len(cells(config))}")
    typer.echo(f"runs      {len(work)}")
    algorithms = ", ".join(dict.fromkeys(job.run.cell.algorithm for job in work))
    say(f"Timing a few updates of {config.training.model} by {algorithms} ...")
    guess = estimate(work)
    n_at_once = min(n_jobs or 1, len(work))
    typer.echo(f"update    {guess.update_s:.3f} s")
    typer.echo(f"run       {duration(guess.run_s)}")
    typer.echo(f"all       {duration(guess.wall_s(n_at_once))} with {n_at_once} at once")


def _spread(backend: str, ray_address: str | None, gpus_per_run: float) -> "Spread":
    from mixmood.jobs.cluster import RaySpread
    from mixmood.jobs.local import spread_local

    if backend == "local":
        if gpus_per_run or ray_address:
            raise OptionError("--gpus-per-run and --ray-address go with --backend ray.")
        return spread_local
    if backend == "ray":
        return RaySpread(ray_address, gpus_per_run)
    raise unknown_name("backend", backend, BACKENDS)
