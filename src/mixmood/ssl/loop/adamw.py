"""Adam with decoupled weight decay, as torch computes it, without importing torch's compiler."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

SQUARE_MOMENTUM = 0.99
"""How much of the mean squared gradient is kept at every step."""


class AdamW:
    """The steps of `torch.optim.AdamW(fused=True)`, bit for bit.

    The first use of a class of `torch.optim` imports torch's compiler, although nothing is
    compiled: 2.1 s of processor time, where `import torch` takes 2.6 s and a small training about
    one. The function that computes a step does not import it.
    """

    def __init__(
        self, groups: Sequence[tuple[Sequence[nn.Parameter], float]], weight_decay: float
    ) -> None:
        """Prepare steps of groups of parameters, each with a factor of the learning rate."""
        self._groups = [(list(parameters), factor) for parameters, factor in groups]
        self._weight_decay = weight_decay
        self._states: dict[nn.Parameter, dict[str, Tensor]] = {}

    def zero_grad(self) -> None:
        """Forget the gradients of the last step."""
        for parameter in self._parameters():
            parameter.grad = None

    def step(self, rate: float, momentum: float) -> None:
        """Change all parameters that have a gradient."""
        with torch.no_grad():
            for parameters, factor in self._groups:
                moved = [one for one in parameters if one.grad is not None]
                states = [self._state_of(one) for one in moved]
                adamw(
                    list(moved),
                    [one.grad for one in moved if one.grad is not None],
                    [state["exp_avg"] for state in states],
                    [state["exp_avg_sq"] for state in states],
                    [],
                    [state["step"] for state in states],
                    fused=True,
                    amsgrad=False,
                    beta1=momentum,
                    beta2=SQUARE_MOMENTUM,
                    lr=rate * factor,
                    weight_decay=self._weight_decay,
                    eps=1e-8,
                    maximize=False,
                )

    def state_dict(self) -> dict[str, Any]:
        """The running means of all parameters, in the form of `torch.optim.AdamW`."""
        numbers = iter(range(len(self._parameters())))
        return {
            "state": {
                number: self._states[parameter]
                for number, parameter in enumerate(self._parameters())
                if parameter in self._states
            },
            "param_groups": [
                {"params": [next(numbers) for _ in parameters]} for parameters, _ in self._groups
            ],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from what `state_dict` returned; ValueError if it is of another network."""
        sizes = [len(group["params"]) for group in state["param_groups"]]
        own_sizes = [len(parameters) for parameters, _ in self._groups]
        if sizes != own_sizes:
            raise ValueError(f"groups of {sizes} parameters where {own_sizes} were expected")
        self._states = {
            parameter: {
                # A copy: the steps change it in place.
                name: saved[name].to(parameter.device, copy=True)
                for name in ("step", "exp_avg", "exp_avg_sq")
            }
            for number, parameter in enumerate(self._parameters())
            if (saved := state["state"].get(number)) is not None
        }

    def _parameters(self) -> list[nn.Parameter]:
        return [parameter for parameters, _ in self._groups for parameter in parameters]

    def _state_of(self, parameter: nn.Parameter) -> dict[str, Tensor]:
        if parameter not in self._states:
            self._states[parameter] = {
                "step": torch.zeros((), device=parameter.device),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
        return self._states[parameter]
