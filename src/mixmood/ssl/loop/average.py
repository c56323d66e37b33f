"""Models whose weights follow those of another: a moving average, a part of the way."""

import copy
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


class Follower(ABC):
    """A copy of a model that is tested in its place."""

    def __init__(self, model: nn.Module) -> None:
        """Start from a copy of `model`."""
        self.model = copy.deepcopy(model).requires_grad_(False)
        self._own: list[Tensor] = list(self.model.parameters())
        self._weights: list[Tensor] = list(model.parameters())
        self._pairs = list(zip(self.model.buffers(), model.buffers(), strict=True))

    @torch.no_grad()
    def update(self, n_updates: int) -> None:
        """Follow the model after an update."""
        self._follow(n_updates)
        for own, buffer in self._pairs:
            own.copy_(buffer)

    @abstractmethod
    def _follow(self, n_updates: int) -> None: ...


class Average(Follower):
    """average = decay * average + (1 - decay) * weights, after every update."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        """Start from a copy of `model`."""
        super().__init__(model)
        self._decay = decay

    def _follow(self, n_updates: int) -> None:
        """One step, faster in the beginning: decay <= (1 + t) / (10 + t)."""
        decay = min(self._decay, (1 + n_updates) / (10 + n_updates))
        torch._foreach_lerp_(self._own, self._weights, 1 - decay)


class PartWay(Follower):
    """weights = start + share * (present weights - start).

    Source: Wortsman et al., "Robust fine-tuning of zero-shot models", 2022: between the weights
    before and after fine-tuning lie better ones than either, where either may fail.
    """

    def __init__(self, model: nn.Module, share: float) -> None:
        """Start from a copy of `model`, whose weights are the start."""
        super().__init__(model)
        self._share = share
        self._start = [weight.detach().clone() for weight in self._own]

    def _follow(self, n_updates: int) -> None:
        torch._foreach_copy_(self._own, self._start)
        torch._foreach_lerp_(self._own, self._weights, self._share)
