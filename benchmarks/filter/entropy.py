"""The nearest competitor of the filter: the entropy of a proxy model, with a statistical threshold.

A classifier is trained on the labelled images; images of the pool whose predictions have a high
entropy are left out before training. The threshold compares the density of the entropies, divided
by that of an undecided prediction, with the uniform density on 0 to 1: it is where the density
falls below it, past the mode. This is our reading of the published description, with the supervised
head of this package as the proxy model.

Source: Chen et al., "USE: Uncertainty structure estimation for robust semi-supervised learning",
arXiv 2603.00404, 2026.
"""

import numpy as np
from scipy.stats import gaussian_kde

from mixmood.heads.problem import SupervisedHead, head_problem

GRID = np.linspace(0, 1, 201)


def entropies(labelled: np.ndarray, labels: np.ndarray, pool: np.ndarray) -> np.ndarray:
    """The entropy of each prediction, 0 (certain) to 1 (undecided), shape (m,)."""
    n_classes = int(labels.max()) + 1
    problem = head_problem(labelled, labels, n_classes)
    head = SupervisedHead().fit(problem, np.random.default_rng(0))[0]
    p = head.predict_proba(pool)
    return -(p * np.log(p + 1e-12)).sum(axis=1) / np.log(n_classes)


def entropy_scores(labelled: np.ndarray, labels: np.ndarray, pool: np.ndarray) -> np.ndarray:
    """Larger is more like the labelled images, shape (m,)."""
    return -entropies(labelled, labels, pool)


def kept_by_entropy(labelled: np.ndarray, labels: np.ndarray, pool: np.ndarray) -> np.ndarray:
    """Which images are kept, shape (m,)."""
    found = entropies(labelled, labels, pool)
    return found <= threshold_of(found)


def threshold_of(found: np.ndarray) -> float:
    """The entropy past the mode at which the density falls below the uniform one; 1 if nowhere."""
    if np.ptp(found) == 0:
        return 1.0
    density = gaussian_kde(found)
    # What the kernel puts outside 0 to 1 is folded back.
    values = density(GRID) + density(-GRID) + density(2 - GRID)
    mode = int(values.argmax())
    below = np.flatnonzero(values[mode:] < 1)
    return float(GRID[mode + below[0]]) if len(below) else 1.0
