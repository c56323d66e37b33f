"""Sums over the updates of an epoch, kept on the device: reading them makes a GPU wait."""

import torch
from torch import Tensor
from torch.nn import functional

from mixmood.ssl.algorithms.algorithm import StepLoss

N_FIXED = 6
"""Number of sums before those of the classes."""
N_LATER = 2
"""Number of sums after those of the classes; checkpoints of earlier versions do not have them."""


class Tally:
    """Sums of losses, dropped images, confident guesses and guessed classes over an epoch."""

    def __init__(self, n_classes: int, device: torch.device) -> None:
        """Start with all sums 0."""
        self._n_classes = n_classes
        self.sums = torch.zeros(N_FIXED + n_classes + N_LATER, device=device)

    @torch.no_grad()
    def add(self, losses: StepLoss) -> None:
        """Add the values of an update."""
        sums = self.sums
        sums[0] += 1
        sums[1] += losses.total
        sums[2] += losses.labelled
        if losses.unlabelled is not None:
            sums[3] += losses.unlabelled
        if losses.is_kept is not None:
            sums[4] += 1 - losses.is_kept.float().mean()
        if losses.guesses is not None:
            sums[5] += len(losses.guesses)
            counts = functional.one_hot(losses.guesses.argmax(dim=1), self._n_classes).sum(0)
            sums[N_FIXED : N_FIXED + self._n_classes] += counts
        if losses.is_sure is not None:
            sums[-2] += losses.is_sure.float().mean()
            sums[-1] += 1

    def restore(self, sums: Tensor) -> None:
        """Set the sums to those of a checkpoint."""
        if len(sums) not in (len(self.sums), len(self.sums) - N_LATER):
            raise ValueError(f"{len(sums)} sums where {len(self.sums)} were wanted")
        self.clear()
        self.sums[: len(sums)].copy_(sums)

    def clear(self) -> None:
        """Set all sums to 0."""
        self.sums.zero_()

    def means(self) -> "Means":
        """The means over the epoch."""
        return Means(self.sums.tolist())


class Means:
    """The means over an epoch; None for values of guesses if the algorithm made none."""

    def __init__(self, sums: list[float]) -> None:
        """Divide the sums by the number of updates or guesses."""
        n_updates, total, labelled, unlabelled, dropped, n_guesses = sums[:N_FIXED]
        self.loss = total / n_updates
        self.loss_labelled = labelled / n_updates
        self.loss_unlabelled = unlabelled / n_updates if n_guesses else None
        self.share_dropped = dropped / n_updates if n_guesses else None
        self.pseudo_label_shares = (
            tuple(n / n_guesses for n in sums[N_FIXED:-N_LATER]) if n_guesses else None
        )
        self.share_sure = sums[-2] / sums[-1] if sums[-1] else None
