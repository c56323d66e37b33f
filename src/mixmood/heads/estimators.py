"""The heads as scikit-learn estimators: y = -1 is unlabelled, as in sklearn.semi_supervised."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from mixmood.core.arrays import Mask
from mixmood.heads.mixmatch import MixMatchHead
from mixmood.heads.problem import Head, LinearHead, head_problem
from mixmood.heads.propagation import PropagationHead
from mixmood.heads.pseudo_label import PseudoLabelHead

UNLABELLED = -1

EXPECTED_FAILED_CHECKS: dict[str, str] = {
    "check_classifiers_classes": "its two classes are -1 and 1, and -1 means unlabelled"
}
"""Checks of scikit-learn that cannot pass, and why; for `check_estimator`."""


class _HeadClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The common part of the three classifiers, whose fields are settings of a kind of head."""

    _kind: ClassVar[Callable[..., Head]]
    classes_: NDArray[Any]
    head_: LinearHead

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to features, shape (n, d), and their classes, shape (n,), -1 where unknown."""
        return self._fit(X, y)

    def _fit(self, X: Any, y: Any, useful: Any = None) -> Self:
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32))
        is_labelled = _is_labelled(y)
        check_classification_targets(y[is_labelled])
        self.classes_, codes = np.unique(y[is_labelled], return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs labelled samples of two classes or more; got "
                f"{len(self.classes_)} class. Unlabelled samples have y = -1."
            )
        if useful is not None:
            useful = column_or_1d(useful, dtype=np.float64)
            check_consistent_length(X, useful)
            useful = useful[~is_labelled]
        problem = head_problem(
            X[is_labelled], codes, len(self.classes_), X[~is_labelled], useful=useful
        )
        settings = self.get_params()
        seed = check_random_state(settings.pop("random_state")).randint(2**31 - 1)
        self.head_ = self._kind(**settings).fit(problem, np.random.default_rng(seed))[0]
        return self

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Logits, shape (n, k); for two classes the second minus the first, shape (n,)."""
        rows = self._checked(X)
        logits = self.head_.logits(rows)
        return np.asarray(logits[:, 1] - logits[:, 0] if logits.shape[1] == 2 else logits)

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Class probabilities, shape (n, k), in the order of `classes_`."""
        rows = self._checked(X)
        return np.asarray(self.head_.predict_proba(rows))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row, shape (n,)."""
        rows = self._checked(X)
        return np.asarray(self.classes_[self.head_.predict(rows)])

    def _checked(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, reset=False, dtype=(np.float64, np.float32)))


def _is_labelled(y: NDArray[Any]) -> Mask:
    """Which samples have a class, shape (n,)."""
    # Texts stand beside -1 in an array of objects. An array of texts would hold "-1", which is
    # refused, as in sklearn.semi_supervised.
    if y.dtype.kind == "U" and (y == str(UNLABELLED)).any():
        raise ValueError(
            'y holds the text "-1". For classes that are texts give an array with dtype=object, '
            "and the number -1 where a class is unknown."
        )
    return np.array([isinstance(value, str) or value != UNLABELLED for value in y.tolist()], bool)


@dataclass(kw_only=True, eq=False, repr=False)
class MixMatchClassifier(_HeadClassifier):
    """MixMatch on features: unlabelled rows with sharpened guesses are mixed with labelled rows.

    See `mixmood.heads.mixmatch.MixMatchHead` for the loss; `head_` is the linear classifier.

    >>> rng = np.random.default_rng(0)
    >>> truth = np.arange(60) % 2
    >>> X = rng.normal(size=(60, 5)) + 4 * np.eye(5)[truth]
    >>> y = np.where(np.arange(60) < 10, truth, -1)
    >>> bool((MixMatchClassifier(random_state=0).fit(X, y).predict(X) == truth).mean() > 0.9)
    True
    """

    temperature: float = MixMatchHead.temperature
    alpha: float = MixMatchHead.alpha
    gamma: float = MixMatchHead.gamma
    n_updates: int = MixMatchHead.n_updates
    rate: float = MixMatchHead.rate
    random_state: Any = 0
    _kind: ClassVar = MixMatchHead


@dataclass(kw_only=True, eq=False, repr=False)
class PseudoLabelClassifier(_HeadClassifier):
    """Self-training with confident unlabelled rows: `heads.pseudo_label.PseudoLabelHead`."""

    n_rounds: int = PseudoLabelHead.n_rounds
    last_share: float = PseudoLabelHead.last_share
    pool_weight: float = PseudoLabelHead.pool_weight
    equal_share: float = PseudoLabelHead.equal_share
    least_confidence: float = PseudoLabelHead.least_confidence
    random_state: Any = 0
    _kind: ClassVar = PseudoLabelHead

    def fit(self, X: Any, y: Any, useful: Any = None) -> Self:
        """Fit to features, shape (n, d), and their classes, shape (n,), -1 where unknown.

        `useful`, (n,), is the chance of each unlabelled row to be of one of the classes; 1 if None.
        `mixmood train` estimates it from the images.
        """
        return self._fit(X, y, useful)


@dataclass(kw_only=True, eq=False, repr=False)
class PropagationClassifier(_HeadClassifier):
    """Label spreading combined with logistic regression: `heads.propagation.PropagationHead`."""

    n_neighbours: int = PropagationHead.n_neighbours
    reach: float = PropagationHead.reach
    pool_weight: float = PropagationHead.pool_weight
    graph_share: float = PropagationHead.graph_share
    random_state: Any = 0
    _kind: ClassVar = PropagationHead
