import pytest
import torch

from mixmood.ssl.loop.optimiser import AdamW

RATE, DECAY, BETAS = 0.1, 0.02, (0.9, 0.99)


def by_hand(weight, n_updates):
    """AdamW as in its paper, for the loss sum w^3."""
    first = second = torch.zeros_like(weight)
    for update in range(1, n_updates + 1):
        gradient = 3 * weight**2
        first = BETAS[0] * first + (1 - BETAS[0]) * gradient
        second = BETAS[1] * second + (1 - BETAS[1]) * gradient**2
        mean, square = first / (1 - BETAS[0] ** update), second / (1 - BETAS[1] ** update)
        weight = weight * (1 - RATE * DECAY) - RATE * mean / (square.sqrt() + 1e-8)
    return weight


def test_the_updates_are_those_of_the_paper_and_go_on_from_a_saved_state():
    weight = torch.randn(8, generator=torch.Generator().manual_seed(0)).requires_grad_()
    expected = by_hand(weight.detach(), 4)
    options = {"lr": RATE, "weight_decay": DECAY, "betas": BETAS, "fused": True}
    optimiser = AdamW([weight], **options)
    for update in range(4):
        if update == 2:
            saved = optimiser.state_dict()
            optimiser = AdamW([weight], **options)
            optimiser.load_state_dict(saved)
        optimiser.zero_grad(set_to_none=True)
        (weight**3).sum().backward()
        optimiser.step()
    assert weight.tolist() == pytest.approx(expected.tolist(), rel=1e-5)
    assert weight.requires_grad
