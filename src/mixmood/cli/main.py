"""The program: its commands, and how errors are shown."""

import errno
import os
import signal
import sys
from itertools import pairwise
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from mixmood.cli import cache, check, correlate, data, predict, rank, testbed, train
from mixmood.cli import filter as filter_command
from mixmood.cli import next as next_command
from mixmood.cli.terminal import INTERRUPTED, abandon_stdout, open_closed_streams, say
from mixmood.core.errors import MixmoodError, reason
from mixmood.core.interrupt import ENDS
from mixmood.core.version import __version__

DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}  # full, over quota, broken


class Commands(TyperGroup):
    """The group of all commands: an expected error becomes one line and an exit code."""

    def invoke(self, ctx: Any) -> object:
        """Run the command; `--debug` lets an error through with its traceback."""
        words = list(ctx.args)  # those of the command
        try:
            return super().invoke(ctx)
        except MixmoodError as error:
            if ctx.params.get("debug"):
                raise
            say(f"Error: {error}", style="bold red")
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            continues = " The same command continues from its cache or store, if it has one."
            say(f"Interrupted.{'' if _is_uncached(words) else continues}")
            raise typer.Exit(INTERRUPTED) from None


def _is_uncached(words: list[str]) -> bool:
    """Whether a command keeps nothing: by its words, or by the variable of the environment."""
    if any(word.startswith("--cache") for word in words):
        return "--cache=none" in words or ("--cache", "none") in pairwise(words)
    return os.environ.get("MIXMOOD_CACHE") == "none"


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help is instant: rich takes longer to import than all the rest
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mixmood {__version__}")
        raise typer.Exit


@app.callback()
def mixmood(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Which pool of unlabelled images should I train with?

    Begin with mixmood demo, then rank your own pools:

    Example: mixmood rank labelled/ web=crawl.zip clinic=scans/ noise:gaussian
    """


for command in (rank.rank, rank.demo, filter_command.filter, train.train, next_command.next):
    app.command()(command)
for command in (predict.predict, check.check, correlate.correlate):
    app.command()(command)
for name, group in {"cache": cache.app, "testbed": testbed.app, "data": data.app}.items():
    app.add_typer(group, name=name)


def main() -> None:
    """Entry point of the command line."""
    open_closed_streams()
    # Schedulers of clusters ask a job to end by this signal: it is treated like Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        try:
            app()
        finally:
            # Here and not at the exit of Python, when errors can no longer be printed.
            sys.stdout.flush()
            # Output is complete: a late Ctrl-C prints no traceback.
            for number in ENDS:
                if callable(signal.getsignal(number)):
                    signal.signal(number, signal.SIG_DFL)
    except BrokenPipeError:
        # The reader closed the pipe.
        abandon_stdout()
        sys.exit(1)
    except OSError as error:
        if error.errno not in DISK_ERRORS or "--debug" in sys.argv:
            raise
        abandon_stdout()
        say(f"Error: Cannot write the output: {reason(error)}. Make room, or write elsewhere.")
        sys.exit(1)
