"""Which rows are drawn."""

import numpy as np
import pytest

from mixmood.core.errors import OptionError
from mixmood.ranking.distance import score
from mixmood.ranking.draws import check_fits, labelled_pairs, subsets, why_too_small, wilcoxon_p
from mixmood.ranking.plan import RankingPlan


def test_a_large_pool_gives_every_image_at_most_once(rng):
    rows = subsets(1000, 20, 30, rng)
    assert rows.shape == (30, 20)
    assert len(np.unique(rows)) == 600


def test_a_small_pool_serves_its_images_about_equally_often(rng):
    rows = subsets(50, 20, 100, rng)
    counts = np.bincount(rows.ravel(), minlength=50)
    assert counts.sum() == 2000
    assert counts.min() > 25
    assert counts.max() < 50


@pytest.mark.parametrize(("n", "size"), [(20, 20), (21, 20), (39, 20), (40, 20)])
def test_no_draw_repeats_an_image(n, size, rng):
    for draw in subsets(n, size, 7, rng):
        assert len(set(draw.tolist())) == size


def test_further_draws_leave_the_first_ones_as_they_were():
    few = subsets(70, 20, 5, np.random.default_rng(3))
    many = subsets(70, 20, 50, np.random.default_rng(3))
    assert np.array_equal(few, many[:5])


def test_the_two_labelled_samples_of_a_draw_are_disjoint(rng):
    for first, second in labelled_pairs(41, 20, 25, rng):
        assert not set(first.tolist()) & set(second.tolist())


def test_overlapping_pairs_are_drawn_from_all_images(rng):
    pairs = labelled_pairs(20, 20, 3, rng, overlap=True)
    assert pairs.shape == (3, 2, 20)
    for first, second in pairs:
        assert set(first.tolist()) == set(second.tolist()) == set(range(20))


def test_a_pool_of_which_nothing_can_be_read_is_refused_with_the_reasons():
    found = why_too_small(20, 0, problems="a.dcm: it has no pixels")
    assert found.startswith("of the images tried, none can be read (a.dcm: it has no pixels). Give")


def test_a_pool_that_does_not_hold_one_sample_is_refused(rng):
    check_fits(20, 20, "pool")
    with pytest.raises(OptionError, match="'pool' .* only 19 .* size is 20. Use .* at most 19, or"):
        check_fits(20, 19, "pool")
    with pytest.raises(
        OptionError, match="of the images tried, none can be read.* leave this one out"
    ):
        check_fits(20, 0, "pool")
    labelled, pool = rng.normal(size=(60, 3)), rng.normal(size=(19, 3))
    with pytest.raises(OptionError, match="'pool' cannot be compared: it holds only 19"):
        score(labelled, {"pool": pool}, RankingPlan(measures=("l2",), sample_size=20))


def test_the_p_value_is_one_when_no_pair_differs():
    assert wilcoxon_p(np.ones(30), np.ones(30)) == 1.0


def test_the_smallest_value_is_two_sign_patterns_of_all():
    """All thirty differences positive, or all negative: 2 of 2^30 ways."""
    assert wilcoxon_p(np.arange(1.0, 31.0), np.zeros(30)) == 2 / 2**30
