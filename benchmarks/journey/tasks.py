"""A labelled set, test images and five pools: clean, crawl, near, far and noise."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.heads.tasks import (
    FIRST_BREEDS,
    LOWER,
    OLD_VIEW,
    REPORT,
    Family,
    Pack,
    chosen_view,
    draw_rows,
    pack_of,
)
from mixmood.features.backbones.view import LAST, View

N_POOL = 500
LABELS_A_CLASS = (4, 12, 30)
MOST_TEST = 1500
FAR_SOURCES = ("svhn", "tiny_imagenet")
NOISES = ("gaussian", "salt-and-pepper")
DEVELOPMENT = (
    *(
        Family(f"{pack} 4 of 0-4", pack, LOWER, 4, ())
        for pack in ("mnist", "fashion_mnist", "cifar10")
    ),
    Family("pets 5 of first 7", "pets", FIRST_BREEDS, 5, ()),
)
"""The near pools hold the classes that were not drawn, which are no report classes."""
FAMILIES = {"development": {one.name: one for one in DEVELOPMENT}, "report": REPORT}
Rows = tuple[str, np.ndarray]
"""A pack and some of its images."""


@dataclass(frozen=True)
class Journey:
    """The images of one task and seed; features are read in any view.

    Attributes:
        labelled: The labelled images; `codes` are their classes.
        test: The test images; `test_codes` are their classes.
        pools: The images of each pool: parts of packs.
        view: The view that the labelled images choose.
    """

    folder: Path
    n_classes: int
    labelled: Rows
    codes: np.ndarray
    test: Rows
    test_codes: np.ndarray
    pools: dict[str, list[Rows]]
    view: View

    def features(self, parts: list[Rows], view: View | None = None) -> np.ndarray:
        """Features of images in the chosen view, or in another."""
        used = view or self.view
        return np.concatenate([pack_of(self.folder, name).at(used, rows) for name, rows in parts])

    @property
    def last_view(self) -> View:
        """The last layer at the chosen resolution, in which distances are measured."""
        return View(self.view.resolution, LAST)


def journey(folder: Path, family: Family, labels_a_class: int, seed: int) -> Journey:
    """The task of a seed; test images are the same for every number of labels."""
    pack = pack_of(folder, family.pack)
    n_labelled = labels_a_class * family.n_classes
    task = draw_rows(pack.labels, family, n_labelled, seed, 10**6, MOST_TEST)
    far, noise = _far(family, seed), NOISES[seed % len(NOISES)]
    # The clean pool has twice as many useful images as the crawl; both are small for photographs.
    n_clean = min(N_POOL, 2 * len(task.pool) // 3)
    useful = task.pool[n_clean:][: N_POOL // 3]
    third = len(useful)
    near = task.rng.permutation(_others(pack, family, task.classes))
    distant = task.rng.permutation(len(pack_of(folder, far).labels))
    pools = {
        "clean": [(family.pack, task.pool[:n_clean])],
        "crawl": [
            (family.pack, useful),
            (family.pack, near[:third]),
            (far, distant[:third]),
        ],
        "near": [(family.pack, near[third:][:N_POOL])],
        "far": [(far, distant[third:][:N_POOL])],
        "noise": [(noise, np.arange(N_POOL))],
    }
    return Journey(
        folder, family.n_classes, (family.pack, task.labelled), task.codes,
        (family.pack, task.test), task.test_codes, pools,
        chosen_view(pack, task.labelled, task.codes),
    )  # fmt: skip


def _far(family: Family, seed: int) -> str:
    if family.pack == "pets":
        return "imagenet_photos"
    names = [name for name in FAR_SOURCES if name != family.pack]
    return names[seed // 2 % len(names)]


def _others(pack: Pack, family: Family, classes: np.ndarray) -> np.ndarray:
    """Images of other classes of the same data."""
    if not family.classes:
        return np.flatnonzero(~np.isin(pack.labels, classes))
    outside = family.others or tuple(set(family.classes) - set(classes.tolist()))
    return np.flatnonzero(np.isin(pack.labels, outside))


__all__ = ["FAMILIES", "LABELS_A_CLASS", "OLD_VIEW", "Journey", "journey"]
