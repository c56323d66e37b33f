"""`mixmood.data_sets` and `mixmood.get_data_set`: the paper's data sets."""

from pathlib import Path

from mixmood.core.progress import Progress, Silent
from mixmood.core.suggest import unknown_name
from mixmood.data.sets.catalogue import CATALOGUE


def data_sets() -> dict[str, Path | None]:
    """Every data set of the paper, and others in the data folder: its file, None if not here."""
    from mixmood.data.sets.library import packed_sets

    return dict.fromkeys(CATALOGUE) | dict(packed_sets())


def get_data_set(name: str, *, progress: Progress | None = None) -> Path:
    """Fetch and verify a data set; the file in which it is kept, a pool for `rank` and `train`.

    Args:
        name: One of `data_sets()`.
        progress: Called with the bytes that were read.
    """
    from mixmood.data.sets.download import get
    from mixmood.data.sets.library import data_home

    check_data_set(name)
    return get(CATALOGUE[name], data_home(), progress or Silent())


def check_data_set(name: str, *others: str) -> None:
    """Refuse a name that is not in the catalogue; `others` are words that are allowed too."""
    if name not in CATALOGUE:
        raise unknown_name("data set", name, [*CATALOGUE, *others])
