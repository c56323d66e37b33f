"""Tasks with few labels, drawn from extracted features: for choosing, and for reporting.

Development tasks use classes 0 to 4 of three packs and the first seven breeds of the photographs;
report tasks use classes that no setting was chosen on. The folder of features is that of
`benchmarks.heads.features`. A task is looked at in the view that its labelled images choose.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from mixmood.core.errors import InputError
from mixmood.core.seeds import rng_for
from mixmood.evidence.view import BackboneView, ViewEvidence
from mixmood.features.backbones.view import BOTH, DEPTHS, LAST, RESOLUTIONS, View, joined

OLD_VIEW = View(RESOLUTIONS[0], LAST)

LOWER, UPPER = (0, 1, 2, 3, 4), (5, 6, 7, 8, 9)
FIRST_BREEDS, LAST_BREEDS = tuple(range(7)), tuple(range(7, 14))
PHOTO_SOURCES = ("imagenet_photos", "tiny_imagenet", "gaussian")
FAR = ("gaussian", "salt-and-pepper", "svhn", "tiny_imagenet")
OTHER_HALF = "other half"
N_TEST, N_POOL = 1500, 1000
MOST_LABELS = 200


@dataclass(frozen=True)
class Family:
    """Where the tasks of one name come from."""

    name: str
    pack: str
    classes: tuple[int, ...]
    """The classes that may be the task's."""
    n_classes: int
    """How many of them a task has, drawn for each seed; all of them if as many as there are."""
    sources: tuple[str, ...]
    others: tuple[int, ...] = ()
    """Classes of the other half; those of `classes` that were not drawn if empty."""


DEVELOPMENT = {
    family.name: family
    for pack in ("mnist", "fashion_mnist", "cifar10")
    for family in (
        Family(f"{pack} 0-4", pack, LOWER, 5, FAR),
        # Classes 5 to 9 are for reporting: the other half of these is what was not drawn.
        Family(f"{pack} 3 of 0-4", pack, LOWER, 3, (OTHER_HALF,)),
    )
} | {
    "pets first 7": Family("pets first 7", "pets", FIRST_BREEDS, 7, PHOTO_SOURCES),
    "pets 4 of first 7": Family("pets 4 of first 7", "pets", FIRST_BREEDS, 4, ("other half",)),
}
ALL = (OTHER_HALF, *FAR, "fashion_product")
REPORT = {
    "mnist 5-9": Family("mnist 5-9", "mnist", UPPER, 5, ALL, LOWER),
    "fashion_mnist 5-9": Family("fashion_mnist 5-9", "fashion_mnist", UPPER, 5, ALL, LOWER),
    "cifar10 5-9": Family("cifar10 5-9", "cifar10", UPPER, 5, ALL, LOWER),
    "svhn": Family(
        "svhn", "svhn", tuple(range(10)), 5, tuple(name for name in ALL if name != "svhn")
    ),
    "digits": Family("digits", "digits", tuple(range(10)), 5, ALL),
    # The five largest categories; the other half is all the rest of that pack.
    "fashion_product": Family("fashion_product", "fashion_product", (), 5, ALL[:-1]),
    "pets last 7": Family(
        "pets last 7", "pets", LAST_BREEDS, 7, (OTHER_HALF, *PHOTO_SOURCES), FIRST_BREEDS
    ),
}


@dataclass(frozen=True)
class Task:
    """Labelled rows, test rows and unlabelled rows of one seed."""

    features: np.ndarray
    codes: np.ndarray
    test_features: np.ndarray
    test_codes: np.ndarray
    clean: np.ndarray
    foreign: dict[str, np.ndarray]
    view: View = OLD_VIEW

    def pool(self, source: str, percent: int) -> np.ndarray:
        """As many rows as the clean pool has, `percent` of them from a source."""
        n_foreign = round(len(self.clean) * percent / 100)
        own = self.clean[: len(self.clean) - n_foreign]
        return np.concatenate([own, self.foreign[source][:n_foreign]]) if n_foreign else own

    def pools(self) -> dict[tuple[str, int], np.ndarray]:
        """The clean pool and, of each source, a half and a wholly foreign one."""
        mixed = {(s, p): self.pool(s, p) for s in self.foreign for p in (50, 100)}
        return {("clean", 0): self.clean, **mixed}


@dataclass(frozen=True)
class Pack:
    """The blocks of a pack's images at every resolution, and their labels."""

    blocks: dict[int, dict[str, np.ndarray]]
    labels: np.ndarray

    def at(self, view: View, rows: np.ndarray) -> np.ndarray:
        """The features of some images in a view, shape (n, d)."""
        found = self.blocks[view.resolution]
        needed = {name: found[name][rows].astype(np.float32) for name in DEPTHS[view.depth]}
        return joined(needed, view.depth)


@cache
def pack_of(folder: Path, name: str) -> Pack:
    """A pack; its blocks are read from disk when they are used."""
    blocks = {
        side: {
            block: np.load(folder / f"{name}-{side}-{block}.npy", mmap_mode="r")
            for block in DEPTHS[BOTH]
        }
        for side in RESOLUTIONS
    }
    return Pack(blocks, np.load(folder / f"{name}.labels.npy"))


def rows_of(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features of a pack in the old view, and labels."""
    pack = pack_of(folder, name)
    return pack.at(OLD_VIEW, np.arange(len(pack.labels))), pack.labels


def chosen_view(pack: Pack, rows: np.ndarray, codes: np.ndarray) -> View:
    """The view that these labelled images choose; the fixed rule where they cannot."""
    views = [View(side, depth) for side in RESOLUTIONS for depth in DEPTHS]
    features = {BackboneView("", view): pack.at(view, rows) for view in views}
    evidence = ViewEvidence(features, codes, [int(row).to_bytes(8) for row in rows])
    try:
        return evidence.choice.chosen.view
    except InputError:
        return views[-1]


@dataclass(frozen=True)
class TaskRows:
    """Which images of a pack make up a task of one seed."""

    labelled: np.ndarray
    codes: np.ndarray
    test: np.ndarray
    test_codes: np.ndarray
    pool: np.ndarray
    classes: np.ndarray
    rng: np.random.Generator
    """Goes on to draw the foreign images."""


def draw_rows(
    labels: np.ndarray,
    family: Family,
    n_labelled: int,
    seed: int,
    n_pool: int = N_POOL,
    n_test: int | None = N_TEST,
) -> TaskRows:
    """Test images first, so that they are the same for every number of labels.

    `n_test` are at most 40 % of the images; with None, all that labels and pool do not need.
    """
    rng = rng_for(seed, "task", family.name)
    classes = drawn_classes(family, labels, rng)
    rows = rng.permutation(np.flatnonzero(np.isin(labels, classes)))
    most = int(0.4 * len(rows))
    wanted = max(most, len(rows) - n_pool - MOST_LABELS) if n_test is None else min(n_test, most)
    test, rest = rows[:wanted], rows[wanted:]
    chosen = balanced(labels[rest], classes, n_labelled)
    pool = np.setdiff1d(np.arange(len(rest)), chosen, assume_unique=True)[:n_pool]
    labelled = rest[chosen]
    codes, test_codes = (np.searchsorted(classes, labels[of]) for of in (labelled, test))
    return TaskRows(labelled, codes, test, test_codes, rest[pool], classes, rng)


def draw(
    folder: Path,
    family: Family,
    n_labelled: int,
    seed: int,
    view: View | None = None,
    **sizes: int | None,
) -> Task:
    """The features of one task, and those of every source of foreign images.

    They are in the chosen view, or in the one that is given. `sizes` are `n_pool` and `n_test` of
    `draw_rows`.
    """
    pack = pack_of(folder, family.pack)
    task = draw_rows(pack.labels, family, n_labelled, seed, **sizes)
    used = view or chosen_view(pack, task.labelled, task.codes)
    foreign = {}
    for source in family.sources:
        others = pack if source == OTHER_HALF else pack_of(folder, source)
        usable = np.arange(len(others.labels))
        if source == OTHER_HALF:
            is_own = np.isin(others.labels, task.classes)
            outside = np.isin(
                others.labels, family.others or tuple(set(family.classes) - set(task.classes))
            )
            usable = np.flatnonzero(outside & ~is_own if family.classes else ~is_own)
        picked = task.rng.permutation(usable)[: len(task.pool)]
        # A source that is too small is drawn with repetition, as a crawl with copies would be.
        foreign[source] = others.at(used, np.resize(picked, len(task.pool)))
    return Task(
        pack.at(used, task.labelled),
        task.codes,
        pack.at(used, task.test),
        task.test_codes,
        pack.at(used, task.pool),
        foreign,
        used,
    )


def in_last_layer(drawn: Callable[..., Task], task: Task) -> Task:
    """The same images of a task in the last layer, at its resolution: what distances are taken of.

    `drawn` draws the task, given the view.
    """
    return task if task.view.depth == LAST else drawn(view=View(task.view.resolution, LAST))


def drawn_classes(family: Family, labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The task's classes in order: the largest of the pack, all of the family's or some of them."""
    if not family.classes:
        return np.sort(np.argsort(-np.bincount(labels), kind="stable")[: family.n_classes])
    if len(family.classes) == family.n_classes:
        return np.array(family.classes)
    return np.sort(rng.choice(family.classes, family.n_classes, replace=False))


def balanced(labels: np.ndarray, classes: np.ndarray, n_rows: int) -> np.ndarray:
    """The first rows of each class, as many of each, in their order."""
    each = np.full(len(classes), n_rows // len(classes))
    each[: n_rows % len(classes)] += 1
    picked = [np.flatnonzero(labels == c)[:n] for c, n in zip(classes, each, strict=True)]
    return np.sort(np.concatenate(picked))
