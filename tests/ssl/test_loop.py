import numpy as np
import pytest
import torch
from torch.optim import AdamW

from mixmood.ssl.algorithms.algorithm import ramp
from mixmood.ssl.algorithms.registry import PAPER_RAMP_SHARE
from mixmood.ssl.loop import Order, one_cycle


def test_every_pass_visits_every_image_once():
    order = Order(10, 4, seed=0, purpose="pool")
    rows = np.concatenate([order.rows(update) for update in range(5)])
    assert sorted(rows[:10]) == sorted(rows[10:]) == list(range(10))


def test_any_update_can_be_had_without_the_ones_before_it():
    walked = [Order(7, 3, seed=5, purpose="pool").rows(update) for update in range(9)]
    order = Order(7, 3, seed=5, purpose="pool")
    assert np.array_equal(order.rows(8), walked[8])
    assert np.array_equal(order.rows(2), walked[2])


def test_a_batch_larger_than_the_set_repeats_it():
    assert sorted(Order(2, 6, seed=0, purpose="labelled").rows(3)) == [0, 0, 0, 1, 1, 1]


def test_purposes_and_seeds_have_orders_of_their_own():
    rows = [
        Order(50, 50, seed=seed, purpose=purpose).rows(0).tolist()
        for seed, purpose in ((0, "pool"), (1, "pool"), (0, "labelled"))
    ]
    assert rows[0] != rows[1] != rows[2] != rows[0]


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
