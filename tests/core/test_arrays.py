"""Arrays in one file, which may come from anywhere."""

import numpy as np
import pytest

from mixmood.core.arrays import packed_arrays, read_arrays


def test_arrays_come_back(tmp_path):
    content = packed_arrays({"x": np.arange(5), "y": np.eye(2)})
    (tmp_path / "a.npz").write_bytes(content)
    found = read_arrays(tmp_path / "a.npz")
    assert found["x"].tolist() == [0, 1, 2, 3, 4]
    assert found["y"].tolist() == [[1, 0], [0, 1]]


def test_a_small_file_of_many_zeros_is_not_unpacked(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(100_000, np.uint8))
    assert (tmp_path / "a.npz").stat().st_size < 1000
    with pytest.raises(ValueError, match="unpacks to 100128 bytes, more than the 99999 allowed"):
        read_arrays(tmp_path / "a.npz", most_bytes=99_999)
