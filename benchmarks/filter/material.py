"""Pools whose foreign images are known: a task, a source mixed into its pool, a share, a seed.

Features come from `python -m benchmarks.heads.features PACKS OUT`. Development tasks use classes 0
to 4 of three packs and the first seven breeds of the photographs only; as near foreign images they
have those of these classes that the task leaves out, so that no class of a report task is seen
while something is chosen. All features are in the view that the labelled images choose.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.heads.tasks import FIRST_BREEDS, LAST_BREEDS, OLD_VIEW, Pack, chosen_view, pack_of
from mixmood.core.seeds import rng_for
from mixmood.features.backbones.view import View

DEVELOPMENT = ("mnist", "fashion_mnist", "cifar10", "pets")
REPORT = ("mnist", "fashion_mnist", "cifar10", "svhn", "digits", "fashion_product", "pets")
PHOTO_SOURCES = ("imagenet_photos", "gaussian")
DEVELOPMENT_SOURCES = ("gaussian", "salt-and-pepper", "svhn", "tiny_imagenet")
REPORT_SOURCES = (
    *("gaussian", "salt-and-pepper", "svhn", "tiny_imagenet"),
    *("mnist", "fashion_mnist", "cifar10", "fashion_product"),
)
OTHER = "other classes"
NEAR_PAIRS = {("cifar10", "tiny_imagenet"), ("fashion_mnist", "fashion_product")}
NEAR_PAIRS |= {("fashion_product", "fashion_mnist"), ("digits", "mnist"), ("mnist", "digits")}
"""Sources that show things of the same kind as the task, in another data set."""


@dataclass(frozen=True)
class Scene:
    """Labelled images, a pool of useful and foreign ones, and test images, all as features."""

    labelled: np.ndarray
    labels: np.ndarray
    pool: np.ndarray
    is_useful: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray
    view: View


def is_near(task: str, source: str) -> bool:
    """Whether a source is near: other classes of the same data, or the same kind of things."""
    return source == OTHER or (task, source) in NEAR_PAIRS


def tasks(part: str) -> tuple[str, ...]:
    """The data sets of a part of the evidence: "development" or "report"."""
    return DEVELOPMENT if part == "development" else REPORT


def sources(part: str, task: str) -> tuple[str, ...]:
    """The foreign sources of a task."""
    if task == "pets":
        return (OTHER, *PHOTO_SOURCES)
    names = DEVELOPMENT_SOURCES if part == "development" else REPORT_SOURCES
    return (OTHER, *(name for name in names if name != task))


def classes(folder: Path, part: str, task: str, source: str, seed: int) -> tuple[list, list]:
    """The classes of a task and the classes of the same data that are foreign to it."""
    labels = pack_of(folder, task).labels
    if task == "pets" and part == "report":
        return list(LAST_BREEDS), list(FIRST_BREEDS)
    if task == "pets":
        order = rng_for(seed, "classes", task).permutation(FIRST_BREEDS).tolist()
        return (order[:4], order[4:]) if source == OTHER else (sorted(order), [])
    if part == "development":
        if source != OTHER:
            return [0, 1, 2, 3, 4], []
        order = rng_for(seed, "classes", task).permutation(5).tolist()
        return order[:3], order[3:]
    counts = Counter(labels.tolist())
    if task == "fashion_product":
        largest = sorted(counts, key=lambda c: (-counts[c], c))
        return largest[:5], largest[5:]
    if task in ("svhn", "digits"):
        order = rng_for(seed, "classes", task).permutation(10).tolist()
        return order[:5], order[5:]
    return [5, 6, 7, 8, 9], [0, 1, 2, 3, 4]


def foreign_images(
    folder: Path, part: str, task: str, source: str, seed: int
) -> tuple[Pack, np.ndarray, np.random.Generator]:
    """The pack of a source, its images that are foreign to a task in random order, a generator."""
    outside = pack_of(folder, task if source == OTHER else source)
    foreign = np.arange(len(outside.labels))
    if source == OTHER:
        other = classes(folder, part, task, source, seed)[1]
        foreign = np.flatnonzero(np.isin(outside.labels, other))
    draw = rng_for(seed, "foreign", part, task, source)
    return outside, draw.permutation(foreign), draw


def scene(
    folder: Path,
    part: str,
    task: str,
    source: str,
    foreign_share: float,
    seed: int,
    *,
    n_labelled: int = 60,
    n_pool: int = 1000,
    n_test: int = 1500,
    first_class: float = 1.0,
    in_old_view: bool = False,
) -> Scene:
    """Draw a scene; `first_class` is how common its first class is, compared with the others.

    A small data set gives what it has: useful images are first set aside for labels, then half of
    the rest each go to the pool and to the test.
    """
    pack = pack_of(folder, task)
    y = pack.labels
    own, _ = classes(folder, part, task, source, seed)
    # The source is no part of the seed: at one seed, labelled and test images stay the same.
    rng = rng_for(seed, "scene", part, task, *own)
    by_class = {c: rng.permutation(np.flatnonzero(y == c)) for c in own}
    each = n_labelled // len(own)
    labelled = np.concatenate([by_class[c][:each] for c in own])
    halves = {c: np.array_split(by_class[c][each:], 2) for c in own}
    test = rng.permutation(np.concatenate([halves[c][1] for c in own]))[:n_test]
    weights = [first_class, *[1.0] * (len(own) - 1)]
    available = np.concatenate([halves[c][0] for c in own])
    chance = np.concatenate(
        [
            np.full(len(halves[c][0]), w / len(halves[c][0]))
            for c, w in zip(own, weights, strict=True)
        ]
    )
    if task == "fashion_product" and first_class == 1.0:
        chance = np.ones(len(available))
    outside, foreign, draw = foreign_images(folder, part, task, source, seed)
    n_pool = min(n_pool, int(0.8 * len(available)), len(foreign))
    n_foreign = round(foreign_share * n_pool)
    useful = rng.choice(available, n_pool - n_foreign, replace=False, p=chance / chance.sum())
    added = foreign[:n_foreign]
    order = draw.permutation(n_pool)
    view = OLD_VIEW if in_old_view else _view(folder, task, tuple(labelled.tolist()))
    codes = {c: i for i, c in enumerate(own)}
    return Scene(
        pack.at(view, labelled),
        np.array([codes[c] for c in y[labelled]]),
        np.concatenate([pack.at(view, useful), outside.at(view, added)])[order],
        order < len(useful),
        pack.at(view, test),
        np.array([codes[c] for c in y[test]]),
        view,
    )


@cache
def _view(folder: Path, task: str, labelled: tuple[int, ...]) -> View:
    """The view that these labelled images choose."""
    pack, rows = pack_of(folder, task), np.array(labelled)
    return chosen_view(pack, rows, np.unique(pack.labels[rows], return_inverse=True)[1])
