"""Is a gain worth as many labels as the learning curve says?

    python -m benchmarks.probe.curve FEATURES --part development --seeds 5

The curve is computed from 60 labelled images, as `rank` does. Then heads are trained with more
labels of the same task, and their gain is compared with that of the curve.
"""

import argparse
from pathlib import Path

import numpy as np

from benchmarks.heads.tasks import DEVELOPMENT, REPORT, draw
from benchmarks.probe.cases import is_right
from mixmood.core.seeds import rng_for
from mixmood.evidence.gain import LearningCurve, labelled_folds, learning_curve

N_LABELLED = 60
MORE = (90, 120)


def curve_and_gains(folder: Path, family, seed: int) -> tuple[LearningCurve, list[float]]:
    """The curve at 60 labels, and the points that more labels really gain."""
    tasks = [draw(folder, family, n, seed, n_test=None) for n in (N_LABELLED, *MORE)]
    first = tasks[0]
    n_classes = int(first.codes.max()) + 1
    folds = labelled_folds(first.features, first.codes, n_classes, rng_for(seed, "folds"))
    right = [is_right(task, "supervised", None, rng_for(seed)) for task in tasks]
    base, *others = [100 * of_task.mean() for of_task in right]
    return learning_curve(folds, rng_for(seed, "curve")), [other - base for other in others]


def main() -> None:
    """Print, for each number of labels, predicted and true gains of the curves that are clear."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("features", type=Path)
    parser.add_argument("--part", choices=["development", "report"], default="development")
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    families = DEVELOPMENT if given.part == "development" else REPORT
    found = [
        (family.name, *curve_and_gains(given.features, family, seed))
        for seed in range(given.seeds)
        for family in families.values()
    ]
    clear = [(curve, gains) for _, curve, gains in found if curve.is_clear]
    print(f"{len(clear)} of {len(found)} curves are clear")
    for k, n in enumerate(MORE):
        said = np.array([curve.slope * np.log(n / N_LABELLED) for curve, _ in clear])
        true = np.array([gains[k] for _, gains in clear])
        ratio = true.sum() / said.sum()
        print(
            f"{n} labels: the curve says {said.mean():.2f} points, true {true.mean():.2f} "
            f"(ratio {ratio:.2f}), correlation {np.corrcoef(said, true)[0, 1]:.2f}"
        )


if __name__ == "__main__":
    main()
