"""Output files of a command, checked before any work is done."""

import os
from collections.abc import Iterable
from pathlib import Path

from mixmood.core.errors import InputError, OptionError
from mixmood.core.files import check_writable, expanded


def check_outputs(
    inputs: Iterable[str],
    *,
    json: str | None = None,
    csv: str | None = None,
    html: str | None = None,
    save: str | None = None,
) -> None:
    """Refuse an output that cannot be written, or would overwrite an input or another output.

    Args:
        inputs: Paths that the command reads, with their options; other words do no harm.
        json: A file, - for stdout, or None.
        csv: The same for CSV, or for the list of a filter.
        html: A file or None.
        save: The file of a fitted filter, or None.
    """
    from mixmood.data.images.names import split_options
    from mixmood.data.readers.files import is_read_by_a_folder

    if html == "-":
        raise OptionError("The page is written to a file, not to stdout. Give --html FILE.")
    targets = [target for target in (json, csv, html, save) if target is not None]
    places = [target if target == "-" else os.path.realpath(target) for target in targets]
    given = [expanded(path) for path in inputs]
    read = {os.path.realpath(split_options(path).path) for path in given}
    # A list of a list is read through both.
    read |= {str(one) for path in given for one in _lists_behind(path)}
    for target, place in zip(targets, places, strict=True):
        if place in read or any(is_read_by_a_folder(Path(place), Path(one)) for one in read):
            raise OptionError(f"{target} is one of the inputs. Name another file to write.")
        if places.count(place) > 1 and place != os.devnull:
            raise OptionError(
                f"Two results would be written to {target}, the second over the first. "
                "Give each a file of its own."
            )
        if target != "-":
            check_writable(target)


def _lists_behind(path: Path) -> list[Path]:
    from mixmood.data.readers.kept import chain_of_lists

    try:
        return chain_of_lists(path)
    except InputError:
        return []  # a list of itself: opening it reports the mistake, or sets the pool aside
