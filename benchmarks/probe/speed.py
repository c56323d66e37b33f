"""Seconds of one core that a pool takes: `OMP_NUM_THREADS=1 python -m benchmarks.probe.speed`.

60 labelled images of five classes and pools of 2400 images, 1280 generated features each. Processor
time is measured, which other load changes little. Work that is done once for all pools (folds,
supervised heads, learning curve) and work for each pool (probe, useful share) are separate.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np

from benchmarks.heads.speed import N_CLASSES, clouds, seconds
from mixmood.evidence.gain import labelled_folds, learning_curve, pool_effect
from mixmood.evidence.labelled import N_FIRST, N_POOL
from mixmood.evidence.share import share_of_fit
from mixmood.heads.registry import HEADS

N_READ = 2400


def main() -> None:
    """Print the parts and their sum."""
    features, codes, pool = clouds(np.random.default_rng(0))
    pool = pool[:N_READ]

    def rng() -> np.random.Generator:
        return np.random.default_rng(0)

    folds = labelled_folds(features, codes, N_CLASSES, rng())
    once = {
        "folds and supervised heads": seconds(
            lambda: labelled_folds(features, codes, N_CLASSES, rng())
        ),
        "learning curve": seconds(lambda: learning_curve(folds, rng())),
    }
    for name, elapsed_s in once.items():
        print(f"once: {name:26} {elapsed_s:.2f} s")
    first_s, share_s = (
        seconds(lambda n=n: share_of_fit(features, pool[:n], rng(), labels=codes))
        for n in (N_FIRST, N_POOL)
    )
    print(f"each pool: first look at share {first_s:.2f} s; a foreign pool gets no second")
    print(f"each pool: useful share        {share_s:.2f} s")
    for name, head in HEADS.items():
        if head.uses_pool:
            probe_s = seconds(lambda name=name: pool_effect(folds, pool, name, rng()))
            total_s = first_s + share_s + probe_s
            print(f"each pool: {name:13} {probe_s:.2f} s, with both shares {total_s:.2f} s")


if __name__ == "__main__":
    main()
