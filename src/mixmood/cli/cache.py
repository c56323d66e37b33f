"""`mixmood cache`: show or empty the cache."""

from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Show or empty the cache.")

Directory = Annotated[
    str | None,
    typer.Option(
        "--cache", metavar="DIR", help="The folder of the cache.", show_default="the user's"
    ),
]


@app.command()
def info(cache: Directory = None) -> None:
    """Show where the cache is, how much is in it and how large it may grow.

    Example: mixmood cache info
    """
    from mixmood.core.cache import cache_info

    about = cache_info(cache)
    typer.echo(f"file      {about.path}")
    typer.echo(f"images    {about.n_images}")
    typer.echo(f"archives  {about.n_archives}")
    typer.echo(f"size      {about.n_bytes / 1024**2:.1f} MB")
    typer.echo(f"limit     {about.limit_bytes / 1024**2:.1f} MB (MIXMOOD_CACHE_MB)")


@app.command()
def clear(cache: Directory = None) -> None:
    """Delete everything in the cache; later runs compute it again.

    Example: mixmood cache clear
    """
    from mixmood.core.cache import clear_cache
    from mixmood.core.text import counted

    about = clear_cache(cache)
    typer.echo(
        f"Deleted the features of {counted(about.n_images, 'image')} and the index of "
        f"{counted(about.n_archives, 'archive')}."
    )
