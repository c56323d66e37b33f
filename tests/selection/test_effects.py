"""Distance and expected gain of the whole pool and of its kept part."""

import numpy as np
import pytest

import mixmood
from mixmood.data.images.pool import Labels
from mixmood.data.readers.array import FeatureArray


def rows_of(name, rows, codes=None):
    """Rows of features, with classes or without."""
    labels = None if codes is None else Labels(codes.astype(np.int32), ("a", "b", "c"))
    return FeatureArray(rows, name, labels)


@pytest.fixture
def labelled(world):
    return rows_of("labelled", *world.useful(60))


@pytest.fixture
def pool(world):
    return rows_of("pool", np.concatenate([world.useful(100)[0], world.foreign(300)]))


def test_the_gain_of_the_kept_part_stands_beside_that_of_the_whole_pool(labelled, pool):
    record = mixmood.filter(labelled, pool, cache=None).record
    assert record.probe.algorithm == "mixmatch"
    assert record.probe.kept.gain > record.probe.whole.gain
    for gain in (record.probe.kept, record.probe.whole):
        assert gain.interval[0] <= gain.gain <= gain.interval[1]
        assert 0 <= gain.p_helps <= 1
    assert record.distance.kept.distance < record.distance.whole.distance


def test_gains_need_classes_and_can_be_left_out(labelled, pool, world):
    assert mixmood.filter(labelled, pool, cache=None, probe=False).record.probe is None
    unnamed = rows_of("labelled", world.useful(60)[0])
    assert mixmood.filter(unnamed, pool, cache=None).record.probe is None


def test_a_handful_of_kept_images_is_not_probed(labelled, pool):
    record = mixmood.filter(labelled, pool, cache=None, keep=20).record
    assert record.probe is None
    assert record.distance is not None
