"""The one place that holds the version, and the versions of other packages."""

from functools import cache

__version__ = "0.1.0"


@cache  # reading the metadata of a package takes milliseconds, and every run of a test bed asks
def package_version(name: str) -> str | None:
    """The version of an installed package; None if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None
