"""What a pool changes, in cross-validation."""

import numpy as np
import pytest
from tests.fixtures.class_features import of_class
from tests.fixtures.few_draws import ALL, repeats

from mixmood.core.errors import InputError
from mixmood.evidence.gain import N_PART, labelled_folds, parts_of, pool_effect

pytestmark = pytest.mark.usefixtures("all_draws")
WIDTH = 96


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(0)
    codes = np.arange(40) % 4
    with repeats(ALL):
        return labelled_folds(of_class(rng, codes, WIDTH), codes, 4, np.random.default_rng(1))


def test_a_pool_of_the_same_kind_changes_more_than_a_foreign_one(labelled):
    rng = np.random.default_rng(2)
    same = of_class(rng, rng.integers(0, 4, 400), WIDTH)
    foreign = of_class(rng, np.full(400, 9), WIDTH)
    own, other = (
        pool_effect(labelled, pool, "mixmatch", np.random.default_rng(3))
        for pool in (same, foreign)
    )
    assert own.p_right > other.p_right
    assert 0 < own.error < 20


def test_the_same_input_and_generator_give_the_same_numbers(labelled):
    pool = np.random.default_rng(4).normal(size=(60, WIDTH))
    first, second = (
        pool_effect(labelled, pool, "propagation", np.random.default_rng(5)) for _ in range(2)
    )
    assert first == second


def test_more_images_than_are_probed_change_nothing(labelled):
    pool = np.random.default_rng(4).normal(size=(2 * N_PART + 50, WIDTH))
    cut, whole = (
        pool_effect(labelled, rows, "pseudo-label", np.random.default_rng(5))
        for rows in (pool[: 2 * N_PART], pool)
    )
    assert cut == whole


@pytest.mark.parametrize("n_pool", [1, 2, 3])
def test_a_pool_smaller_than_a_fold_is_probed(labelled, n_pool):
    pool = np.random.default_rng(4).normal(size=(n_pool, WIDTH))
    assert np.isfinite(pool_effect(labelled, pool, "mixmatch", np.random.default_rng(0)).p_right)


def test_the_parts_of_a_pool_are_disjoint_unless_it_is_a_single_image():
    first, second = parts_of(np.arange(2 * N_PART + 9)[:, None])
    assert (len(first), len(second)) == (N_PART, N_PART)
    assert not set(first.ravel()) & set(second.ravel())
    assert [len(part) for part in parts_of(np.zeros((1, 3)))] == [1, 1]


def test_images_of_one_group_count_together():
    """Four copies of every image are no further evidence: the error must not shrink by half."""
    rng = np.random.default_rng(0)
    codes = np.arange(24) % 3
    features = of_class(rng, codes, WIDTH)
    tiled, groups = np.tile(features, (4, 1)), np.tile(np.arange(24), 4)
    pool = of_class(rng, rng.integers(0, 3, 100), WIDTH)
    copied = labelled_folds(tiled, np.tile(codes, 4), 3, np.random.default_rng(1))
    grouped = labelled_folds(tiled, np.tile(codes, 4), 3, np.random.default_rng(1), groups)
    assert copied.accuracy == 1.0  # every held-out image has a copy in training
    assert grouped.accuracy < 1.0
    once = labelled_folds(features, codes, 3, np.random.default_rng(1))
    errors = [
        pool_effect(one, pool, "propagation", np.random.default_rng(2)).error
        for one in (grouped, once)
    ]
    assert errors[0] > 0.6 * errors[1]


def test_a_class_with_one_image_is_trained_on_and_never_held_out():
    rng = np.random.default_rng(0)
    codes = np.array([0] * 10 + [1] * 10 + [2])
    folds = labelled_folds(of_class(rng, codes, WIDTH), codes, 3, rng)
    assert np.isnan(folds.p_right[:, -1]).all()
    assert np.isfinite(pool_effect(folds, rng.normal(size=(50, WIDTH)), "mixmatch", rng).error)


def test_two_labels_in_all_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="Cross-validation needs two classes"):
        labelled_folds(rng.normal(size=(2, 4)), np.array([0, 1]), 2, rng)


def test_a_few_images_that_are_all_right_do_not_make_the_probe_sure():
    """Their changes hardly differ: the usual spread of changes stands in for theirs."""
    rng = np.random.default_rng(0)
    codes = np.array([0, 0, 0, 0, 1, 2, 3])  # only class 0 can be held out
    folds = labelled_folds(9 * of_class(rng, codes, WIDTH), codes, 4, rng)
    effect = pool_effect(folds, of_class(rng, np.zeros(60, int), WIDTH), "mixmatch", rng)
    assert effect.n_held_out == 4
    assert effect.error > 4
