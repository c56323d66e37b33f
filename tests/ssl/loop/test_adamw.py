"""The steps are those of torch's optimiser, whose classes import a compiler that nobody needs."""

import sys

import pytest
import torch
from torch import nn

from mixmood.ssl.loop.adamw import AdamW

RATES = [(0.1, 0.95), (0.3, 0.9), (0.2, 0.85)]


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))


def groups_of(model):
    body, norm, head = model
    return [([*body.parameters(), *norm.parameters()], 1.0), (list(head.parameters()), 10.0)]


def torchs_own(model):
    groups = [{"params": parameters, "factor": f} for parameters, f in groups_of(model)]
    return torch.optim.AdamW(groups, weight_decay=0.03, fused=True)


def own_steps(optimiser, model, rates):
    for number, (rate, momentum) in enumerate(rates):
        optimiser.zero_grad()
        loss_of(model, number).backward()
        optimiser.step(rate, momentum)


def torchs_steps(optimiser, model, rates):
    for number, (rate, momentum) in enumerate(rates):
        for group in optimiser.param_groups:
            group["lr"], group["betas"] = rate * group["factor"], (momentum, 0.99)
        optimiser.zero_grad()
        loss_of(model, number).backward()
        optimiser.step()


def loss_of(model, number):
    """In the first update the last layer has no gradient."""
    rows = torch.randn(6, 5, generator=torch.Generator().manual_seed(number))
    return (model if number else model[:2])(rows).square().mean()


def assert_equal(model, other):
    for own, theirs in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(own, theirs)


def test_steps_are_those_of_torch_bit_for_bit():
    own, theirs = network(), network()
    own_steps(AdamW(groups_of(own), 0.03), own, RATES)
    torchs_steps(torchs_own(theirs), theirs, RATES)
    assert_equal(own, theirs)


def test_a_state_goes_over_from_torch_and_back():
    """Checkpoints of earlier versions have the state of torch's class."""
    own, theirs = network(), network()
    first, second = AdamW(groups_of(own), 0.03), torchs_own(theirs)
    torchs_steps(second, theirs, RATES)
    own.load_state_dict(theirs.state_dict())
    first.load_state_dict(second.state_dict())
    own_steps(first, own, RATES)
    torchs_steps(second, theirs, RATES)
    assert_equal(own, theirs)
    assert first.state_dict()["state"].keys() == second.state_dict()["state"].keys()
    for number, saved in first.state_dict()["state"].items():
        for name, tensor in second.state_dict()["state"][number].items():
            assert torch.equal(saved[name], tensor)


def test_a_loaded_state_is_a_copy():
    own = network()
    optimiser = AdamW(groups_of(own), 0.03)
    own_steps(optimiser, own, RATES)
    saved = optimiser.state_dict()
    before = saved["state"][0]["exp_avg"].clone()
    other = AdamW(groups_of(own), 0.03)
    other.load_state_dict(saved)
    own_steps(other, own, RATES)
    assert torch.equal(saved["state"][0]["exp_avg"], before)


def test_the_state_of_another_network_is_refused():
    other = AdamW([(list(nn.Linear(2, 2).parameters()), 1.0)], 0.03)
    with pytest.raises(
        ValueError, match=r"groups of \[2\] parameters where \[4, 2\] were expected"
    ):
        AdamW(groups_of(network()), 0.03).load_state_dict(other.state_dict())


def test_no_compiler_is_imported(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch._dynamo", None)
    own = network()
    own_steps(AdamW(groups_of(own), 0.03), own, RATES)
