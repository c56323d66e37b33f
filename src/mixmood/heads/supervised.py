"""The head that ignores the pool: multinomial logistic regression."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mixmood.heads.linear import LinearHeads
from mixmood.heads.problem import Head, HeadProblem


@dataclass(frozen=True)
class SupervisedHead(Head):
    """Logistic regression with an L2 penalty, its strength chosen by cross-validation.

    Every other head starts from it, so that the problem itself fits it once: see
    `mixmood.heads.problem.LabelledRows`.
    """

    uses_pool: ClassVar[bool] = False

    def fit(self, problem: HeadProblem, rng: np.random.Generator) -> LinearHeads:
        """The supervised heads of all problems; the pool is not used."""
        return problem.labelled.supervised
