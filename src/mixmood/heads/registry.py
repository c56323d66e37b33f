"""The heads by name."""

import numpy as np

from mixmood.core.arrays import Array, Codes
from mixmood.core.text import check_name
from mixmood.heads.mixmatch import MixMatchHead
from mixmood.heads.problem import Head, LinearHead, SupervisedHead, head_problem
from mixmood.heads.propagation import PropagationHead
from mixmood.heads.pseudo_label import PseudoLabelHead

HEADS: dict[str, Head] = {  # with the settings that were chosen on development tasks
    "supervised": SupervisedHead(),
    "mixmatch": MixMatchHead(),
    "pseudo-label": PseudoLabelHead(),
    "propagation": PropagationHead(),
}


def head_named(name: str) -> Head:
    """The head of this name; an unknown one is refused with the nearest known."""
    check_name("head", name, HEADS)
    return HEADS[name]


def fit_head(
    name: str,
    features: Array,
    codes: Codes,
    n_classes: int,
    pool: Array | None,
    rng: np.random.Generator,
) -> LinearHead:
    """One head on all labelled rows, of features (n, d) and codes 0 to n_classes - 1, shape (n,).

    >>> rng = np.random.default_rng(0)
    >>> codes = np.arange(20) % 2
    >>> features = rng.normal(size=(20, 4)) + 3 * np.eye(4)[codes]
    >>> head = fit_head("propagation", features, codes, 2, rng.normal(size=(50, 4)), rng)
    >>> head.predict(3 * np.eye(4)[:2]).tolist(), head.weights.shape
    ([0, 1], (4, 2))
    """
    problem = head_problem(features, codes, n_classes, pool)
    return head_named(name).fit(problem, rng)[0]
