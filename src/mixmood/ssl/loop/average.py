"""Models whose weights are computed from those of the model in training."""

import copy
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


class Follower(ABC):
    """A copy of the model in training that is tested in its place."""

    def __init__(self, model: nn.Module) -> None:
        """Start from a copy of `model`."""
        self.model = copy.deepcopy(model).requires_grad_(False)
        self._own: list[Tensor] = list(self.model.parameters())
        self._weights: list[Tensor] = list(model.parameters())
        self._buffers = list(zip(self.model.buffers(), model.buffers(), strict=True))

    @torch.no_grad()
    def update(self, n_updates: int) -> None:
        """Compute the weights after an update of the model; buffers are copied."""
        self._update_weights(n_updates)
        for own, buffer in self._buffers:
            own.copy_(buffer)

    @abstractmethod
    def _update_weights(self, n_updates: int) -> None: ...


class Average(Follower):
    """Moving average: average = decay * average + (1 - decay) * weights, after every update."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        """Start from a copy of `model`."""
        super().__init__(model)
        self._decay = decay

    def _update_weights(self, n_updates: int) -> None:
        """The decay is smaller at the beginning: at most (1 + t) / (10 + t)."""
        decay = min(self._decay, (1 + n_updates) / (10 + n_updates))
        torch._foreach_lerp_(self._own, self._weights, 1 - decay)


class Interpolation(Follower):
    """Weights between the initial and the present ones: start + share * (present - start).

    Source: Wortsman et al., "Robust fine-tuning of zero-shot models", 2022.
    """

    def __init__(self, model: nn.Module, share: float) -> None:
        """Start from a copy of `model`; its weights are the initial ones."""
        super().__init__(model)
        self._share = share
        self._start = [weight.detach().clone() for weight in self._own]

    def _update_weights(self, n_updates: int) -> None:
        torch._foreach_copy_(self._own, self._start)
        torch._foreach_lerp_(self._own, self._weights, self._share)
