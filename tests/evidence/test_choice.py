"""A trained head: its accuracy on held-out images, its gain, and what is said of it."""

import numpy as np
import pytest

from mixmood.core.errors import OptionError
from mixmood.evidence.accuracy import accuracy_interval, mean_and_error, nested_plan
from mixmood.evidence.view import train_head
from mixmood.heads import HEADS, fit_head
from mixmood.numerics.folds import repeated_folds


def clouds(n=30, m=120, d=12, k=3, noise=1.5, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % k
    centres = 2 * rng.normal(size=(k, d))
    pool = centres[rng.integers(0, k, m)] + noise * rng.normal(size=(m, d))
    return centres[codes] + noise * rng.normal(size=(n, d)), codes, pool


def trained(features, codes, pool, **options):
    return train_head(features, codes, 3, pool, np.random.default_rng(4), **options)


def test_a_training_is_the_same_for_a_seed():
    first, second = (trained(*clouds(), algorithm="mixmatch") for _ in range(2))
    assert first.head.weights.tobytes() == second.head.weights.tobytes()
    assert first.accuracy == second.accuracy
    assert 0 <= first.accuracy.low <= first.accuracy.value <= first.accuracy.high <= 1


def test_without_a_pool_there_is_no_gain():
    features, codes, pool = clouds()
    expected = fit_head("supervised", features, codes, 3, None, np.random.default_rng(0))
    for empty in (None, pool[:0]):
        found = trained(features, codes, empty)
        assert found.name == "supervised"
        assert found.gain is None
        assert found.head.weights == pytest.approx(expected.weights, abs=1e-3)


@pytest.mark.usefixtures("all_draws")
@pytest.mark.parametrize("name", HEADS)
def test_a_named_head_is_used_and_tested_whatever_the_pool(name):
    found = trained(*clouds(), algorithm=name)
    assert found.name == name
    assert found.logits.shape == (3, 30, 3)
    assert found.accuracy.value > 0.5
    assert found.reason.startswith(f"{name} was asked for")


def test_the_reason_of_a_named_head_gives_its_gain():
    """A pool that does harm is not passed over in silence because its head was asked for."""
    features, codes, _ = clouds()
    found = trained(features, codes, clouds(seed=1)[2], algorithm="propagation")
    gain = found.gain
    points = f"from supervised by {100 * gain.value:+.1f} points ({100 * gain.low:+.1f} to "
    assert points in found.reason
    assert trained(features, codes, None, algorithm="supervised").reason == (
        "supervised was asked for."
    )
    assert trained(features, codes, features[:0], algorithm="mixmatch").reason == (
        "mixmatch was asked for, but there is no pool image to learn from."
    )


def test_random_labels_are_not_predicted():
    """The accuracy must not profit from a pool: it is a third but for chance."""
    rng = np.random.default_rng(1)
    values = []
    for _ in range(12):
        features, codes = rng.normal(size=(30, 12)), rng.permutation(np.arange(30) % 3)
        values.append(
            trained(features, codes, rng.normal(size=(60, 12)), algorithm="mixmatch").accuracy.value
        )
    assert np.mean(values) == pytest.approx(1 / 3, abs=0.09)


def test_images_of_a_group_are_held_out_together():
    """Copies of an image in other folds would make a random label predictable."""
    rng = np.random.default_rng(2)
    single, labels = rng.normal(size=(20, 30)), rng.permutation(np.arange(20) % 2)
    features, codes, groups = (np.repeat(a, 3, axis=0) for a in (single, labels, np.arange(20)))
    noisy = features + 0.01 * rng.normal(size=features.shape)
    apart = train_head(noisy, codes, 2, None, np.random.default_rng(0), groups=groups)
    mixed = train_head(noisy, codes, 2, None, np.random.default_rng(0))
    assert mixed.accuracy.value > 0.9
    assert apart.accuracy.value < 0.8
    assert apart.accuracy.high - apart.accuracy.low > mixed.accuracy.high - mixed.accuracy.low


def test_with_too_much_work_no_fold_is_held_out_and_that_is_said(monkeypatch):
    monkeypatch.setattr("mixmood.evidence.view.MOST_FOLDS_WORK", 1)
    found = trained(*clouds(), algorithm="mixmatch")
    assert found.reason.startswith("Too many images and classes to cross-validate")
    assert (found.name, found.accuracy, found.gain) == ("mixmatch", None, None)


def test_one_image_of_each_class_cannot_be_tested_but_trained():
    features, codes, pool = clouds(n=3)
    found = trained(features, codes, pool)
    assert found.accuracy is None
    assert found.name == "supervised"
    assert "cannot be estimated" in found.reason
    assert trained(features, codes, pool, algorithm="mixmatch").name == "mixmatch"


def test_a_nested_plan_never_trains_on_what_it_predicts():
    folds = repeated_folds(np.arange(20) % 2, 4, 2, np.random.default_rng(0))
    plan = nested_plan(folds)
    assert (len(plan.weights), len(plan.pairs)) == (1 + 2 * 4, 2 * 6)
    assert plan.weights[0].all()
    for (repeat, first, second), fit in plan.inner.items():
        out = np.isin(folds[repeat], (first, second))
        assert (plan.pairs[fit] == ~out).all()
    for (repeat, fold), fit in plan.outer.items():
        assert (plan.weights[fit] == (folds[repeat] != fold)).all()
    logits = np.random.default_rng(0).normal(size=(len(plan.pairs), 20, 2))
    inside = plan.inside(logits, 0, 1)
    assert (np.isnan(inside[0, :, 0]) == (folds[0] == 1)).all()


def test_errors_by_hand():
    """Four values 0 0 1 1: mean 1/2, error sqrt(1/3) / 2; as two groups of equal rows, 1/2."""
    values = np.array([0.0, 0.0, 1.0, 1.0])
    assert mean_and_error(values) == pytest.approx((0.5, np.sqrt(1 / 3) / 2))
    assert mean_and_error(values, np.array([0, 0, 1, 1])) == pytest.approx((0.5, 0.5))
    assert mean_and_error(values, np.zeros(4, int))[1] == np.inf


def test_wilsons_interval_by_hand():
    """8 of 10 right: the standard example has 0.490 to 0.943."""
    found = accuracy_interval(np.array([1.0] * 8 + [0.0] * 2))
    assert (found.low, found.high) == pytest.approx((0.490, 0.943), abs=1e-3)


def test_an_interval_of_twice_the_error_is_that_of_a_quarter_of_the_images():
    right = np.array([1.0] * 8 + [0.0] * 2)
    few, many = accuracy_interval(right), accuracy_interval(np.tile(right, 4), spread=2.0)
    assert (many.low, many.high) == pytest.approx((few.low, few.high))


def test_an_unknown_algorithm_is_refused():
    with pytest.raises(OptionError, match="propagation"):
        trained(*clouds(), algorithm="propagate")
