"""One controlled contamination: which images are labelled, unlabelled and tested on.

The order of a task's images depends on the task and the seed alone, and its parts are cut from
that order at places that neither source nor percent can move:

    | test | validation | labelled -> ...  left over  ... <- unlabelled |

So the runs of one seed share their labelled, validation and test images, a larger labelled set
holds the smaller ones, and the pool at 50 % holds half of the pool at 0 % and half of that at
100 %: cells can be compared pair by pair.
"""

from dataclasses import asdict, dataclass
from typing import Literal, get_args

import numpy as np

from mixmood.core.arrays import Codes, Rows
from mixmood.core.errors import InputError, OptionError
from mixmood.core.seeds import rng_for
from mixmood.core.suggest import unknown_name
from mixmood.data.pools.pool import ImageSource, Labels

Contamination = Literal["fixed-total", "fixed-inliers"]

NONE = "none"
OTHER_HALF = "other_half"
NOISE = {"gaussian": "gaussian", "salt_and_pepper": "salt-and-pepper"}
"""Sources that are made on demand, and what `data.noise` calls them."""


@dataclass(frozen=True)
class Scenario:
    """What decides a split, all of it.

    Attributes:
        task: The data set whose classes are learned.
        source: Where out-of-distribution images come from: a data set, `other_half` (the classes
            of the task that were not chosen), `gaussian`, `salt_and_pepper`, or `none`.
        percent: Out-of-distribution images as a percentage of `n_unlabelled`.
        n_labelled: Labelled images.
        seed: Decides classes and images.
        n_unlabelled: Unlabelled images, before contamination.
        contamination: `fixed-total` puts them in the place of others, as in the paper;
            `fixed-inliers` adds them to the others.
        n_classes: How many random classes make up the task.
        test_share: Share of the images of these classes that is only tested on.
        n_validation: Further images with labels, to choose an epoch by.
        balanced: Draw the same number of labelled images from each class; otherwise at random,
            at least one from each.
        image_scale: Side of the images used, relative to the task's own.
    """

    task: str
    source: str = NONE
    percent: float = 0.0
    n_labelled: int = 60
    seed: int = 0
    n_unlabelled: int = 3000
    contamination: Contamination = "fixed-total"
    n_classes: int = 5
    test_share: float = 0.25
    n_validation: int = 60
    balanced: bool = False
    image_scale: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what no data set could give."""
        if not 0 <= self.percent <= 100:
            raise OptionError(f"percent must lie between 0 and 100; got {self.percent:g}.")
        if (self.source == NONE) != (self.percent == 0):
            raise OptionError(
                f"The source 'none' goes with 0 percent, and no other does; got '{self.source}' "
                f"with {self.percent:g}."
            )
        if self.contamination not in get_args(Contamination):
            raise unknown_name("contamination", self.contamination, get_args(Contamination))
        if not 0 < self.test_share < 1:
            raise OptionError(f"test_share must lie between 0 and 1; got {self.test_share:g}.")
        if self.image_scale <= 0:
            raise OptionError(f"image_scale must be above 0; got {self.image_scale:g}.")
        if min(self.n_unlabelled, self.n_classes - 1) < 1 or self.n_validation < 0:
            raise OptionError(
                "At least 2 classes, 1 unlabelled image and 0 validation images are needed; got "
                f"{self.n_classes}, {self.n_unlabelled} and {self.n_validation}."
            )
        if self.n_labelled < self.n_classes:
            raise OptionError(
                f"n_labelled must be at least {self.n_classes}, one for each class; "
                f"got {self.n_labelled}."
            )

    @property
    def n_ood(self) -> int:
        """How many out-of-distribution images the pool gets."""
        return round(self.n_unlabelled * self.percent / 100)

    @property
    def n_inliers(self) -> int:
        """How many images of the task's own classes the pool gets."""
        is_added = self.contamination == "fixed-inliers"
        return self.n_unlabelled if is_added else self.n_unlabelled - self.n_ood

    def to_dict(self) -> dict[str, object]:
        """The scenario in plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Cut:
    """Which images of the task go where, by index.

    `codes` has for every image of the task its class among the chosen ones, -1 outside them.
    """

    class_names: tuple[str, ...]
    codes: Codes
    test: Rows
    validation: Rows
    labelled: Rows
    inliers: Rows
    other_half: Rows


def cut(scenario: Scenario, task: ImageSource) -> Cut:
    """The split of the task's own images; refuses what the data set is too small for."""
    labels = _labels_of(task, scenario)
    rng = rng_for(scenario.seed, "scenario", scenario.task, "classes")
    classes = sorted(rng.choice(len(labels.names), scenario.n_classes, replace=False).tolist())
    renumbered = np.full(len(labels.names), -1, dtype=np.int64)
    renumbered[classes] = np.arange(len(classes))
    codes = np.asarray(renumbered[labels.codes])
    chosen = np.flatnonzero(codes >= 0)
    order = rng_for(scenario.seed, "scenario", scenario.task, "order").permutation(chosen)
    n_test = round(scenario.test_share * len(order))
    ends = np.cumsum([n_test, scenario.n_validation])
    test, validation, rest = np.split(order, ends)
    _check_enough(scenario, len(rest), len(order))
    labelled = _first_labelled(rest, codes, scenario)
    left = rest[~np.isin(rest, labelled)]
    # From the end: the pool is the same whatever the number of labelled images.
    inliers = left[::-1][: scenario.n_inliers]
    names = tuple(labels.names[code] for code in classes)
    return Cut(names, codes, test, validation, labelled, inliers, np.flatnonzero(codes < 0))


def _labels_of(task: ImageSource, scenario: Scenario) -> Labels:
    if task.labels is None:
        raise InputError(
            f"The data set '{scenario.task}' has no labels and cannot be a task. "
            "Use it as a source, or choose another task."
        )
    if len(task.labels.names) < scenario.n_classes:
        raise InputError(
            f"{scenario.n_classes} classes were wanted; '{scenario.task}' has "
            f"{len(task.labels.names)}. Lower n_classes."
        )
    return task.labels


def _check_enough(scenario: Scenario, n_rest: int, n_all: int) -> None:
    wanted = scenario.n_labelled + scenario.n_inliers
    if n_rest < wanted:
        raise InputError(
            f"{scenario.n_classes} classes of '{scenario.task}' have {n_all} images here, which "
            f"leaves {max(n_rest, 0)} beside test and validation; {scenario.n_labelled} labelled "
            f"and {scenario.n_inliers} unlabelled ones were wanted. Lower n_labelled or "
            "n_unlabelled."
        )


def _first_labelled(rest: Rows, codes: Codes, scenario: Scenario) -> Rows:
    """The labelled images in an order in which every class comes early."""
    _, first, inverse = np.unique(codes[rest], return_index=True, return_inverse=True)
    # Its place among the images of its own class: 0 for the first of each.
    place = np.empty(len(rest), dtype=np.int64)
    for code in range(len(first)):
        place[inverse == code] = np.arange(np.count_nonzero(inverse == code))
    turn = place if scenario.balanced else np.minimum(place, 1)
    labelled = rest[np.argsort(turn, kind="stable")][: scenario.n_labelled]
    counts = np.bincount(inverse)
    share = -(-scenario.n_labelled // scenario.n_classes)
    if len(first) < scenario.n_classes or (scenario.balanced and counts.min() < share):
        raise InputError(
            f"n_labelled = {scenario.n_labelled} needs {share if scenario.balanced else 1} images "
            f"of each of the {scenario.n_classes} classes of '{scenario.task}'; the smallest has "
            f"{counts.min() if len(first) == scenario.n_classes else 0} left. Lower n_labelled."
        )
    return labelled
