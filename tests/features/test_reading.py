"""A pool read in random order, and only as far as needed."""

import numpy as np
import pytest

from mixmood.core.errors import ShapeError, UnreadableImageError
from mixmood.data.images.pool import ImageSource
from mixmood.data.open import open_pool
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.extract import Extractor
from mixmood.features.reading import LABELLED, POOL, Reading, random_order


class Brightness(Backbone):
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


def reading(pool=None, most=50, seed=0, backbone=None, side=POOL):
    extractor = Extractor(backbone or Brightness(), 1)
    return Reading.begin(pool or Numbered(), most, seed, side, extractor)


def rows(found):
    return found.sample.rows.tolist()


def test_rows_are_those_of_the_images_kept_whatever_order_they_were_read_in():
    found = reading().read_on(50)
    assert found.features[:, 0].tolist() == rows(found)
    assert len(set(rows(found))) == 50
    assert rows(found) != sorted(rows(found))


def test_images_are_read_from_front_to_back_unless_the_batch_matters():
    for is_batch_dependent in (False, True):
        backbone = Brightness(is_batch_dependent)
        reading(backbone=backbone).read_on(16)
        first_seen = backbone.seen[:14]
        assert (first_seen == sorted(first_seen)) is not is_batch_dependent


def test_reading_in_steps_reads_the_same_images_as_at_once_and_changes_no_earlier_reading():
    first = reading().read_on(10)
    known = rows(first)
    in_steps = first.read_on(20).read_on(50)
    assert rows(first) == known
    assert rows(in_steps) == rows(reading().read_on(50))
    assert rows(in_steps)[:10] == known


def test_reading_no_further_image_keeps_the_sample_and_what_it_has_computed():
    found = reading().read_on(20)
    assert found.read_on(20).sample is found.sample
    assert "contents" not in vars(found.sample)
    assert found.read_on(20, reading(seed=1).sample).sample is found.sample


def test_broken_images_are_replaced_by_others_and_named():
    found = reading(most=150).read_on(150)
    assert len(found.features) == 150
    assert not (found.sample.rows % 10 == 0).any()
    assert len(found.sample.unreadable) > 5
    assert found.warnings[0].count("is broken") == 5


def test_a_pool_with_too_few_images_gives_what_it_has():
    assert len(reading(most=1000).read_on(1000).features) == 180


def test_the_seed_and_the_side_decide_the_order_and_the_name_does_not():
    orders = [
        rows(reading(open_pool(Numbered(), name), seed=seed, side=side).read_on(20))
        for seed, name, side in [
            (0, "a", POOL),
            (0, "b", POOL),
            (1, "a", POOL),
            (0, "a", LABELLED),
        ]
    ]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2] != orders[3] != orders[0]


def test_how_many_images_the_draws_need_does_not_change_the_order():
    assert rows(reading(most=20).read_on(20)) == rows(reading(most=80).read_on(20))


def test_a_large_pool_is_not_shuffled_as_a_whole(monkeypatch):
    monkeypatch.setattr("mixmood.features.reading.MOST_SHUFFLED", 400)
    few, many = (random_order(500, n, 0, POOL).tolist() for n in (30, 500))
    assert many[:30] == few
    assert sorted(many) == list(range(500))


def test_images_without_a_backbone_are_refused(rng):
    images = open_pool(rng.integers(0, 256, (4, 8, 8), dtype=np.uint8))
    with pytest.raises(ShapeError, match="holds images, but the labelled set holds features"):
        Reading.begin(images, 4, 0, POOL, Extractor(None)).read_on(2)
