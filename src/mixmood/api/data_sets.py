"""`mixmood.data_sets` and `mixmood.get_data_set`: the paper's data sets."""

from pathlib import Path

from mixmood.core.listener import Listener, Silent
from mixmood.core.text import unknown_name
from mixmood.data.sets import CATALOGUE


def data_sets() -> dict[str, Path | None]:
    """The path of every data set of the paper and of the data folder; None if not downloaded."""
    from mixmood.data.sets import packed_sets

    return dict.fromkeys(CATALOGUE) | dict(packed_sets())


def get_data_set(name: str, *, listener: Listener | None = None) -> Path:
    """Download and verify a data set of the paper; returns its file, a pool for `rank` and `train`.

    Args:
        name: The name of a data set of the paper.
        listener: Gets the number of bytes read, and warnings.
    """
    from mixmood.data.download import get
    from mixmood.data.sets import data_home

    check_data_set(name)
    return get(CATALOGUE[name], data_home(), listener or Silent())


def check_data_set(name: str, *others: str) -> None:
    """Refuse a name that is not in the catalogue; the error also suggests `others`."""
    if name not in CATALOGUE:
        raise unknown_name("data set", name, [*CATALOGUE, *others])
