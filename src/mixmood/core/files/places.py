"""The directories of the user, also for a user without a home directory."""

import os
from collections.abc import Callable
from pathlib import Path

from mixmood.core.errors import OutputError, reason


def expanded(path: str | Path) -> Path:
    """The path with `~` replaced by the home directory; unchanged where there is none."""
    # `Path.expanduser` would raise; here such a path is simply one that does not exist.
    return Path(os.path.expanduser(path))  # noqa: PTH111


def own_place(find: Callable[[str], str]) -> Path | None:
    """The directory that `find` gives for mixmood; None for a user without a home directory.

    Args:
        find: A function of platformdirs, such as `user_cache_dir`.
    """
    try:
        return Path(find("mixmood")).expanduser()
    except RuntimeError:
        return None


def make_folder(path: Path, advice: str = "Choose another place.") -> Path:
    """The folder, made with its parents if it does not exist; OutputError if that fails."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"Cannot make the folder {path}: {reason(error)}. {advice}") from error
    return path
