"""A model whose weights are the moving average of another's."""

import copy

import torch
from torch import Tensor, nn


class Average:
    """average = decay * average + (1 - decay) * weights, after every update."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        """Start from a copy of `model`."""
        self._decay = decay
        self.model = copy.deepcopy(model).requires_grad_(False)
        self._averages: list[Tensor] = list(self.model.parameters())
        self._weights: list[Tensor] = list(model.parameters())
        self._pairs = list(zip(self.model.buffers(), model.buffers(), strict=True))

    @torch.no_grad()
    def update(self, n_updates: int) -> None:
        """Update the average; the decay is smaller at the beginning: at most (1 + t) / (10 + t)."""
        decay = min(self._decay, (1 + n_updates) / (10 + n_updates))
        torch._foreach_lerp_(self._averages, self._weights, 1 - decay)
        for average, buffer in self._pairs:
            average.copy_(buffer)
