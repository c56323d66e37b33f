"""Pictures are read in the order that suits their pool, and come in the order asked for."""

import numpy as np
import pytest

from mixmood.api import predict as predict_job
from mixmood.core.errors import InputError, UnreadableImageError
from mixmood.core.listener import Recorder, Silent
from mixmood.data.images.pool import ImageSource
from mixmood.ssl import predict
from mixmood.ssl.pools import load_pictures


class Backwards(ImageSource):
    """Twenty pictures of one value each, best read from the last; every seventh is broken."""

    name = "backwards"
    fingerprint = "backwards"

    def __init__(self):
        self.fetched = []

    def __len__(self):
        return 20

    def fetch(self, index):
        self.fetched.append(index)
        if index % 7 == 0:
            raise UnreadableImageError("broken")
        return np.full((4, 4, 3), index, np.uint8)

    def locate(self, index):
        return f"{index}.png"

    def reading_order(self, indices):
        return np.argsort(-indices)


READABLE = [row for row in range(20) if row % 7]


def test_a_pool_is_loaded_in_the_order_it_is_read_quickest():
    pool = Backwards()
    loaded = load_pictures(pool, (4, 4), listener=Silent())
    assert pool.fetched == list(range(20))[::-1]
    assert loaded.rows.tolist() == READABLE == loaded.pixels[:, 0, 0, 0].tolist()
    assert loaded.unreadable == ("0.png", "7.png", "14.png")


def test_some_rows_come_in_the_order_asked_for():
    loaded = load_pictures(Backwards(), (4, 4), listener=Silent(), rows=np.array([5, 7, 12, 3]))
    assert loaded.rows.tolist() == [5, 12, 3] == loaded.pixels[:, 0, 0, 0].tolist()
    assert loaded.unreadable == ("7.png",)
    with pytest.raises(InputError, match="backwards has no readable image among 2"):
        load_pictures(Backwards(), (4, 4), listener=Silent(), rows=np.array([0, 14]))


def test_predictions_are_in_the_order_of_the_pool(monkeypatch):
    class Brightness:
        """Gives each picture its value as its probability."""

        size, class_names, input, device = (4, 4), ("bright",), "images", "cpu"
        pixel_range = threshold = None
        is_batch_dependent = False

        def __init__(self, _path, _jobs, _device):
            pass

        def answer(self, pixels):
            return pixels[:, 0, 0, :1].astype(np.float32), None

    monkeypatch.setattr(predict_job, "Classifier", Brightness)
    monkeypatch.setattr(predict, "BATCH", 6)
    pool = Backwards()
    found = predict_job.predict("model", pool, listener=Recorder())
    # A few images are looked at before, to see whether they have more than 8 bits.
    assert pool.fetched[-20:] == list(range(20))[::-1]
    assert found.images == tuple(f"{row}.png" for row in READABLE)
    assert found.probabilities[:, 0].tolist() == READABLE
    assert found.unreadable == ("0.png", "7.png", "14.png")
