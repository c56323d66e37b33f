"""Logistic regression with an L2 penalty: many problems on the same rows, solved at once.

The folds of a cross-validation and the penalties that it compares share their features. Only the
weights of the rows, the targets or the penalty differ. All problems are fitted together: one large
matrix product replaces many small ones.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.core.errors import ShapeError
from mixmood.numerics.newton import LogisticProblem, minimise
from mixmood.numerics.row_space import row_space

TOLERANCE = 1e-6
"""Largest entry of the gradient, as a share of the sum of the weights, at which a fit ends."""


@dataclass(frozen=True)
class Logistic:
    """The solutions of B problems: probabilities are softmax(features @ weights + bias)."""

    weights: Array
    """Shape (B, d, k)."""
    bias: Array
    """Shape (B, k); its mean over the classes is 0."""

    def logits(self, features: Array) -> Array:
        """Logits of every problem for every row: shape (n, d) in, (B, n, k) out."""
        n_problems, width, n_classes = self.weights.shape
        # One product for all problems is far faster than one each.
        flat = self.weights.transpose(1, 0, 2).reshape(width, n_problems * n_classes)
        rows = (features @ flat).reshape(len(features), n_problems, n_classes)
        return np.asarray((rows + self.bias).transpose(1, 0, 2))


def fit_logistic(
    features: Array,
    targets: Array,
    weights: Array,
    penalties: Array,
    *,
    tolerance: float = TOLERANCE,
    start: Logistic | None = None,
    single: bool = False,
) -> Logistic:
    """The minimisers W, b of B penalised cross-entropies that share their features.

    For each problem, sum_i weight_i * H(target_i, softmax(x_i W + b)) + penalty / 2 * |W|^2,
    with H the cross-entropy. The bias is not penalised, so that the solution does not depend on
    the origin of the features. scikit-learn's C is 1 / penalty for three and more classes.
    The same input gives the same bytes.

    Args:
        features: Shape (n, d). The penalty is not scaled with them: scale them before.
        targets: Class probabilities of the rows, shape (n, k) or (B, n, k).
        weights: How much each row counts in each problem, shape (B, n); 0 leaves a row out.
        penalties: One positive number for each problem, shape (B,).
        tolerance: When the fit ends; see TOLERANCE.
        start: A solution to start from, of the same shapes; all zeros if None.
        single: Compute in single precision: twice as fast, for tolerances of 1e-4 and more.
    """
    _check(features, targets, weights, penalties)
    space = row_space(np.asarray(features, np.float32 if single else np.float64))
    by_row = targets.transpose(1, 2, 0) if targets.ndim == 3 else targets[:, :, None]
    problem = LogisticProblem.of(space.coordinates, by_row, weights.T, penalties)
    first = None if start is None else _as_coordinates(start, space.basis, space.centre)
    found = minimise(problem, tolerance, first)
    flat = space.to_features(found[:-1].reshape(len(found) - 1, -1))
    bias = found[-1] - (space.centre @ flat).reshape(found.shape[1:])
    bias = np.asarray((bias - bias.mean(axis=0)).T, float)
    matrix = flat.reshape(-1, *found.shape[1:]).transpose(2, 0, 1)
    return Logistic(np.ascontiguousarray(matrix, dtype=float), bias)


def fit_binary(
    features: Array,
    targets: Array,
    weights: Array,
    penalties: Array,
    *,
    tolerance: float = TOLERANCE,
) -> tuple[Array, Array]:
    """Binary logistic regressions: weights, shape (B, d), and biases, shape (B,).

    Minimises sum_i weight_i * H(target_i, sigmoid(x_i w + b)) + penalty / 2 * |w|^2, so that
    scikit-learn's C is 1 / penalty. `targets` are probabilities of the second class, shape
    (n,) or (B, n).
    """
    both = np.stack([1 - targets, targets], axis=-1)
    # w = W_1 - W_0 with W_1 = -W_0 at the minimum: |W|^2 is half of |w|^2.
    fit = fit_logistic(features, both, weights, 2 * np.asarray(penalties), tolerance=tolerance)
    return fit.weights[:, :, 1] - fit.weights[:, :, 0], fit.bias[:, 1] - fit.bias[:, 0]


def one_hot(codes: NDArray[np.integer], n_classes: int) -> NDArray[np.float64]:
    """Targets of known labels: 1 at the class of each row, shape (n, n_classes)."""
    targets = np.zeros((len(codes), n_classes))
    targets[np.arange(len(codes)), codes] = 1.0
    return targets


def _as_coordinates(start: Logistic, basis: Array | None, centre: Array) -> Array:
    matrix = start.weights.transpose(1, 2, 0)
    bias = start.bias.T + np.tensordot(centre, matrix, 1)
    inside = matrix if basis is None else np.tensordot(basis.T, matrix, 1)
    return np.concatenate([inside, bias[None]])


def _check(features: Array, targets: Array, weights: Array, penalties: Array) -> None:
    n_rows, shapes = len(features), (targets.shape, weights.shape, np.shape(penalties))
    n_problems = len(weights)
    fits = targets.ndim == 2 or (targets.ndim == 3 and len(targets) == n_problems)
    if (
        features.ndim != 2
        or not fits
        or targets.shape[-2] != n_rows
        or weights.shape != (n_problems, n_rows)
        or np.shape(penalties) != (n_problems,)
    ):
        raise ShapeError(
            "A logistic regression takes features (n, d), targets (n, k) or (B, n, k), weights "
            f"(B, n) and penalties (B,); got {features.shape}, {shapes[0]}, {shapes[1]} and "
            f"{shapes[2]}."
        )
    if not (np.isfinite(features).all() and np.isfinite(targets).all()):
        raise ShapeError("Features and targets must be finite; got NaN or infinity.")
    if not (np.asarray(penalties) > 0).all() or (weights < 0).any():
        raise ShapeError(
            "Penalties must be above 0 and weights not below 0; got a smallest penalty of "
            f"{np.min(penalties):g} and a smallest weight of {np.min(weights):g}."
        )
