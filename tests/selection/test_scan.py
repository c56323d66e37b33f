"""The folder of a scan: what is in it that does not belong there is refused, and named."""

import numpy as np
import pytest

from mixmood.core.arrays import packed_arrays
from mixmood.core.errors import InputError, OutputError
from mixmood.selection.scan import PartFolder, empty_part, write_part


@pytest.fixture
def parts(tmp_path):
    """A scan of three images that was begun and has its only part."""
    folder = PartFolder(tmp_path / "scan", 3)
    folder.begin({"pool": "a"}, resume=False)
    write_part(folder.folder, 0, empty_part(3))
    return folder


def test_a_part_comes_back_as_it_was_written(parts):
    ((start, found),) = parts
    assert (start, len(found), found.scores.tolist()) == (0, 3, [0.0, 0.0, 0.0])
    parts.begin({"pool": "a"}, resume=True)
    assert parts.missing() == []


def test_a_folder_of_other_files_is_left_alone(tmp_path):
    (tmp_path / "holiday.png").touch()
    with pytest.raises(OutputError, match="holds other files. Choose another --out"):
        PartFolder(tmp_path, 3).begin({}, resume=False)
    assert [path.name for path in tmp_path.iterdir()] == ["holiday.png"]


@pytest.mark.parametrize("part", [empty_part(2), empty_part(3)[["scores", "problems"]]])
def test_a_part_of_other_values_is_refused(parts, part):
    (parts.folder / "part-000000000000.npz").write_bytes(packed_arrays({"part": part}))
    message = "part-000000000000.npz is damaged: it holds other values. Delete it"
    with pytest.raises(InputError, match=message):
        list(parts)


@pytest.mark.parametrize("values", [np.zeros(3), np.zeros(3, int), np.zeros((3, 2), "U3")])
def test_a_file_that_is_no_part_is_refused(parts, values):
    (parts.folder / "part-000000000000.npz").write_bytes(packed_arrays({"part": values}))
    with pytest.raises(InputError, match="part-000000000000.npz is damaged"):
        list(parts)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000])
def test_a_scan_whose_head_is_damaged_is_begun_again(parts, content):
    (parts.folder / "scan.json").write_bytes(content)
    with pytest.raises(
        InputError, match=r"Cannot read .*scan.json: .* Delete that folder and scan"
    ):
        parts.begin({"pool": "a"}, resume=True)
    parts.remove()
    parts.begin({"pool": "a"}, resume=True)
    assert parts.missing() == [(0, 3)]
