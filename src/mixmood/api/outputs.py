"""What commands hand to users: files that may be written, pictures to label, the next command."""

import os
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from mixmood.core.errors import InputError, OptionError
from mixmood.core.files import check_writable, expanded
from mixmood.core.records.labelling import MOST_IMAGES, LabelImage
from mixmood.data.images.decode import jpeg_uri
from mixmood.data.images.names import split_options, with_frames_option
from mixmood.data.images.pool import FeatureSource, Pool
from mixmood.data.readers.files import is_read_by_a_folder
from mixmood.data.readers.kept import chain_of_lists
from mixmood.features.plan import ExtractionPlan
from mixmood.ssl.plan import TrainingRunPlan

STDOUT = "-"


class PicturedReport:
    """A record with methods that show it, and the sets from which its page gets pictures."""

    _sets: Any = None  # no field: no part of the record, its JSON or its equality

    @classmethod
    def of(cls, record: object, sets: Any = None) -> Self:
        """The report of a record; without the sets, its page has no pictures."""
        report = cls(**vars(record))
        vars(report)["_sets"] = sets
        return report

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles hold: pools and caches hold locks, which cannot be copied."""
        return {name: value for name, value in vars(self).items() if name != "_sets"}


def check_outputs(
    inputs: Iterable[Any],
    files: Iterable[str | Path | None],
    folders: Iterable[str | Path | None] = (),
) -> None:
    """Refuse an output that cannot be written, or would change an input or another output."""
    read: set[Path] = set()
    for path in (expanded(what) for what in inputs if isinstance(what, str | Path)):
        read.add(Path(os.path.realpath(split_options(path)[0])))
        # A list of itself: opening it reports the mistake, or sets the pool aside.
        with suppress(InputError):
            read.update(chain_of_lists(path))
    targets = [target for target in files if target is not None]
    places = [target if target == STDOUT else os.path.realpath(target) for target in targets]
    for target, place in zip(targets, places, strict=True):
        if Path(place) in read or any(is_read_by_a_folder(Path(place), one) for one in read):
            raise OptionError(f"{target} is one of the inputs. Name another file to write.")
        if places.count(place) > 1 and place != os.devnull:
            raise OptionError(
                f"Two results would be written to {target}, the second over the first. "
                "Give each a file of its own."
            )
        if target != STDOUT:
            check_writable(target)
    inside = [one for one in read if one.is_dir()]
    for folder in folders:
        made = None if folder is None else Path(folder).resolve()
        if made is not None and any(made.is_relative_to(one) for one in inside):
            raise OptionError(
                f"{folder} lies inside one of the inputs and would become a part of it. Name a "
                "folder elsewhere."
            )


def pictures_of(images: Sequence[LabelImage], pools: Mapping[str, Pool]) -> list[str | None]:
    """Each image as a data URI; None where it cannot be read any more."""
    if len(images) > MOST_IMAGES:
        raise InputError(
            f"A page to label on holds at most {MOST_IMAGES} pictures; got {len(images)}. "
            "Ask for fewer."
        )
    found: list[str | None] = []
    for one in images:
        pool = pools[one.pool]
        if isinstance(pool, FeatureSource):
            raise InputError(f"{pool.name} holds features: there are no pictures to label.")
        (picture,) = pool.read([one.index])
        found.append(jpeg_uri(picture) if isinstance(picture, np.ndarray) else None)
    return found


# Options that are repeated in the next command, if it has them.
CARRIED = ("backbone", "resolution", "depth", "frames", "groups", "labels", "seed")


def train_command(
    sets: Sequence[Any],
    out: str,
    plan: ExtractionPlan,
    classes: Collection[str] | None,
    lists: Sequence[Any] = (),
    options: Sequence[str] = (),
) -> str | None:
    """The command that trains with these sets; None unless all are paths, and without classes.

    `lists` are further pools: lists of `filter`, which say which frames they hold.
    """
    if len(classes or ()) < 2:  # a classifier needs two
        return None
    # `train` has no option for frames: the paths say it.
    framed = [with_frames_option(one, plan.frames) for one in sets]
    return command_for("train", (*framed, *lists), out, [*carried(plan, TrainingRunPlan), *options])


def command_for(name: str, sets: Sequence[Any], out: str, options: Sequence[str]) -> str | None:
    """A command with these sets; None unless all are paths."""
    if not all(isinstance(one, str | os.PathLike) for one in sets):
        return None
    return shlex.join(["mixmood", name, *map(str, sets), "--out", out, *options])


def carried(plan: ExtractionPlan, other: type) -> list[str]:
    """The options that the next command needs to treat images in the same way."""
    names = {one.name for one in fields(other)}.intersection(CARRIED)
    words = []
    for one in fields(plan):
        value = getattr(plan, one.name)
        if one.name in names and value != one.default:
            values = value if isinstance(value, tuple) else (value,)
            words += [word for part in values for word in (f"--{one.name}", str(part))]
    return words


def slug(name: str) -> str:
    """A pool's name as a part of a file's name.

    >>> slug("more digits 0-4"), slug("../..")
    ('more-digits-0-4', 'pool')
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") or "pool"
