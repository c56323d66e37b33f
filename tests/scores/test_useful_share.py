"""The useful share: exact cases, bias, coverage and what it says about itself."""

import numpy as np
import pytest

from mixmood.core.errors import InputError, OptionError
from mixmood.scores.class_shares import class_probabilities, class_shares
from mixmood.scores.share.mixture import area, least_slope, mixture_share
from mixmood.scores.share.self_calibration import near_tests
from mixmood.scores.useful_share import share_of_fit, useful_share


def pool_of(world, n_useful, n_foreign):
    return np.concatenate([world.useful(n_useful)[0], world.foreign(n_foreign)])


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_the_share_of_a_far_source_is_found_and_lies_in_the_interval(share, world, rng):
    labelled, labels = world.useful(60)
    pool = pool_of(world, round(300 * share), round(300 * (1 - share)))
    found = useful_share(labelled, pool, rng, labels=labels)
    assert found.share == pytest.approx(share, abs=0.12)
    assert found.interval[0] <= share <= found.interval[1]
    assert found.interval[0] <= found.share <= found.interval[1]


def test_a_share_of_one_is_exact_for_scores_that_cannot_be_told_apart():
    """The slope is divided by its own mean in that case: there is no bias before the cut."""
    rng = np.random.default_rng(0)
    shares = [
        mixture_share(rng.random(60), rng.random(400), rng, n_halves=2).share for _ in range(40)
    ]
    assert np.mean(shares) > 0.93


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_a_separated_mixture_gives_its_share(share):
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(30):
        n_useful = round(500 * share)
        pool = np.concatenate([rng.random(n_useful), rng.random(500 - n_useful) - 2])
        errors.append(mixture_share(rng.random(60), pool, rng, n_halves=2).share - share)
    assert abs(np.mean(errors)) < 0.03
    assert np.sqrt(np.mean(np.square(errors))) < 0.08


def test_the_area_of_separated_and_of_equal_scores():
    assert area(np.array([3.0, 4.0]), np.array([1.0, 2.0])) == 1.0
    assert area(np.ones(5), np.ones(7)) == 0.5
    assert area(np.array([0.0, 2.0]), np.array([1.0]), np.array([3.0, 1.0])) == 0.25


def test_importance_counts_like_repeated_images():
    """Up to the caution, which knows how many images there really are."""
    rng = np.random.default_rng(0)
    labelled, pool = rng.normal(size=40), rng.normal(size=200)
    counts = np.where(labelled > 0, 2.0, 1.0)
    repeated = np.concatenate([labelled, labelled[labelled > 0]])
    assert least_slope(labelled, pool, counts) == pytest.approx(
        least_slope(repeated, pool), rel=0.05
    )


def test_equal_scores_everywhere_mean_that_all_is_useful(rng):
    assert mixture_share(np.ones(30), np.ones(90), rng).share == 1.0


def test_other_class_shares_in_the_pool_are_no_sign_of_foreign_images(world, rng):
    """Most of the pool is of one class: the labelled images of that class count for more."""
    labelled, labels = world.useful(60)
    rows, codes = world.useful(600)
    pool = np.concatenate([rows[codes == 0], rows[codes == 1][:20], rows[codes == 2][:20]])
    found = useful_share(labelled, pool, rng, labels=labels)
    assert found.share > 0.85
    assert found.class_shares[0] == pytest.approx(200 / 240, abs=0.1)


def test_the_order_of_rows_does_not_change_the_share(world):
    labelled, labels = world.useful(60)
    pool = pool_of(world, 120, 120)
    plain = useful_share(labelled, pool, np.random.default_rng(0), labels=labels)
    mixed = useful_share(labelled[::-1], pool[::-1], np.random.default_rng(0), labels=labels[::-1])
    assert mixed.share == pytest.approx(plain.share, abs=1e-6)


def test_the_same_seed_gives_the_same_interval(world):
    labelled, labels = world.useful(30)
    pool = pool_of(world, 60, 60)
    results = [useful_share(labelled, pool, np.random.default_rng(5), labels=labels) for _ in "ab"]
    assert results[0] == results[1]


def test_classes_that_can_be_told_make_the_share_trustworthy(world, rng):
    labelled, labels = world.useful(60)
    found = useful_share(labelled, pool_of(world, 200, 50), rng, labels=labels)
    assert found.is_trustworthy
    assert found.note == ""
    assert found.near_auroc > 0.8


def test_classes_that_cannot_be_told_make_the_share_untrustworthy(world, rng):
    """Random labels: a class left out is just like the others."""
    labelled = world.useful(60)[0]
    labels = np.random.default_rng(0).permutation(np.arange(60) % 3)
    found = useful_share(labelled, pool_of(world, 200, 50), rng, labels=labels)
    assert not found.is_trustworthy
    assert "as similar as the labelled classes" in found.note
    assert found.interval[0] < 0.5


def test_without_labels_the_share_is_given_but_called_untested(world, rng):
    draws = [(world.useful(60)[0], pool_of(world, 100, 100)) for _ in range(5)]
    shares = [useful_share(labelled, pool, rng).share for labelled, pool in draws]
    assert np.mean(shares) == pytest.approx(0.5, abs=0.08)
    found = useful_share(*draws[0], rng)
    assert not found.is_trustworthy
    assert "Not tested for near foreign classes" in found.note
    assert found.class_shares is None


def test_two_classes_are_too_few_for_the_test(world, rng):
    labelled, labels = world.useful(60)
    assert near_tests(labelled, np.minimum(labels, 1), labelled, rng, ["combined"]) == {}


def test_few_images_give_the_widest_interval(world, rng):
    labelled, labels = world.useful(9)
    found = useful_share(labelled, pool_of(world, 100, 0), rng, labels=labels)
    assert found.interval == (0.0, 1.0)
    assert "9 labelled images" in found.note


def test_a_pool_of_copies_is_useful(world, rng):
    labelled, labels = world.useful(60)
    assert useful_share(labelled, labelled.copy(), rng, labels=labels).share > 0.85


def test_an_empty_pool_and_a_score_that_is_not_cross_fitted_are_refused(world, rng):
    labelled, labels = world.useful(30)
    with pytest.raises(InputError, match="The pool is empty"):
        useful_share(labelled, labelled[:0], rng, labels=labels)
    with pytest.raises(OptionError, match="'knn' is none. Use 'combined'"):
        useful_share(labelled, labelled, rng, labels=labels, family="knn")


def test_class_shares_without_images_are_the_prior():
    assert class_shares(np.empty((0, 2)), np.array([0.3, 0.7])) == pytest.approx([0.3, 0.7])


def test_class_probabilities_do_not_depend_on_the_sizes_of_the_labelled_classes(world):
    labelled, labels = world.useful(60)
    rows, codes = world.useful(30)
    few = np.concatenate([np.flatnonzero(labels == 0)[:5], np.flatnonzero(labels > 0)])
    chances = class_probabilities(labelled[few], labels[few], rows)
    assert (chances.argmax(axis=1) == codes).mean() > 0.9
    assert class_probabilities(labelled, np.zeros(60, int), rows).tolist() == [[1.0]] * 30


def test_large_sets_are_fitted_in_part(world, rng, monkeypatch):
    """Time must not grow with the cube of what somebody passes."""
    monkeypatch.setattr("mixmood.scores.useful_share.MOST_LABELLED", 60)
    monkeypatch.setattr("mixmood.scores.useful_share.MOST_POOL", 200)
    labelled, labels = world.useful(300)
    pool = pool_of(world, 300, 300)
    found, fit = share_of_fit(labelled, pool, rng, labels=labels, family="combined")
    assert fit.labelled.shape == (60,)
    assert fit.pool.shape == (200,)
    assert found.share == pytest.approx(0.5, abs=0.2)
