"""From what is measured to points."""

import numpy as np
import pytest

from mixmood.core.options import PROBE_ALGORITHMS
from mixmood.evidence.gain import (
    POINTS,
    Gain,
    LearningCurve,
    PoolEffect,
    gain_of,
    labelled_folds,
    learning_curve,
)
from mixmood.heads.registry import HEADS

pytestmark = pytest.mark.usefixtures("all_draws")


def effect(p_right, error=1.0):
    return PoolEffect(p_right, error, 0.5, p_right, 60)


def test_every_head_that_uses_a_pool_can_be_probed():
    own = {name for name, head in HEADS.items() if head.uses_pool}
    assert set(PROBE_ALGORITHMS) == own == set(POINTS)


@pytest.mark.parametrize("algorithm", PROBE_ALGORITHMS)
def test_a_larger_change_is_a_larger_gain_and_a_larger_error_a_wider_interval(algorithm):
    small, large = (gain_of(effect(p), 0.5, 0.8, algorithm) for p in (0.0, 8.0))
    assert large.points >= small.points
    assert large.p_helps >= small.p_helps
    blurred = gain_of(effect(0.0, error=9.0), 0.5, 0.8, algorithm)
    assert blurred.error >= small.error
    assert 0 < small.order_error <= small.error


@pytest.mark.parametrize("algorithm", PROBE_ALGORITHMS)
def test_a_larger_useful_share_is_a_larger_gain_and_an_unknown_one_a_wider_interval(algorithm):
    none, half, all_of_it = (gain_of(effect(1.0), s, 0.8, algorithm) for s in (0.0, 0.5, 1.0))
    assert none.points <= half.points <= all_of_it.points
    unknown = gain_of(effect(1.0), None, 0.8, algorithm)
    assert unknown.error >= half.error
    assert none.points <= unknown.points <= all_of_it.points


@pytest.mark.parametrize("algorithm", PROBE_ALGORITHMS)
def test_the_map_is_not_extended_beyond_the_tasks_that_it_was_fitted_on(algorithm):
    hardest = 1 - POINTS[algorithm]["most_wrong"]
    at, beyond = (gain_of(effect(1.0), 0.5, right, algorithm) for right in (hardest, 0.1))
    assert beyond.points == pytest.approx(at.points)
    assert beyond.error > at.error


def test_the_interval_is_centred_and_the_chance_is_the_normal_one():
    gain = Gain(2.0, 1.0)
    assert gain.interval == pytest.approx((0.04, 3.96))
    assert Gain(-2.0, 1.0).p_helps == pytest.approx(1 - gain.p_helps)


def test_the_worth_in_labels_has_an_interval_of_both_gain_and_slope():
    curve = LearningCurve(slope=10.0, error=1.0, n_labels=60)
    low, high = curve.worth_interval(4.1, 1.0)
    assert low < curve.worth(4.1) < high
    wider = LearningCurve(10.0, 3.0, 60).worth_interval(4.1, 1.0)
    assert wider[0] < low
    assert curve.worth_interval(4.1, 9.0) == (0, None)  # beyond what the curve can say


def test_the_worth_in_labels_is_read_from_the_curve_only_where_it_is_clear():
    clear = LearningCurve(slope=10.0, error=2.0, n_labels=60)
    assert clear.worth(0.0) == 0
    assert clear.worth(10 * np.log(1.5)) == 30
    assert clear.worth(50.0) is None  # beyond three times the labels there are
    assert LearningCurve(10.0, 6.0, 60).worth(2.0) is None
    assert LearningCurve(-1.0, 0.1, 60).worth(2.0) is None


def test_the_curve_rises_where_labels_help_and_not_where_they_mean_nothing():
    rng = np.random.default_rng(0)
    codes = np.arange(90) % 3
    features = rng.normal(size=(90, 60)) + 3 * np.eye(60)[codes]
    real = learning_curve(labelled_folds(features, codes, 3, rng), rng)
    assert real.is_clear
    permuted = rng.permutation(codes)
    nothing = learning_curve(labelled_folds(features, permuted, 3, rng), rng)
    assert not nothing.is_clear


def test_copies_of_one_group_make_the_curve_no_more_certain():
    rng = np.random.default_rng(0)
    codes, groups = np.arange(40) % 4, np.repeat(np.arange(40), 5)
    features = rng.normal(size=(40, 10)) + 1.6 * np.eye(10)[codes]
    alone = learning_curve(labelled_folds(features, codes, 4, rng), rng)
    copied = labelled_folds(features[groups], codes[groups], 4, rng, groups)
    assert learning_curve(copied, rng).error > 0.9 * alone.error
