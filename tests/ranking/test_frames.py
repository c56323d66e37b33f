"""Ranking pools of DICOM files, by file or by frame; devices are named in the record."""

import json
from pathlib import Path

import pytest

import mixmood
from mixmood.core.errors import OptionError

pydicom = pytest.importorskip("pydicom")
SHIPPED = Path(pydicom.__file__).parent / "data" / "test_files"


@pytest.fixture
def pool(tmp_path):
    """Eight files of two frames."""
    for place in range(8):
        raw = (SHIPPED / "SC_rgb_rle_2frame.dcm").read_bytes()
        (tmp_path / f"{place}.dcm").write_bytes(raw)
    return tmp_path


@pytest.mark.parametrize(("frames", "n_images"), [("middle", 8), ("each", 16)])
def test_a_ranking_reads_files_or_frames(pool, frames, n_images):
    report = mixmood.rank(
        pool,
        {"noise": "noise:gaussian?count=20&size=32"},
        frames=frames,
        sample_size=2,
        draws=2,
        probe=False,
        device="cpu",
        cache=None,
        jobs=1,
    )
    assert report.labelled.n_images == n_images
    assert report.backbone["device"] == "cpu"
    # The patient of these files is called Lestrade^G.
    assert "Lestrade" not in json.dumps(report.to_dict()) + report.to_html()


def test_an_unknown_choice_of_frames_is_refused(pool):
    with pytest.raises(OptionError, match="Unknown choice of frames 'eech'. Did you mean 'each'"):
        mixmood.rank(pool, {"noise": "noise:gaussian"}, frames="eech", cache=None)
