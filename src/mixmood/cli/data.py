"""`mixmood data`: the paper's data sets."""

from typing import Annotated

import typer

from mixmood.cli import options
from mixmood.cli.bars import progress_bars
from mixmood.cli.streams import say
from mixmood.core.suggest import unknown_name
from mixmood.data.catalogue import CATALOGUE

app = typer.Typer(no_args_is_help=True, help="List or get the paper's data sets.")

ALL = "all"


@app.command("list")
def list_sets() -> None:
    """Show the data sets, which of them are here, their sizes, licences and sources.

    Example: mixmood data list
    """
    from mixmood.data.library import data_home, pack_path

    typer.echo(f"folder  {data_home()} (MIXMOOD_DATA)")
    for entry in CATALOGUE.values():
        state = "here" if pack_path(entry.name).is_file() else "not here"
        size = f"{entry.n_bytes / 10**6:.0f} MB"
        typer.echo(f"\n{entry.name}  {state}; {entry.title}, {entry.n_images} images, {size}")
        typer.echo(f"  licence  {entry.licence}")
        typer.echo(f"  cite     {entry.citation}")
        for file in entry.files:
            typer.echo(f"  from     {file.urls[0]}")
            typer.echo(f"  sha256   {file.sha256 or 'none published: taken on trust'}")


@app.command("get")
def get_sets(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names, or 'all'.")],
    quiet: options.Quiet = False,
) -> None:
    """Fetch data sets, verify them and keep them in a compact form; what is here stays.

    Example: mixmood data get mnist svhn
    """
    from mixmood.data.download import get
    from mixmood.data.library import data_home

    wanted = list(CATALOGUE) if ALL in names else names
    for name in wanted:
        if name not in CATALOGUE:
            raise unknown_name("data set", name, [*CATALOGUE, ALL])
    for name in wanted:
        with progress_bars(quiet, unit="bytes") as progress:
            pack = get(CATALOGUE[name], data_home(), progress)
        say(f"{name}: {CATALOGUE[name].licence}. Cite {CATALOGUE[name].citation}")
        typer.echo(str(pack))
