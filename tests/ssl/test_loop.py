import copy

import numpy as np
import pytest
import torch
from torch.optim import AdamW

from mixmood.core.listener import Recorder
from mixmood.ssl.algorithms.algorithm import ramp
from mixmood.ssl.algorithms.registry import PAPER_RAMP_SHARE
from mixmood.ssl.loop import Order, one_cycle
from mixmood.ssl.models.network import Network, Shadow
from mixmood.ssl.models.registry import model_spec
from mixmood.ssl.train import train


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


def batch_norms(model):
    return [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]


def test_shadow_statistics_are_those_of_a_loop_that_tracks_its_guesses():
    """Guess, train, guess, train: a copy with plain batch-norm gets the same running statistics."""
    torch.manual_seed(0)
    model = model_spec("wrn-tiny").build((1, 8, 8), 3)
    plain = copy.deepcopy(model)
    network = Network(model, torch.device("cpu"), "float32")
    network.shadow = Shadow(network.model)
    model.train()
    plain.train()
    for _ in range(5):
        pool, views = torch.randn(6, 1, 8, 8) * 3 + 1, torch.randn(9, 1, 8, 8)
        network.guess(pool)
        network.parts([views[:3], views[3:]])
        with torch.no_grad():
            plain(pool)
            plain(views)
    tested = copy.deepcopy(model)
    with network.shadow.applied(tested):
        for own, other in zip(batch_norms(tested), batch_norms(plain), strict=True):
            torch.testing.assert_close(own.running_mean, other.running_mean)
            torch.testing.assert_close(own.running_var, other.running_var)
    assert not torch.allclose(batch_norms(tested)[-1].running_var, other.running_var)


@pytest.mark.parametrize("algorithm", ["mixmatch", "pseudo-label", "fixmatch", "mean-teacher"])
def test_arms_change_nothing_of_the_training(data, quick, algorithm):
    alone = train(*data, algorithm=algorithm, **quick)
    tested = train(*data, algorithm=algorithm, has_arms=True, **quick)
    for name, weight in alone.model.state_dict().items():
        assert torch.equal(weight, tested.model.state_dict()[name]), name
    accuracies = [epoch.test_accuracy for epoch in alone.record.epochs]
    assert tested.arms["A"] == accuracies == [e.test_accuracy for e in tested.record.epochs]
    assert {arm: len(values) for arm, values in tested.arms.items()} == dict.fromkeys("ABCD", 2)
    assert alone.arms == {}


def test_a_pool_with_the_statistics_of_the_labelled_images_gives_arm_a_in_arm_b(data, quick):
    labelled, labels, _, test, test_labels = data
    own = np.concatenate([labelled, labelled])
    arms = train(labelled, labels, own, test, test_labels, has_arms=True, **quick).arms
    assert (arms["A"], arms["C"]) == (arms["B"], arms["D"])
    dark = (own // 16).astype(np.uint8)
    arms = train(labelled, labels, dark, test, test_labels, has_arms=True, **quick).arms
    assert arms["A"] != arms["B"]


def test_arm_b_standardises_test_images_with_mean_and_deviation_of_each_channel_of_the_pool(quick):
    """The same by hand: test images moved to where the labelled statistics do what the pool's do.

    The pool is the labelled images with channels scaled by 1, 2 and 4 and moved: test images that
    are scaled and moved in the same way have the accuracies in arm B that they have in arm A.
    """
    rng, labels = np.random.default_rng(0), np.arange(30) % 3
    images = rng.integers(0, 30, (60, 8, 8, 3))
    images[np.arange(60), :, :, np.arange(60) % 3] += 20
    moved = (images * [1, 2, 4] + [9, 5, 0]).astype(np.uint8)
    labelled, test = np.split(images.astype(np.uint8), 2)
    arms = [
        train(labelled, labels, moved[:30], tested, labels, has_arms=True, **quick).arms
        for tested in (test, moved[30:])
    ]
    assert arms[0]["A"] == arms[1]["B"]
    assert arms[0]["C"] == arms[1]["D"]
    assert arms[0]["A"] != arms[0]["B"]


def test_supervised_training_has_no_arms(data, quick):
    assert train(*data, algorithm="supervised", has_arms=True, **quick).arms == {}


def test_a_long_training_says_how_long_it_takes(data, quick, monkeypatch):
    """After the second update: the first one also prepares the libraries."""
    clock = iter(range(0, 10**6, 30))  # every look at the clock is half a minute later
    monkeypatch.setattr("mixmood.ssl.loop.time.perf_counter", lambda: next(clock))
    told = Recorder()
    train(*data, algorithm="supervised", progress=told, **quick)
    assert told.notes == ["8 updates: about 3 min."]
