import pytest
import torch
from torch.optim import AdamW

from mixmood.ssl.algorithms.algorithm import ramp
from mixmood.ssl.algorithms.registry import PAPER_RAMP_SHARE
from mixmood.ssl.loop import one_cycle


@pytest.mark.parametrize("n_updates", [10, 97, 1000])
def test_the_one_cycle_policy_is_that_of_torch(n_updates):
    weights = [torch.nn.Parameter(torch.zeros(1))]
    optimiser = AdamW(weights, lr=1.0)
    torchs = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, max_lr=0.1, total_steps=n_updates, pct_start=0.3, final_div_factor=1e4
    )
    for update in range(n_updates):
        rate, momentum = one_cycle(update, n_updates, 0.1)
        assert rate == pytest.approx(optimiser.param_groups[0]["lr"], rel=1e-9)
        assert momentum == pytest.approx(optimiser.param_groups[0]["betas"][0], rel=1e-9)
        optimiser.step()
        if update < n_updates - 1:
            torchs.step()


@pytest.mark.parametrize("n_updates", [1, 2, 3, 4])
def test_the_shortest_runs_have_rates_between_zero_and_the_peak(n_updates):
    rates = [one_cycle(update, n_updates, 1.0)[0] for update in range(n_updates)]
    assert all(0 < rate <= 1 for rate in rates)


def test_the_ramp_grows_evenly_and_stops_at_one():
    assert [ramp(t, 3000) for t in (0, 750, 3000, 9000)] == [0.0, 0.25, 1.0, 1.0]


def test_no_ramp_is_full_weight_from_the_start():
    assert ramp(0, 0) == 1.0


def test_the_share_of_the_ramp_is_that_of_the_paper():
    assert round(50 * 188 * PAPER_RAMP_SHARE) == 3000
