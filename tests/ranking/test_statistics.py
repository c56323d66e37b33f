"""P-values, standard errors, chances and ranks, worked by hand or against a reference."""

import numpy as np
import pytest
from scipy.stats import wilcoxon

from mixmood.ranking.permutation import holm, permutation_p
from mixmood.ranking.resample import Replicates, chances_of_best, intervals, rank_intervals
from mixmood.ranking.score import wilcoxon_p


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


def test_the_wilcoxon_p_value_is_scipys_and_one_when_nothing_differs(rng):
    inter, intra = rng.normal(1, size=20), rng.normal(size=20)
    assert wilcoxon_p(inter, intra) == wilcoxon(inter, intra).pvalue
    assert wilcoxon_p(inter, inter) == 1.0


def test_some_equal_pairs_do_not_disturb_the_wilcoxon_test(rng):
    inter, intra = rng.normal(1, size=20), rng.normal(size=20)
    inter[:5] = intra[:5]
    assert 0 < wilcoxon_p(inter, intra) < 1


def test_the_standard_error_of_a_plain_mean_comes_out_right(rng):
    """Leaving a third out of n values with deviation 1: the error of their mean is 1/sqrt(n)."""
    n, n_kept = 300, 200
    values = rng.normal(size=n)
    means = np.array([rng.permutation(values)[:n_kept].mean() for _ in range(4000)])
    replicates = Replicates(np.repeat(means, 2).reshape(1, 1, 4000, 2))
    error = replicates.standard_errors(10)[0, 0]
    assert error == pytest.approx(values.std() / np.sqrt(n), rel=0.05)


def test_the_noise_of_drawing_is_not_taken_for_that_of_images(rng):
    """One mean for all: only the 1/5 of 25 draws is left, where an untreated error is 1.02."""
    draws = rng.normal(5.0, 1.0, size=(1, 1, 5000, 2))
    assert 0.19 < Replicates(draws).standard_errors(25)[0, 0] < 0.31


def test_possible_distances_scatter_about_the_measured_one_by_its_standard_error(rng):
    replicates = Replicates(rng.normal(3.0, 1.0, size=(1, 2, 400, 2)))
    measured = np.array([[10.0, 20.0]])
    possible = replicates.possible(measured, 30)
    assert possible.mean(axis=-1) == pytest.approx(measured)
    assert possible.std(axis=-1, ddof=1) == pytest.approx(replicates.standard_errors(30))


def test_constant_replicates_move_nothing():
    possible = Replicates(np.ones((1, 1, 5, 2))).possible(np.array([[4.0]]), 30)
    assert possible.tolist() == [[[4.0] * 5]]


def test_an_interval_reaches_two_errors_either_way_but_not_below_zero():
    low, high = intervals(np.array([1.0, 10.0]), np.array([1.0, 1.0])).T
    assert low == pytest.approx([0.0, 8.04], abs=0.001)
    assert high == pytest.approx([2.96, 11.96], abs=0.001)


def test_chances_are_shares_of_wins_and_ties_are_split():
    possible = np.array([[1.0, 1.0, 3.0, 2.0], [2.0, 1.0, 1.0, 9.0]])
    assert chances_of_best(possible).tolist() == [0.625, 0.375]


def test_ranks_that_never_change_have_an_interval_of_one():
    possible = np.array([[1.0] * 40, [3.0] * 40, [2.0] * 40])
    assert rank_intervals(possible).tolist() == [[1, 1], [3, 3], [2, 2]]


def test_tied_pools_share_the_ranks_between_them():
    assert rank_intervals(np.ones((3, 10))).tolist() == [[1, 3]] * 3
