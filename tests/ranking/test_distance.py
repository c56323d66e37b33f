"""The statistics on features whose truth is known."""

import numpy as np
import pytest
from scipy.stats import kstest

from mixmood.measures.registry import compare
from mixmood.ranking.distance import measure, noise_floor, score
from mixmood.ranking.draws import permutation_p
from mixmood.ranking.plan import RankingPlan

pytestmark = pytest.mark.usefixtures("all_draws")

WIDTH = 12


def features(rng, n, shift=0.0):
    """Correlated and rectified, as the features of a network are."""
    mixing = np.random.default_rng(7).normal(size=(4, WIDTH))
    hidden = rng.normal(size=(n, 4)) @ mixing + 0.7 * rng.normal(size=(n, WIDTH))
    return np.maximum(hidden + shift, 0)


@pytest.mark.parametrize("name", ["l1", "l2", "js", "cosine"])
def test_equal_distributions_give_uniform_permutation_p_values(name, rng):
    p_values = [
        permutation_p(features(rng, 24), features(rng, 24), [name], 99, rng)[0] for _ in range(400)
    ]
    # The p-values lie on a grid of 1/100; half a step off it they are spread evenly over (0, 1).
    assert kstest(np.array(p_values) - 0.005, "uniform").pvalue > 0.001
    assert 0.02 < np.mean(np.array(p_values) <= 0.05) < 0.09


@pytest.mark.slow
def test_an_interval_covers_the_distance_of_many_images(rng):
    """Conservative when the labelled set is small, because its thirds are cut finer."""
    plan = RankingPlan(sample_size=20, draws=20).fitted(60)
    draws = [
        compare(features(rng, 20), [features(rng, 20, 0.5), features(rng, 20)], ["cosine"])[0]
        for _ in range(300)
    ]
    truth = np.abs([inter - intra for inter, intra in draws]).mean()
    n_covered, n_runs = 0, 12
    for _ in range(n_runs):
        _, certainty = measure(features(rng, 60), {"pool": features(rng, 300, 0.5)}, plan)
        low, high = certainty.intervals()[0, 0]
        n_covered += low <= truth <= high
        assert low < high
    assert n_covered >= 0.85 * n_runs


def test_a_growing_shift_gives_a_growing_distance(rng):
    labelled = features(rng, 80)
    pools = {f"{shift}": features(rng, 300, shift) for shift in (0.0, 0.4, 0.8, 1.6)}
    scores = score(labelled, pools, RankingPlan(sample_size=40).fitted(80))
    distances = [result["cosine"].distance for result in scores.pools.values()]
    assert distances == sorted(distances)


def test_the_nearest_of_three_pools_at_known_distances_is_best_almost_surely(rng):
    pools = {name: features(rng, 300, s) for name, s in [("far", 2), ("near", 0.1), ("mid", 1)]}
    scores = score(features(rng, 100), pools, RankingPlan(sample_size=40).fitted(100))
    found = [result["cosine"] for result in scores.pools.values()]
    assert found[1].p_best > 0.95
    assert [result.rank_interval for result in found] == [(3, 3), (1, 1), (2, 2)]
    assert [result.rank for result in found] == [3, 1, 2]


def test_two_equal_pools_share_the_rank_and_the_chance_of_being_best():
    chances = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        pools = {"a": features(rng, 300, 0.5), "b": features(rng, 300, 0.5)}
        scores = score(
            features(rng, 60), pools, RankingPlan(sample_size=30, draws=10, seed=seed).fitted(60)
        )
        found = [result["cosine"] for result in scores.pools.values()]
        chances.append(found[0].p_best)
        assert sum(result.p_best for result in found) == pytest.approx(1.0)
        if 0.05 < chances[-1] < 0.95:
            assert [result.rank_interval for result in found] == [(1, 2), (1, 2)]
    assert 0.3 < np.mean(chances) < 0.7
    assert np.mean([0.05 < chance < 0.95 for chance in chances]) > 0.6


def test_the_noise_floor_is_what_a_pool_of_the_same_kind_gives(rng):
    labelled, plan = features(rng, 200), RankingPlan(sample_size=50).fitted(200)
    floor = noise_floor(labelled, plan)["cosine"]
    same, other = (
        score(labelled, {"pool": features(rng, 400, shift)}, plan).pools["pool"]["cosine"].distance
        for shift in (0.0, 1.0)
    )
    assert same < 2 * floor.upper
    assert other > 3 * floor.upper
    assert floor.sample_size == 50


def test_the_wilcoxon_p_value_shrinks_with_the_draws_and_the_permutation_one_does_not(rng):
    """Why both are reported: the draws come from the same two finite sets."""
    labelled, pools = features(rng, 100), {"pool": features(rng, 300, 0.05)}
    few, many = (
        score(labelled, pools, RankingPlan(sample_size=40, draws=n, seed=1).fitted(100)).pools[
            "pool"
        ]["cosine"]
        for n in (8, 120)
    )
    assert many.p_wilcoxon < few.p_wilcoxon
    assert many.p_permutation == few.p_permutation
