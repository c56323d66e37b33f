"""The useful share: exact cases, bias, coverage and what it says about itself."""

import numpy as np
import pytest
from tests.fixtures.world import World

from mixmood.core.errors import InputError, OptionError
from mixmood.evidence.share import (
    auc,
    binormal_share,
    class_probabilities,
    class_shares,
    mixture_share,
    near_auroc,
    share_and_chances,
    share_of_fit,
    useful_chances,
)
from mixmood.scores.combined import fit_combined
from mixmood.scores.fitting import Fit, compared_rows

pytestmark = pytest.mark.usefixtures("all_draws")


def useful_share(*args, **options):
    return share_of_fit(*args, **options)[0]


@pytest.fixture
def worlds():
    """Ten worlds: one draw of 40 labelled images says little."""
    return [World(seed) for seed in range(10)]


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


def drawn(rng, share, separation, n_pool=500):
    """Scores of 60 labelled images and of a pool, foreign ones lower by the separation."""
    n_useful = round(n_pool * share)
    foreign = rng.normal(size=n_pool - n_useful) - separation
    return rng.normal(size=60), np.concatenate([rng.normal(size=n_useful), foreign])


@pytest.mark.parametrize("share", [0.0, 0.2, 0.6, 1.0])
@pytest.mark.parametrize("separation", [1.5, 5.0])
def test_near_and_far_mixtures_give_their_share(share, separation):
    """A far part is found by any bound; a near one takes the model of the whole curve."""
    rng = np.random.default_rng(0)
    errors = [binormal_share(*drawn(rng, share, separation), 0.8) - share for _ in range(40)]
    assert abs(np.mean(errors)) < 0.09
    assert np.sqrt(np.mean(np.square(errors))) < 0.2


def test_any_monotone_change_of_the_scores_changes_little():
    labelled, pool = drawn(np.random.default_rng(0), 0.4, 2.0)
    plain = binormal_share(labelled, pool, 0.8)
    assert binormal_share(np.exp(labelled), np.exp(pool), 0.8) == pytest.approx(plain, abs=0.03)


def test_a_larger_least_separation_never_lowers_the_share():
    """What may be near can hide among the useful images; what must be far cannot."""
    labelled, pool = drawn(np.random.default_rng(0), 0.3, 1.0)
    shares = [binormal_share(labelled, pool, least) for least in (0.4, 0.8, 1.6, 4.0)]
    assert shares == sorted(shares)


def test_the_interval_of_a_mixture_holds_the_share():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(20):
        found = mixture_share(*drawn(rng, 0.5, 1.5), rng, least_separation=0.8, n_halves=40)
        hits += abs(found.share - 0.5) <= 2.5 * found.error
        assert found.least <= found.share + 1e-9
    assert hits >= 18


def test_the_area_of_separated_and_of_equal_scores():
    assert auc(np.array([3.0, 4.0]), np.array([1.0, 2.0])) == 1.0
    assert auc(np.ones(5), np.ones(7)) == 0.5
    assert auc(np.array([0.0, 2.0]), np.array([1.0])) == 0.5


def test_importance_counts_like_repeated_images():
    rng = np.random.default_rng(0)
    labelled, pool = drawn(rng, 0.5, 2.0)
    counts = np.where(labelled > 0, 2.0, 1.0)
    repeated = np.concatenate([labelled, labelled[labelled > 0]])
    found = binormal_share(labelled, pool, 0.8, counts)
    assert found == pytest.approx(binormal_share(repeated, pool, 0.8), abs=0.03)


def test_equal_scores_everywhere_mean_that_all_is_useful(rng):
    assert mixture_share(np.ones(30), np.ones(90), rng, least_separation=0.8).share == 1.0
    assert binormal_share(np.ones(30), np.zeros(90), 0.8) == pytest.approx(0.0, abs=1e-6)


def test_other_class_shares_in_the_pool_are_no_sign_of_foreign_images(world, rng):
    """Most of the pool is of one class: the labelled images of that class count for more."""
    labelled, labels = world.useful(60)
    rows, codes = world.useful(600)
    pool = np.concatenate([rows[codes == 0], rows[codes == 1][:20], rows[codes == 2][:20]])
    found = useful_share(labelled, pool, rng, labels=labels)
    assert found.share > 0.85
    shares = class_shares(class_probabilities(labelled, labels, pool), np.full(3, 1 / 3))
    assert shares[0] == pytest.approx(200 / 240, abs=0.1)


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
    pool = pool_of(world, 200, 50)
    found = useful_share(labelled, pool, rng, labels=labels)
    assert found.is_trustworthy
    assert found.note == ""
    assert near_auroc(compared_rows(labelled, pool), labels, rng, fit_combined) > 0.8


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


@pytest.mark.parametrize(("n_useful", "n_foreign"), [(100, 100), (200, 0)])
def test_few_labelled_images_without_classes_do_not_lower_the_share(
    n_useful, n_foreign, worlds, rng
):
    """Groups that replace classes must not be so small that they follow chance."""
    shares = []
    for world in worlds:
        labelled = world.useful(40)[0]
        shares.append(useful_share(labelled, pool_of(world, n_useful, n_foreign), rng).share)
    assert np.mean(shares) == pytest.approx(n_useful / 200, abs=0.1)


def test_two_classes_are_too_few_for_the_test(world, rng):
    labelled, labels = world.useful(60)
    rows = compared_rows(labelled, labelled)
    assert near_auroc(rows, np.minimum(labels, 1), rng, fit_combined) is None


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
    with pytest.raises(InputError, match="The pool must have at least 1 row"):
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
    monkeypatch.setattr("mixmood.evidence.share.MOST_FITTED", 60)
    monkeypatch.setattr("mixmood.evidence.share.MOST_FITTED_POOL", 200)
    labelled, labels = world.useful(300)
    pool = pool_of(world, 300, 300)
    found, fit = share_of_fit(labelled, pool, rng, labels=labels, family="combined")
    assert fit.labelled.shape == (60,)
    assert fit.pool.shape == (200,)
    assert found.share == pytest.approx(0.5, abs=0.2)


def test_chances_tell_useful_images_from_foreign_ones():
    rng = np.random.default_rng(3)
    codes = np.arange(60) % 3
    labelled = rng.normal(size=(60, 12)) + 4 * np.eye(12)[codes]
    useful = rng.normal(size=(100, 12)) + 4 * np.eye(12)[rng.integers(0, 3, 100)]
    foreign = rng.normal(size=(100, 12)) - 4 * np.eye(12)[5]
    pool = np.concatenate([useful, foreign])
    found, chances = share_and_chances(labelled, pool, np.random.default_rng(0), codes)
    assert chances.shape == (200,)
    assert chances.mean() == pytest.approx(found.share, abs=0.1)
    assert chances[:100].mean() > 0.7
    assert chances[100:].mean() < 0.2


def test_chances_never_fall_as_the_score_rises():
    rng = np.random.default_rng(0)
    fit = Fit({}, rng.normal(1, 1, 80), rng.normal(0, 2, 300))
    scores, chances = useful_chances(0.4, fit)
    assert (np.diff(scores) >= 0).all()
    assert (np.diff(chances) >= 0).all()
    assert chances.min() >= 0
    assert chances.max() <= 1
    assert (useful_chances(0.0, fit)[1] == 0).all()
