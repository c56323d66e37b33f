"""Stopping early: the same winner from fewer images."""

import numpy as np
import pytest

import mixmood
from mixmood.core.errors import OptionError
from mixmood.data.readers.array import FeatureArray


def features(rng, n, shift=0.0):
    return np.maximum(rng.normal(shift, 1.0, size=(n, 16)), 0)


@pytest.fixture
def sets(rng):
    pools = {
        "near": features(rng, 2000),
        "mid": features(rng, 2000, 1),
        "far": features(rng, 2000, 2),
    }
    return features(rng, 60), pools


def test_a_clear_winner_stops_the_reading_and_a_note_says_what_was_saved(sets):
    full, early = mixmood.rank(*sets, until=None), mixmood.rank(*sets)
    assert early.best == full.best == "near"
    assert early.draws == full.draws == 30
    n_full, n_early = (sum(c.n_read for c in report.candidates) for report in (full, early))
    assert n_early < n_full
    assert f"{n_early:,} images of the pools instead of {n_full:,} settle" in early.notes[1]
    assert not any("Reading" in note for note in full.notes)


def test_one_pool_is_read_no_further_than_needed_and_not_called_the_nearest(rng):
    report = mixmood.rank(features(rng, 60), {"only": features(rng, 2000)}, probe=False)
    assert report.candidates[0].n_read == 120
    assert "120 images of the pool instead of 900" in report.notes[1]
    assert "nearest" not in report.notes[1]


def test_the_images_of_the_probe_are_read_first_and_counted(sets):
    """The line says how many images were read in all, those for the probe included."""
    from mixmood.data.images.pool import Labels

    labelled, pools = sets
    labels = Labels(np.arange(60, dtype=np.int32) % 2, ("a", "b"))
    report = mixmood.rank(FeatureArray(labelled, "labelled", labels), pools)
    n_read = {candidate.name: candidate.n_read for candidate in report.candidates}
    assert n_read == {"near": 1000, "mid": 300, "far": 300}, "foreign pools are not read further"
    assert "1,600 images of the pools instead of 2,800 settle" in " ".join(report.notes)


def test_without_classes_the_first_images_are_read_for_the_useful_share(sets):
    n_read = {one.name: one.n_read for one in mixmood.rank(*sets).candidates}
    assert n_read == {"near": 300, "mid": 300, "far": 300}


def test_images_that_are_there_already_are_no_new_round(rng, monkeypatch):
    """Of eight rounds of about 112 images, the first two lie within the 300 of the probe."""
    from mixmood.data.images.pool import Labels
    from mixmood.ranking import rounds

    seen, compute = [], rounds.measure

    def counted(labelled, pools, *others):
        seen.append(sum(map(len, pools.values())))
        return compute(labelled, pools, *others)

    monkeypatch.setattr(rounds, "measure", counted)
    pools = {"a": features(rng, 2000), "b": features(rng, 2000)}
    labels = Labels(np.arange(60, dtype=np.int32) % 2, ("a", "b"))
    labelled = FeatureArray(features(rng, 60), "labelled", labels)
    mixmood.rank(labelled, pools, until=0.9999)
    assert seen == [600, 720, 900, 1140, 1380, 1620]


def test_distances_that_ended_the_reading_are_not_computed_again(sets, monkeypatch):
    from mixmood.ranking import distance, rounds

    calls, compute = [], distance.measure

    def counted(*args):
        calls.append(args[2].measures)
        return compute(*args)

    for module in (rounds, distance):
        monkeypatch.setattr(module, "measure", counted)
    one = mixmood.rank(*sets)
    assert calls == [("cosine",)]
    both = mixmood.rank(*sets, measures=["cosine", "js"])
    assert calls[1:] == [("cosine",), ("cosine", "js")]
    for own, other in zip(one.candidates, both.candidates, strict=True):
        assert own.measures["cosine"] == other.measures["cosine"]


@pytest.mark.usefixtures("all_draws")
def test_equal_pools_are_read_to_the_end(rng):
    pools = {"a": features(rng, 2000), "b": features(rng, 2000)}
    report = mixmood.rank(features(rng, 60), pools, until=0.9999, draws=6, probe=False)
    assert {candidate.n_read for candidate in report.candidates} == {180}
    assert report.notes[1].startswith("Near tie")
    assert "360 of 360" in report.notes[1]


def test_a_probability_of_one_reads_everything(sets):
    assert {c.n_read for c in mixmood.rank(*sets, until=1.0, probe=False).candidates} == {900}


def test_a_hopeless_pool_is_read_no_further_than_the_first_round(rng):
    """Two near pools are read on; the far one is not."""
    pools = {"a": features(rng, 2000), "b": features(rng, 2000), "far": features(rng, 2000, 3)}
    report = mixmood.rank(features(rng, 60), pools, until=0.9999, probe=False)
    n_read = {candidate.name: candidate.n_read for candidate in report.candidates}
    assert report.draws == 30
    assert n_read == {"a": 900, "b": 900, "far": 120}


@pytest.mark.parametrize("until", [0.5, 0.0, 1.01, -1])
def test_a_chance_that_makes_no_sense_is_refused(sets, until):
    with pytest.raises(
        OptionError, match="until must be over 0.5 and at most 1, or none to read all images; got"
    ):
        mixmood.rank(*sets, until=until)
