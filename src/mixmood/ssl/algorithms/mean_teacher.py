"""Mean teacher: consistency with an exponential moving average of the weights."""

from dataclasses import dataclass
from typing import ClassVar

from mixmood.core.errors import TrainingError
from mixmood.numerics.checks import ranged
from mixmood.ssl.algorithms.algorithm import Algorithm, Step, StepLoss, ramp
from mixmood.ssl.algorithms.losses import (
    Balanced,
    kept_by,
    masked_mean,
    soft_cross_entropy,
    squared_error_rows,
)


@dataclass(frozen=True)
class MeanTeacher(Algorithm):
    """Squared error between the predictions of the network and of its teacher on the pool.

    The two get different weak views. The teacher, a moving average of the network's weights, is the
    model that is tested. In its paper its decay rises to 0.999, the weight is 100 with a ramp of
    exp(-5 (1 - t)^2), and images get dropout and noise.

    Source: Tarvainen and Valpola, "Mean teachers are better role models", 2017.
    """

    name: ClassVar[str] = "mean-teacher"

    gamma: float = ranged(25.0, 0)
    teacher_decay: float = ranged(0.99, 1e-6, 1)
    ramp_updates: int = ranged(3000, 0)
    balanced: Balanced = "labelled"
    ood_mask: float | None = ranged(None, 0, 1)

    def loss(self, step: Step) -> StepLoss:
        """The loss of an update."""
        if step.teacher is None:
            raise TrainingError("mean-teacher needs a teacher; got none. Train it with `train`.")
        own_view, other_view = step.unlabelled(2).chunk(2)
        guesses = step.network.guess(other_view, step.teacher)
        logits, pool_logits = step.network.parts([step.labelled(), own_view])
        supervised = soft_cross_entropy(logits, step.targets, step.class_weights)
        is_kept = kept_by(self.ood_mask, guesses)
        rows = squared_error_rows(pool_logits, guesses, step.pool_weights)
        unsupervised = masked_mean(rows, is_kept)
        total = supervised + self.gamma * ramp(step.update, self.ramp_updates) * unsupervised
        return StepLoss(total, supervised, unsupervised, guesses, is_kept)
