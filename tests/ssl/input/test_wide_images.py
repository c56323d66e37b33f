"""Scans of 12 bits in 16-bit files: scaled by one range in training, which the model keeps."""

import json

import numpy as np
import pytest
from PIL import Image

import mixmood
from mixmood.core.listener import Recorder
from mixmood.ssl.predict import Classifier

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


@pytest.mark.parametrize("options", [QUICK, {"model": "head", "cache": None}])
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
    mixmood.train(labelled, tmp_path / "odd", cache=None, listener=warned)
    text = " ".join(warned.warnings)
    assert "images tried have one value in all pixels" in text
    assert (
        "odd: 3 of 6 images tried, of more than 8 bits, are nearly black or white as read: the "
        "labelled images have 8 bits, so that 65535 is white. Bring the pool to 8 bits." in text
    )
