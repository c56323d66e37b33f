"""The optimiser is torch's AdamW, only leaner."""

import copy

import torch
from torch import nn

from mixmood.ssl.loop.optimiser import LeanAdamW

SETTINGS = {"lr": 0.01, "weight_decay": 0.1}


def new_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(2, 5, 3), nn.Flatten(), nn.Linear(20, 3), nn.Linear(3, 3))


def steps(model, optimiser, numbers):
    """Steps by gradients that depend on the number of the step; the rates change on the way."""
    for number in numbers:
        images = torch.randn(6, 2, 4, 4, generator=torch.Generator().manual_seed(number))
        for group in optimiser.param_groups:
            group["lr"], group["betas"] = 0.01 / (1 + number), (0.9 - 0.01 * number, 0.99)
        optimiser.zero_grad()
        # Every third step leaves the last layer without gradients.
        chosen = model[:3] if number % 3 == 2 else model
        chosen(images).square().sum().backward()
        optimiser.step()


def assert_same(model, other):
    for ours, theirs in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_every_step_equals_that_of_torch_bit_for_bit():
    model, other = new_model(), new_model()
    steps(model, LeanAdamW(model.parameters(), **SETTINGS), range(8))
    steps(other, torch.optim.AdamW(other.parameters(), fused=True, **SETTINGS), range(8))
    assert_same(model, other)


def test_an_optimiser_in_use_can_take_over_a_saved_state():
    whole, stopped = new_model(), new_model()
    steps(whole, LeanAdamW(whole.parameters(), **SETTINGS), range(7))
    first, second = (LeanAdamW(stopped.parameters(), **SETTINGS) for _ in range(2))
    steps(stopped, first, range(5))
    weights = copy.deepcopy(stopped.state_dict())
    steps(stopped, second, range(2))
    stopped.load_state_dict(weights)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    steps(stopped, second, range(5, 7))
    assert_same(whole, stopped)


def test_tensors_of_two_kinds_are_left_to_torch():
    models = [nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double()) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    ours = LeanAdamW(models[0].parameters(), **SETTINGS)
    theirs = torch.optim.AdamW(models[1].parameters(), fused=True, **SETTINGS)
    for _ in range(3):
        for model, optimiser in zip(models, (ours, theirs), strict=True):
            optimiser.zero_grad()
            model[1](model[0](torch.ones(1, 2)).double()).sum().backward()
            optimiser.step()
    assert_same(*models)
