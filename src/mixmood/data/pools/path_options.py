"""Options behind a path: `?label=COLUMN`, `?frames=WHICH` or `?label=COLUMN&frames=WHICH`."""

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from mixmood.data.medical.frames import MIDDLE
from mixmood.data.pools.noise import PREFIX as NOISE_PREFIX

_OPTIONS = re.compile(r"(.+?)\?(?:frames=(\w+)|label=(.+?)(?:&frames=(\w+))?)", re.DOTALL)


class PathWithOptions(NamedTuple):
    """A path, its column of classes and its choice of frames; None for an absent option."""

    path: Path
    label: str | None
    frames: str | None


def split_options(path: Path) -> PathWithOptions:
    """The path without its options, and the options; a file of the whole name has none."""
    match = _OPTIONS.fullmatch(str(path))
    # Not `Path.exists`, which raises for names that are too long.
    if match is None or os.path.exists(path):  # noqa: PTH110
        return PathWithOptions(path, None, None)
    return PathWithOptions(Path(match[1]), match[3], match[2] or match[4])


def with_frames_option(what: Any, frames: str) -> Any:
    """The path with its choice of frames written out; anything but a path is returned unchanged.

    >>> with_frames_option("scans", "each")
    'scans?frames=each'
    """
    is_path = isinstance(what, str | os.PathLike) and not is_url_or_noise(what)
    if frames == MIDDLE or not is_path:
        return what
    options = split_options(Path(what))
    if options.frames is not None:
        return what
    return f"{what}{'?' if options.label is None else '&'}frames={frames}"


def is_url_or_noise(what: Any) -> bool:
    """Whether a pool is named by a URL or is noise, so that its name is not a path."""
    return isinstance(what, str) and ("://" in what or what.startswith(NOISE_PREFIX))
