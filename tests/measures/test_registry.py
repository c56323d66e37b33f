"""Several measures at once are the same as one by one."""

import numpy as np
import pytest

from mixmood.core.errors import OptionError
from mixmood.measures import MEASURES
from mixmood.measures.batch import partition_distances
from mixmood.measures.histogram import Bins
from mixmood.measures.registry import PAPER, Measure, check_measures, check_sample_size, compare


def test_all_measures_at_once_equal_each_alone(rng):
    x = rng.normal(size=(20, 5))
    others = [rng.normal(size=(15, 5)), rng.normal(1, size=(30, 5))]
    table = compare(x, others, list(MEASURES))
    for row, measure in enumerate(MEASURES.values()):
        for column, y in enumerate(others):
            assert table[row, column] == measure(x, y)


def test_all_stands_for_every_measure_and_names_come_once():
    found = check_measures(["js", "all", "js"])
    assert found[:4] == ("js", "cosine", "l1", "l2")
    assert sorted(found) == sorted(MEASURES)


def test_an_unknown_measure_is_refused_with_the_nearest_name():
    with pytest.raises(OptionError, match="Unknown measure 'cosin'. Did you mean 'cosine'?"):
        check_measures(["cosin"])


def test_samples_too_small_for_a_measure_are_refused_by_name():
    check_sample_size(1, ["cosine", "energy"])
    with pytest.raises(
        OptionError, match="'kernel' needs samples of at least 2 images; sample_size"
    ):
        check_sample_size(1, ["cosine", "kernel"])


def test_the_measures_of_the_paper_are_still_the_default_of_a_test_bed():
    """They are part of the hash that names a run: old stores must stay readable."""
    assert PAPER == ("l1", "l2", "js", "cosine")


def test_partitions_of_nearest_neighbour_measures_equal_the_measure_on_each_side(rng):
    rows = rng.normal(size=(30, 4))
    is_first = rng.permuted(np.tile(np.arange(30) < 12, (5, 1)), axis=1)
    distances = partition_distances(rows, is_first, ["l1", "l2"])
    for column, side in enumerate(is_first):
        assert distances[0, column] == pytest.approx(MEASURES["l1"](rows[side], rows[~side]))
        assert distances[1, column] == pytest.approx(MEASURES["l2"](rows[side], rows[~side]))


@pytest.mark.parametrize("name", ["js", "cosine"])
def test_partitions_of_histogram_measures_equal_a_loop_over_bins_of_the_middle(name, rng):
    rows = rng.normal(size=(40, 3))
    is_first = rng.permuted(np.tile(np.arange(40) < 15, (20, 1)), axis=1)
    bins = Bins.between(*np.quantile(rows, [0.1, 0.9], axis=0), 15)
    distances = partition_distances(rows, is_first, [name])[0]
    for distance, side in zip(distances, is_first, strict=True):
        p, q = bins.shares(rows[side], "count"), bins.shares(rows[~side], "count")
        assert distance == pytest.approx(MEASURES[name].between_histograms(p, q), rel=1e-5)


def test_a_measure_without_a_shortcut_is_called_on_both_sides(rng, monkeypatch):
    monkeypatch.setitem(MEASURES, "means", Measure(lambda x, y: float(abs(x.mean() - y.mean()))))
    rows, is_first = rng.normal(size=(10, 2)), np.array([[True] * 4 + [False] * 6])
    expected = abs(rows[:4].mean() - rows[4:].mean())
    assert partition_distances(rows, is_first, ["means"])[0, 0] == pytest.approx(expected)
