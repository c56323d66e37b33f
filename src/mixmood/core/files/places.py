"""Where things of a user are kept, also for a user without a home."""

import os
from collections.abc import Callable
from pathlib import Path


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
