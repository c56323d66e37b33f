"""Pictures are read in the order that suits their pool, and come in the order asked for."""

import io
import json

import numpy as np
import pytest
from PIL import Image

import mixmood
from mixmood.api import predict as predict_job
from mixmood.api.train import train
from mixmood.core.errors import TrainingError, UnreadableImageError
from mixmood.core.listener import Recorder, Silent
from mixmood.data.images.pool import ImageSource
from mixmood.data.open import open_pool
from mixmood.ssl import predict
from mixmood.ssl.pools import common_side, load_pictures, set_aside
from mixmood.ssl.predict import Classifier


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
    pool, recorder = Backwards(), Recorder()
    pixels, rows = load_pictures(pool, (4, 4), recorder)
    assert pool.fetched == list(range(20))[::-1]
    assert rows.tolist() == READABLE == pixels[:, 0, 0, 0].tolist()
    assert any("were left out: 0.png; 7.png; 14.png." in text for text in recorder.warnings)


def test_predictions_are_in_the_order_of_the_pool(monkeypatch):
    class Brightness:
        """Gives each picture its value as its probability."""

        size, class_names, input, device = (4, 4), ("bright",), "images", "cpu"
        pixel_range = threshold = None

        def __init__(self, *_):
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


def write_photo(path, size, rng):
    path.parent.mkdir(parents=True, exist_ok=True)
    low = rng.integers(0, 256, (max(2, size[1] // 8), max(2, size[0] // 8), 3), dtype=np.uint8)
    Image.fromarray(low).resize(size).save(path, quality=90)


@pytest.fixture
def photos(tmp_path):
    """Six photos, the first one 137 wide and 324 high."""
    rng = np.random.default_rng(0)
    sizes = [(137, 324), (640, 480), (500, 375), (320, 240), (240, 320), (700, 500)]
    for number, size in enumerate(sizes):
        write_photo(tmp_path / "labelled" / ("ab"[number % 2]) / f"{number}.jpg", size, rng)
    return tmp_path / "labelled"


def test_mixed_photos_become_small_squares_whatever_the_first_one_is(photos, tmp_path):
    assert common_side(open_pool(photos)) == 32
    said = Recorder()
    trained = train(
        photos, photos, algorithm="mixmatch", model="wrn-tiny", updates=1, epochs=1,
        batch_size=2, out=tmp_path / "run", listener=said,
    )  # fmt: skip
    assert "labelled: 6 images resized to 32 x 32 pixels." in said.notes
    assert trained.record.n_parameters < 10_000


def test_small_images_keep_their_size(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(4):
        write_photo(tmp_path / "a" / f"{number}.png", (28, 28), rng)
    assert common_side(open_pool(tmp_path)) == 28


def test_a_pool_whose_first_images_are_broken_gets_a_size_all_the_same(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(b"broken")
    assert common_side(open_pool(tmp_path)) == 32


def test_a_camera_jpeg_is_decoded_at_a_reduced_size(tmp_path, monkeypatch):
    write_photo(tmp_path / "large.jpg", (1600, 1200), np.random.default_rng(0))
    pool, sizes = open_pool(tmp_path), []
    whole_picture = pool.picture

    def noting(index, side=None):
        picture = whole_picture(index, side)
        sizes.append(picture.shape[:2])
        return picture

    monkeypatch.setattr(pool, "picture", noting)
    small = load_pictures(pool, (32, 32), Silent())[0][0]
    assert sizes == [(150, 200)]
    whole = Image.open(io.BytesIO((tmp_path / "large.jpg").read_bytes())).resize((32, 32))
    assert np.abs(small.astype(int) - np.asarray(whole).astype(int)).mean() < 8


NAMES = ("cat", "dog")
CODES = np.array([0] * 8 + [1] * 4)


def rng():
    return np.random.default_rng(0)


def test_shares_are_disjoint_complete_and_the_same_for_every_class():
    rows = set_aside(CODES, {"test": 0.25, "validation": 0.25}, NAMES, rng())
    assert sorted(np.concatenate(list(rows.values()))) == list(range(12))
    assert np.bincount(CODES[rows["test"]]).tolist() == [2, 1]
    assert np.bincount(CODES[rows["labelled"]]).tolist() == [4, 2]


def test_a_share_is_never_rounded_to_nothing():
    rows = set_aside(CODES, {"test": 0.01}, NAMES, rng())
    assert np.bincount(CODES[rows["test"]]).tolist() == [1, 1]


def test_without_shares_everything_is_labelled():
    assert set_aside(CODES, {}, NAMES, rng())["labelled"].tolist() == list(range(12))


def test_a_class_with_too_few_images_is_refused():
    with pytest.raises(
        TrainingError,
        match=r"'dog' needs at least 3 .*1 for validation, 1 to learn from\); it has 2",
    ):
        set_aside(CODES[:10], {"test": 0.2, "validation": 0.2}, NAMES, rng())


QUICK = {
    "model": "wrn-tiny", "updates": 4, "epochs": 1, "batch_size": 6, "augment": "none",
    "learning_rate": 1e-2,
}  # fmt: skip


@pytest.fixture
def scans(make_stripes, tmp_path):
    """Labelled scans in class folders, a pool of scans, and the same pool with 8 bits."""
    for name, n_images in (("labelled", 24), ("pool", 12), ("eight", 12)):
        images, labels = make_stripes(n_images, seed=len(name))
        for index, (image, label) in enumerate(zip(images[..., 0], labels, strict=True)):
            place = tmp_path / "scans" / name / ("abc"[label] if name == "labelled" else "")
            place.mkdir(parents=True, exist_ok=True)
            # The full range of twelve bits, so that eight bits show the same picture.
            pixels = image if name == "eight" else image.astype(np.uint16) * 16
            Image.fromarray(pixels).save(place / f"{index}.png")
    (tmp_path / "scans" / "pool" / "phone.heic").write_bytes(b"no image")
    return tmp_path / "scans"


VIEW = {"resolution": 64, "depth": "last", "cache": None}
"""Of heads whose view no test looks at."""


@pytest.mark.parametrize("options", [QUICK, {"model": "head", **VIEW}])
def test_a_model_says_its_range_keeps_it_and_predicts_with_it(scans, tmp_path, options):
    told = Recorder()
    trained = mixmood.train(
        scans / "labelled", scans / "pool", out=tmp_path / "run", listener=told,
        **options,
    )  # fmt: skip
    found = trained.record.pixel_range
    assert 3000 < found["high"] <= 4095
    assert json.loads((tmp_path / "run" / "record.json").read_text())["pixel_range"] == found
    assert any(f"fitted on the labelled images: {found['low']:g} is black" in t for t in told.notes)
    assert Classifier(tmp_path / "run").pixel_range.describe() == found
    dark = np.zeros((2, 8, 8), np.uint16)
    bright = np.full((2, 8, 8), int(found["high"]), np.uint16)
    first, last = (
        trained.predict(images, listener=told).probabilities for images in (dark, bright)
    )
    assert not np.allclose(first, last), "both would be black by the full range of 16 bits"
    assert any(".heic" in text and "pool: 1 file was passed over" in text for text in told.warnings)


def test_a_model_of_eight_bits_says_that_scans_are_black_to_it(scans, labelled, tmp_path):
    trained = mixmood.train(labelled, **QUICK, algorithm="supervised", out=tmp_path / "run")
    warned = Recorder()
    trained.predict(scans / "pool", listener=warned)
    passed_over, black = warned.warnings
    assert passed_over.startswith("pool: 1 file was passed over: 1 .heic")
    assert black == (
        "pool: 12 of 12 images tried, of more than 8 bits, are nearly black or white as read: the "
        "labelled images have 8 bits, so that 65535 is white. Bring the pool to 8 bits."
    )


def test_images_of_eight_bits_need_no_range(scans, labelled):
    trained = mixmood.train(labelled, scans / "eight", **QUICK)
    assert trained.record.pixel_range is None


def test_constant_and_black_images_of_a_pool_are_reported(labelled, tmp_path):
    """A head sees the images through the backbone, which counts them."""
    (tmp_path / "odd").mkdir()
    for index in range(3):
        Image.new("L", (8, 8), 7 * index).save(tmp_path / "odd" / f"{index}.png")
        Image.fromarray(np.full((8, 8), 900, np.uint16) + np.arange(8, dtype=np.uint16)).save(
            tmp_path / "odd" / f"wide{index}.png"
        )
    warned = Recorder()
    mixmood.train(labelled, tmp_path / "odd", **VIEW, listener=warned)
    text = " ".join(warned.warnings)
    assert "images tried have one value in all pixels" in text
    assert (
        "odd: 3 of 6 images tried, of more than 8 bits, are nearly black or white as read: the "
        "labelled images have 8 bits, so that 65535 is white. Bring the pool to 8 bits." in text
    )
