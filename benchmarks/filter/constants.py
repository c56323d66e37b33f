"""Constants of the useful share: `python -m benchmarks.filter.constants FEATURES [--seeds N]`.

Prints bias, mean error, coverage and width of the share on development pools for values of CLEAR,
FARTHEST and TOLERANCE, in the view that the labelled images choose. Scores are fitted once for all.
"""

import argparse
from collections import defaultdict
from dataclasses import replace
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks.filter.evidence import FOREIGN_SHARES, HEAD_SOURCES, UNEVEN, few_places
from benchmarks.filter.material import is_near, scene, tasks
from mixmood.core.options import DEFAULT_SCORE
from mixmood.core.seeds import rng_for
from mixmood.evidence import share
from mixmood.scores.fitting import Fit
from mixmood.scores.registry import score_family

VALUES = {"CLEAR": (0.0, 0.75, 1.5), "FARTHEST": (1.3, 1.6, 2.0), "TOLERANCE": (0.2, 0.8)}
FITTED = score_family(DEFAULT_SCORE)


class Once:
    """The default score; a fit that was made is not made again."""

    def __init__(self) -> None:
        """None was made."""
        self._fits: dict[tuple, Fit] = {}

    def fit(self, rows, labels, importance) -> Fit:
        """The fit of these rows."""
        parts = (rows.rows[:, :8], labels, importance)
        key = tuple(None if part is None else part.tobytes() for part in parts)
        if key not in self._fits:
            self._fits[key] = FITTED.fit(rows, labels, importance)
        return self._fits[key]


def main() -> None:
    """A line for each combination and kind of pool, after every seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("features", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=20)
    given = parser.parse_args()
    part, found = "development", defaultdict(list)
    places = [(1.0, *place) for place in few_places(part)]
    places += [(UNEVEN, task, HEAD_SOURCES[task]) for task in tasks(part)]
    for seed in range(given.first_seed, given.first_seed + given.seeds):
        for (first, task, source), foreign in product(places, FOREIGN_SHARES):
            drawn = scene(given.features, part, task, source, foreign, seed, first_class=first)
            kind = "uneven" if first == UNEVEN else "near" if is_near(task, source) else "far"
            family = replace(FITTED, fit=Once().fit)
            for values in product(*VALUES.values()):
                settings = dict(zip(VALUES, values, strict=True))
                rng, truth = rng_for(seed, "share", task, source), 1 - foreign
                with mock.patch.multiple(share, score_family=lambda _, own=family: own, **settings):
                    one, _ = share.share_of_fit(
                        drawn.labelled, drawn.pool, rng, labels=drawn.labels
                    )
                low, high = one.interval
                row = (one.share - truth, low <= truth + 1e-9, high >= truth - 1e-9, high - low)
                found[values, kind].append(row)
        print(f"seeds {given.first_seed} to {seed}")
        for values, kind in found:
            rows = np.array(found[values, kind], dtype=float)
            print(
                f"{' '.join(f'{name} {v:g}' for name, v in zip(VALUES, values, strict=True))} "
                f"{kind}: bias {rows[:, 0].mean():+.3f}, error {np.abs(rows[:, 0]).mean():.3f}, "
                f"holds {(rows[:, 1] * rows[:, 2]).mean():.3f}, width {rows[:, 3].mean():.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
