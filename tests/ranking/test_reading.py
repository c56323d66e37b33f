"""A pool read in random order, and only as far as needed."""

import numpy as np
import pytest

from mixmood.core.errors import ShapeError, UnreadableImageError
from mixmood.core.listener import Silent
from mixmood.data.images.pool import ImageSource
from mixmood.data.open import open_pool
from mixmood.ranking.reading import Reading


class Brightness:
    """A backbone whose one feature is the first pixel, and that remembers what it saw."""

    name, fingerprint, width, resolution, batch_size = "brightness", "b", 1, 8, 16

    def __init__(self, is_batch_dependent=False):
        self.is_batch_dependent = is_batch_dependent
        self.seen = []

    def describe(self):
        return {"name": self.name}

    def embed(self, batch):
        self.seen.extend(batch[:, 0, 0, 0].tolist())
        return batch[:, 0, 0, :1].astype(np.float32)


class Numbered(ImageSource):
    """Image i is of brightness i; every tenth is broken."""

    name, fingerprint = "numbered", "f"

    def __len__(self):
        return 200

    def locate(self, index):
        return f"{index}.png"

    def fetch(self, index):
        if index % 10 == 0:
            raise UnreadableImageError(f"{index}.png is broken.")
        return np.full((8, 8, 3), index, np.uint8)


def reading(pool=None, most=50, seed=0, backbone=None):
    return Reading(pool or Numbered(), most, seed, backbone or Brightness(), 1, None, Silent())


def test_rows_are_those_of_the_images_kept_whatever_order_they_were_read_in():
    sample = reading()
    sample.grow(50)
    assert sample.features[:, 0].tolist() == sample.kept.tolist()
    assert len(set(sample.kept.tolist())) == 50
    assert sample.kept.tolist() != sorted(sample.kept.tolist())


def test_images_are_read_from_front_to_back_unless_the_batch_matters():
    for is_batch_dependent in (False, True):
        backbone = Brightness(is_batch_dependent)
        sample = reading(backbone=backbone)
        sample.grow(16)
        first_seen = backbone.seen[:14]
        assert (first_seen == sorted(first_seen)) is not is_batch_dependent


def test_growing_in_steps_reads_the_same_images_as_at_once():
    at_once, in_steps = reading(), reading()
    at_once.grow(50)
    for n in (10, 20, 50):
        in_steps.grow(n)
    assert at_once.kept.tolist() == in_steps.kept.tolist()
    assert at_once.features.tolist() == in_steps.features.tolist()


def test_broken_images_are_replaced_by_others_and_named():
    sample = reading(most=150)
    sample.grow(150)
    assert len(sample.features) == 150
    assert not (sample.kept % 10 == 0).any()
    assert sample.n_unreadable > 5
    assert "images tried could not be read and were left out" in sample.warnings[0]
    assert sample.warnings[0].count("is broken") == 5
    assert sample.warnings[0].endswith(", ...")
    assert ".;" not in sample.warnings[0]


def test_a_pool_with_too_few_images_gives_what_it_has():
    sample = reading(most=1000)
    sample.grow(1000)
    assert len(sample.features) == 180


def test_the_seed_and_the_name_decide_the_order():
    orders = []
    for seed, name in [(0, "a"), (1, "a"), (0, "b"), (0, "a")]:
        sample = reading(open_pool(Numbered(), name), seed=seed)
        sample.grow(20)
        orders.append(sample.kept.tolist())
    assert orders[0] == orders[3]
    assert orders[0] != orders[1] != orders[2] != orders[0]


def test_images_without_a_backbone_are_refused(rng):
    images = open_pool(rng.integers(0, 256, (4, 8, 8), dtype=np.uint8))
    reading = Reading(images, 4, 0, None, None, None, Silent())
    with pytest.raises(ShapeError, match="holds images, but the labelled set holds features"):
        reading.grow(2)
