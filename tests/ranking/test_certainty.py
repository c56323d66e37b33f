"""P-values, standard errors, chances and ranks, worked by hand or against a reference."""

import numpy as np
import pytest
from scipy.stats import wilcoxon

from mixmood.ranking.certainty import (
    Certainty,
    chances_of_best,
    image_covariance,
    leave_out,
    rank_intervals,
)
from mixmood.ranking.distance import wilcoxon_p
from mixmood.ranking.draws import holm, permutation_p

pytestmark = pytest.mark.usefixtures("all_draws")


def test_samples_far_apart_reach_the_smallest_p_value(rng):
    p = permutation_p(rng.normal(size=(20, 3)), rng.normal(9, size=(20, 3)), ["js", "l1"], 99, rng)
    assert p.tolist() == [0.01, 0.01]


@pytest.mark.parametrize("name", ["js", "cosine"])
def test_a_few_images_far_away_cannot_hide_behind_wide_bins(name):
    """One in ten of the pool at eight deviations; bins over the whole range overlook it."""
    p_values = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        pool = np.concatenate([rng.normal(size=(72, 20)), rng.normal(8, size=(8, 20))])
        p_values += permutation_p(rng.normal(size=(80, 20)), pool, [name], 199, rng).tolist()
    assert np.median(p_values) < 0.02
    assert np.mean(np.array(p_values) < 0.05) > 0.7


def test_equal_rows_give_a_p_value_of_one(rng):
    rows = np.ones((10, 3))
    assert permutation_p(rows, rows, ["cosine", "l2"], 19, rng).tolist() == [1.0, 1.0]


def test_holm_multiplies_by_the_number_of_hypotheses_left_and_never_exceeds_one():
    assert holm(np.array([0.01, 0.02, 0.9])).tolist() == pytest.approx([0.03, 0.04, 0.9])
    assert holm(np.array([0.5, 0.6])).tolist() == [1.0, 1.0]
    assert holm(np.array([0.02])).tolist() == [0.02]


def test_holm_keeps_the_order_of_the_p_values():
    p = np.array([0.04, 0.01, 0.03, 0.02])
    assert np.array_equal(np.argsort(holm(p), kind="stable")[:1], [1])
    assert (np.diff(holm(p)[np.argsort(p)]) >= 0).all()


@pytest.mark.parametrize("n_pairs", [1, 2, 3, 7, 20, 30, 50, 51])
@pytest.mark.parametrize("shift", [-1.0, -0.2, 0.0, 0.2, 1.0])
def test_the_wilcoxon_p_value_is_scipys_and_one_when_nothing_differs(rng, n_pairs, shift):
    for _ in range(5):
        inter, intra = rng.normal(shift, size=n_pairs), rng.normal(size=n_pairs)
        assert wilcoxon_p(inter, intra) == wilcoxon(inter, intra).pvalue
    assert wilcoxon_p(inter, inter) == 1.0


def test_ties_and_equal_pairs_have_scipys_wilcoxon_p_value():
    inter = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 8.0])
    for intra in (np.array([0.0, 1, 2, 3, 3, 4, 4]), np.array([1.0, 0, 0, 0, 0, 0, 0])):
        assert wilcoxon_p(inter, intra) == wilcoxon(inter, intra).pvalue


def test_some_equal_pairs_do_not_disturb_the_wilcoxon_test(rng):
    inter, intra = rng.normal(1, size=20), rng.normal(size=20)
    inter[:5] = intra[:5]
    assert 0 < wilcoxon_p(inter, intra) < 1


def means_without(values, n_groups):
    """The mean of the values without each group, shape (groups,)."""
    groups = np.arange(len(values)) % n_groups
    return np.array([values[groups != group].mean() for group in range(n_groups)])


def test_the_standard_error_of_a_plain_mean_comes_out_right(rng):
    """400 values of deviation 1: the error of their mean is 1/20."""
    found = []
    for _ in range(200):
        means = means_without(rng.normal(size=400), 40)
        found.append(image_covariance(np.tile(means, (1, 1, 10, 1)))[0, 0, 0])
    assert np.mean(found) == pytest.approx(1 / 400, rel=0.05)


def test_the_noise_of_drawing_is_not_taken_for_that_of_images(rng):
    """Draws that have nothing in common: their images' part is nothing, not 39."""
    found = [image_covariance(rng.normal(size=(1, 1, 10, 40)))[0, 0, 0] for _ in range(50)]
    assert np.mean(found) < 1.5


def test_two_pools_that_share_their_labelled_images_vary_together(rng):
    shared = np.stack([means_without(rng.normal(size=400), 40)] * 2)
    covariance = image_covariance(np.tile(shared[None, :, None, :], (1, 1, 10, 1)))[0]
    assert covariance == pytest.approx(np.full((2, 2), covariance[0, 0]))
    assert covariance[0, 0] > 0


def test_an_images_part_is_never_negative(rng):
    for _ in range(20):
        covariance = image_covariance(rng.normal(size=(2, 4, 3, 8)))
        assert np.diagonal(covariance, axis1=1, axis2=2).min() >= 0


def test_leaving_groups_out_keeps_the_numbers_of_a_pool_when_another_comes_in(rng):
    labelled, a, b = (rng.normal(size=(40, 5)) for _ in range(3))
    pairs, rows = np.arange(40).reshape(2, 2, 10), np.arange(20).reshape(2, 10)

    def out(*pools):
        rngs = [np.random.default_rng(k) for k in range(len(pools))]
        seed = np.random.default_rng(7)
        return leave_out(labelled, pools, pairs, [rows] * len(pools), ["cosine"], seed, rngs)

    assert out(a).shape == (1, 1, 2, 20)
    assert np.array_equal(out(a, b)[:, :1], out(a))


def test_a_distance_owes_to_its_images_only_as_far_as_its_draws_lean_one_way():
    far, near = np.full(30, 5.0), np.tile([1.0, -1.0], 15)
    signed = np.stack([far, near])[None]
    certainty = Certainty.of(signed, signed, np.full((1, 2, 2), 0.09), 39)
    assert certainty.distances.tolist() == [[5.0, 1.0]]
    assert np.diagonal(certainty.covariance[0]) == pytest.approx([0.09, 0.0])
    assert certainty.above[0] == pytest.approx([1.96 * 0.3, 0.0])


def test_images_that_could_turn_a_balanced_distance_can_only_make_it_larger():
    signed = np.tile([1.0, -1.0], 2000)[None, None]
    certainty = Certainty.of(signed, signed, np.full((1, 1, 1), 4.0), 19)
    assert certainty.below[0, 0] == pytest.approx(0.0, abs=1e-9)
    assert certainty.above[0, 0] == pytest.approx(1.96 * 2.0 - 1.0)


def test_the_noise_of_drawing_falls_with_the_number_of_draws(rng):
    many = rng.normal(9.0, 1.0, size=(1, 1, 4000))
    certainty = Certainty.of(many[..., :25], many, np.zeros((1, 1, 1)), 39)
    assert certainty.covariance[0, 0, 0] == pytest.approx(0.04, rel=0.1)
    assert certainty.above[0, 0] == certainty.below[0, 0] == pytest.approx(1.96 * 0.2, rel=0.05)


def certain(distances, covariance):
    reach = np.zeros((1, len(distances)))
    return Certainty(np.array([distances]), reach, reach, covariance, 39)


def test_possible_distances_scatter_about_the_measured_one_by_its_standard_error(rng):
    covariance = np.array([[[1.0, 0.5], [0.5, 4.0]]])
    possible = certain([10.0, 20.0], covariance).possible(0, rng)
    # A t distribution of 39 degrees of freedom has 39/37 of the variance.
    assert np.cov(possible) == pytest.approx(covariance[0] * 39 / 37, rel=0.15)
    assert possible.mean(axis=1) == pytest.approx([10, 20], rel=0.01)


def test_distances_without_error_move_nothing(rng):
    possible = certain([4.0], np.zeros((1, 1, 1))).possible(0, rng)
    assert set(possible.ravel()) == {4.0}


def test_an_interval_reaches_its_own_way_to_either_side_but_not_below_zero():
    below, above = np.array([[2.0, 2.0]]), np.array([[3.0, 4.0]])
    certainty = Certainty(np.array([[1.0, 10.0]]), below, above, np.zeros((1, 2, 2)), 39)
    assert certainty.intervals().tolist() == [[[0.0, 4.0], [8.0, 14.0]]]


def test_chances_are_shares_of_wins_and_ties_are_split():
    possible = np.array([[1.0, 1.0, 3.0, 2.0], [2.0, 1.0, 1.0, 9.0]])
    assert chances_of_best(possible).tolist() == [0.625, 0.375]


def test_ranks_that_never_change_have_an_interval_of_one():
    possible = np.array([[1.0] * 40, [3.0] * 40, [2.0] * 40])
    assert rank_intervals(possible).tolist() == [[1, 1], [3, 3], [2, 2]]


def test_tied_pools_share_the_ranks_between_them():
    assert rank_intervals(np.ones((3, 10))).tolist() == [[1, 3]] * 3
