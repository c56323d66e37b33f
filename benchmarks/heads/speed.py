"""Seconds of one core: `OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m benchmarks.heads.speed`.

Twenty cross-validation fits of each head with 60 labels and a pool of 3000, and all that `mixmood
train` does by default (`auto`: share, gain, advice, cross-validated head, file) beside
scikit-learn's SelfTrainingClassifier with a pool of 1000, on generated features of 1280 numbers.
Processor time is measured, which other load changes little; ratios come from one run.
"""

import warnings
from collections.abc import Callable
from time import process_time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import SelfTrainingClassifier

import mixmood
from mixmood.evidence.accuracy import fit_in_parts
from mixmood.heads import HEADS
from mixmood.heads.problem import directions, head_problem
from mixmood.numerics.folds import repeated_folds, training_weights

N_LABELLED, N_POOL, N_SMALL_POOL, WIDTH, N_CLASSES = 60, 3000, 1000, 1280, 5


def clouds(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labelled features, codes and a pool: non-negative, as pooled activations are."""
    centres = rng.gamma(1.0, 1.0, (N_CLASSES, WIDTH))
    codes = np.arange(N_LABELLED) % N_CLASSES
    hidden = rng.integers(0, N_CLASSES, N_POOL)
    rows = rng.gamma(0.3, 3.0, (N_LABELLED + N_POOL, WIDTH))
    rows += 0.3 * centres[np.concatenate([codes, hidden])]
    return rows[:N_LABELLED].astype(np.float32), codes, rows[N_LABELLED:].astype(np.float32)


def seconds(work: Callable[[], object]) -> float:
    """Processor time of the second call: the first one warms up."""
    work()
    start = process_time()
    work()
    return process_time() - start


def main() -> None:
    """Print both comparisons."""
    features, codes, pool = clouds(np.random.default_rng(0))
    weights, _ = training_weights(repeated_folds(codes, 5, 4, np.random.default_rng(0)))
    for name, head in HEADS.items():
        elapsed_s = seconds(
            lambda head=head: fit_in_parts(
                head,
                head_problem(features, codes, N_CLASSES, pool, weights),
                directions(features),
            )
        )
        print(f"20 fits, pool of {N_POOL}: {name:13} {elapsed_s:.2f} s")
    small = pool[:N_SMALL_POOL]
    auto_s = seconds(lambda: mixmood.train((features, codes), small, threads=1, cache=None))
    rows = np.concatenate([features, small])
    labels = np.concatenate([codes, np.full(N_SMALL_POOL, -1)])
    peer = SelfTrainingClassifier(LogisticRegression(max_iter=500))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer_s = seconds(lambda: peer.fit(rows, labels))
    print(
        f"auto {auto_s:.2f} s, SelfTrainingClassifier {peer_s:.2f} s: {auto_s / peer_s:.1f} times"
    )


if __name__ == "__main__":
    main()
