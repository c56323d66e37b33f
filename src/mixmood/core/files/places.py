"""Where things of a user are kept, also for a user without a home."""

import os
from collections.abc import Callable
from pathlib import Path

from mixmood.core.errors import OutputError, reason


def expanded(path: str | Path) -> Path:
    """The path with its `~` replaced by a home directory; unchanged where there is none."""
    # Unlike `Path.expanduser`, which raises: then such a path is one that does not exist.
    return Path(os.path.expanduser(path))  # noqa: PTH111


def own_place(find: Callable[[str], str]) -> Path | None:
    """The place of this program that `find` knows; None for a user without a home.

    Args:
        find: A function of platformdirs, such as `user_cache_dir`.
    """
    try:
        return Path(find("mixmood")).expanduser()
    except RuntimeError:
        return None


def make_folder(path: Path, advice: str = "Choose another place.") -> Path:
    """The folder, made with those above it where it is not there; OutputError if it cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"Cannot make the folder {path}: {reason(error)}. {advice}") from error
    return path
