"""`mixmood cache`: what is kept between runs, and forgetting it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixmood.core.errors import InputError

if TYPE_CHECKING:
    from mixmood.core.cache.features import FeatureCache

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
    with _existing(cache) as store:
        about = store.info()
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
    with _existing(cache) as store:
        about = store.info()
        store.clear()
        _refuse_if_closed(store)
    typer.echo(
        f"Forgot the features of {about.n_images} images and the places of images in "
        f"{about.n_archives} archives."
    )


def _existing(directory: str | None) -> "FeatureCache":
    from mixmood.core.cache.features import FILE_NAME, FeatureCache, cache_directory

    place = cache_directory() if directory is None else directory
    if place is None:
        raise InputError(
            "There is no cache: MIXMOOD_CACHE is 'none', or this user has no home. "
            "Name one with --cache DIR."
        )
    if not (Path(place) / FILE_NAME).exists():
        raise InputError(f"There is no cache in {place}: nothing was kept there yet.")
    store = FeatureCache(place)
    _refuse_if_closed(store)
    return store


def _refuse_if_closed(store: "FeatureCache") -> None:
    if not store.is_open:
        raise InputError(" ".join(store.warnings))


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1024**2:.1f} MB"
