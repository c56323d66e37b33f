"""`mixmood data`: the paper's data sets."""

import os
from pathlib import Path
from typing import Annotated

import typer

from mixmood.cli import options
from mixmood.cli.terminal import Bars, readable, say
from mixmood.core.errors import InputError

app = typer.Typer(no_args_is_help=True, help="List or get the paper's data sets.")

ALL = "all"


@app.command("list")
def list_sets() -> None:
    """Show the data sets, which of them are here, their licences and sources.

    Example: mixmood data list
    """
    from mixmood.data.sets import CATALOGUE, data_home, packed_sets

    is_set = os.environ.get("MIXMOOD_DATA")
    hint = "from MIXMOOD_DATA" if is_set else "set MIXMOOD_DATA to use another"
    typer.echo(readable(f"folder  {data_home()} ({hint})"))
    packed = packed_sets()
    for entry in CATALOGUE.values():
        size = f"{entry.n_images} images, {entry.n_bytes / 10**6:.0f} MB to download"
        state = _here(packed.pop(entry.name)) if entry.name in packed else f"not here, {size}"
        typer.echo(readable(f"\n{entry.name}  {state}; {entry.title}"))
        typer.echo(f"  licence  {entry.licence}")
        typer.echo(f"  cite     {entry.citation}")
        for file in entry.files:
            for place, url in enumerate(file.urls):
                typer.echo(f"  {'or' if place else 'from':<8} {url}")
            typer.echo(f"  sha256   {file.sha256 or 'none published: not verified'}")
    for name, pack in packed.items():
        typer.echo(readable(f"\n{name}  {_here(pack)}"))


def _here(pack: Path) -> str:
    """How many images the stored file of a data set has; it may be a part of the set."""
    from mixmood.data.readers.array import count_npz

    try:
        return f"here, {count_npz(pack)} images"
    except InputError as error:
        return f"here, but broken: {error}"


@app.command("get")
def get_sets(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names, or 'all'.")],
    quiet: options.Quiet = False,
) -> None:
    """Download and verify data sets, and store them in a compact form.

    Example: mixmood data get mnist svhn
    """
    from mixmood.data.sets import CATALOGUE, check_data_set, get_data_set

    wanted = list(CATALOGUE) if ALL in names else names
    for name in wanted:
        check_data_set(name, ALL)
    for name in wanted:
        with Bars(quiet, unit="bytes") as bars:
            pack = get_data_set(name, listener=bars)
        say(f"{name}: {CATALOGUE[name].licence}. Cite {CATALOGUE[name].citation}")
        typer.echo(str(pack))
