"""`mixmood cache`: what is kept between runs, and forgetting it."""

from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Show or empty the cache.")

Directory = Annotated[
    str | None,
    typer.Option("--cache", metavar="DIR", help="The cache; the user's own if left out."),
]


@app.command()
def info(cache: Directory = None) -> None:
    """Show where the cache is, what it holds and how large it may grow.

    Example: mixmood cache info
    """
    from mixmood.api.cache import cache_info

    about = cache_info(cache)
    typer.echo(f"file      {about.path}")
    typer.echo(f"images    {about.n_images}")
    typer.echo(f"archives  {about.n_archives}")
    typer.echo(f"size      {_megabytes(about.n_bytes)}")
    typer.echo(f"limit     {_megabytes(about.limit_bytes)} (MIXMOOD_CACHE_MB)")


@app.command()
def clear(cache: Directory = None) -> None:
    """Forget all that is kept; the next run finds it again.

    Example: mixmood cache clear
    """
    from mixmood.api.cache import clear_cache

    about = clear_cache(cache)
    typer.echo(
        f"Forgot the features of {about.n_images} images and the places of images in "
        f"{about.n_archives} archives."
    )


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1024**2:.1f} MB"
