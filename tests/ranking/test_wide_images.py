"""Scans of 12 bits in 16-bit files: seen, scaled alike, and reported where they do not fit."""

import numpy as np
import pytest
from PIL import Image

import mixmood

QUICK = {"sample_size": 4, "draws": 2, "resolution": 64, "depth": "last"}


@pytest.fixture
def sets(tmp_path):
    """Twelve labelled scans, a pool like them, one of 8 bits in 16-bit files, one all black."""
    rng = np.random.default_rng(0)
    for name, n_images, most in (("labelled", 12, 4095), ("alike", 12, 4095), ("dark", 12, 255)):
        (tmp_path / name).mkdir()
        for place in range(n_images):
            pixels = rng.integers(0, most + 1, (24, 24), dtype=np.uint16)
            Image.fromarray(pixels).save(tmp_path / name / f"{place}.png")
    (tmp_path / "alike" / "logo.svg").write_text("<svg/>")
    (tmp_path / "black").mkdir()
    for place in range(12):
        Image.new("L", (24, 24), 0).save(tmp_path / "black" / f"{place}.png")
    return tmp_path


def test_a_ranking_reports_its_range_and_what_does_not_fit_it(sets):
    pools = {name: sets / name for name in ("alike", "dark", "black")}
    report = mixmood.rank(sets / "labelled", pools, **QUICK, cache=None, jobs=1)
    assert any("scaled by one range, fitted on the labelled images" in n for n in report.notes)
    by_name = {candidate.name: " ".join(candidate.warnings) for candidate in report.candidates}
    assert report.best == "alike"
    assert "1 file was passed over: 1 .svg (a drawing" in by_name["alike"]
    assert (
        "of more than 8 bits, are nearly black or white by the range of the labelled images. "
        "Bring the pool to the same range" in by_name["dark"]
    )
    assert "images tried have one value in all pixels" in by_name["black"]
    assert "nearly black" not in by_name["alike"]
