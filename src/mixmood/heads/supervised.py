"""The head that ignores the pool: multinomial logistic regression."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.heads.linear import LinearHeads
from mixmood.heads.problem import HeadProblem, check_setting
from mixmood.numerics.calibration import log_likelihood
from mixmood.numerics.folds import repeated_folds
from mixmood.numerics.logistic import fit_logistic

DEFAULT_PENALTY = 0.1
"""The penalty if it cannot be cross-validated, in multiples of the spread."""
TOLERANCE = 1e-4
MOST_WORK = 200_000_000
"""If a fit takes more work (hundreds of classes), the penalty is DEFAULT_PENALTY."""


@dataclass(frozen=True)
class SupervisedHead:
    """Logistic regression with an L2 penalty, its strength chosen by cross-validation.

    Each problem chooses among `penalties` by the log-likelihood of its own training rows, held
    out in turn. All strengths of all folds of all problems are fitted together.
    """

    penalties: tuple[float, ...] = (0.01, 0.1, 1.0)
    n_folds: int = 5

    def __post_init__(self) -> None:
        """Refuse penalties of zero and below."""
        for penalty in self.penalties:
            check_setting("penalty", penalty, 1e-9)

    def fit(self, problem: HeadProblem, rng: np.random.Generator) -> LinearHeads:
        """The supervised heads of all problems; the pool is not used."""
        if self == SupervisedHead():
            return supervised_base(problem)[1]
        return self.fit_at(problem, self.choose(problem))

    def fit_at(self, problem: HeadProblem, penalties: NDArray[np.float64]) -> LinearHeads:
        """The heads at given penalties, in multiples of the spread; shape (B,)."""
        scaled, space = penalties * problem.spread, problem.space
        fit = fit_logistic(
            space.coordinates, problem.targets, problem.weights, scaled, tolerance=TOLERANCE
        )
        weights = fit.weights if space.basis is None else np.matmul(space.basis, fit.weights)
        return LinearHeads(weights, fit.bias - np.matmul(space.centre, weights))

    def choose(self, problem: HeadProblem) -> NDArray[np.float64]:
        """The chosen penalty of each problem, in multiples of the spread; shape (B,).

        The folds do not depend on a seed, so that all heads start from the same supervised one.
        """
        counts = np.bincount(problem.codes, minlength=problem.n_classes)
        is_large = problem.work > MOST_WORK
        if len(self.penalties) == 1 or counts.max() < 2 or is_large:
            only = self.penalties[0] if len(self.penalties) == 1 else DEFAULT_PENALTY
            return np.full(problem.n_problems, only)
        _, first, places = np.unique(problem.codes, return_index=True, return_inverse=True)
        # Classes are numbered by their first rows, so that folds do not depend on class names.
        codes = np.argsort(np.argsort(first))[places]
        folds = repeated_folds(codes, self.n_folds, 1, np.random.default_rng(0))[0]
        held_out = folds[None, :] == np.arange(folds.max() + 1)[:, None]
        n_problems, n_inner, n_rows = problem.n_problems, len(held_out), len(problem.codes)
        trains = problem.weights[:, None, :] * ~held_out
        each = np.repeat(trains.reshape(-1, n_rows), len(self.penalties), axis=0)
        penalties = np.tile(self.penalties, n_problems * n_inner) * problem.spread
        # There are as many coordinates as rows: the weights of all features are never computed.
        rows = problem.space.coordinates
        fits = fit_logistic(rows, problem.targets, each, penalties, tolerance=1e-3, single=True)
        scores = log_likelihood(fits.logits(rows), problem.codes)
        by_fold = scores.reshape(n_problems, n_inner, len(self.penalties), n_rows)
        judged = problem.weights[:, None, None, :] * held_out[:, None, :]
        total = (by_fold * judged).sum(axis=(1, 3))
        return np.asarray(np.array(self.penalties)[total.argmax(axis=1)])


def supervised_base(problem: HeadProblem) -> tuple[NDArray[np.float64], LinearHeads]:
    """The penalties and the supervised heads, from which other heads start; cached in `problem`."""
    if "supervised" not in problem.__dict__:
        head = SupervisedHead()
        penalties = head.choose(problem)
        problem.__dict__["supervised"] = (penalties, head.fit_at(problem, penalties))
    penalties, heads = problem.__dict__["supervised"]
    return penalties, heads
