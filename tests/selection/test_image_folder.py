"""The folder of kept images has whole files only."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mixmood.core.errors import OutputError
from mixmood.core.progress import Silent
from mixmood.data.arrays.array_pools import ImageArray
from mixmood.selection.image_folder import fill_folder


def test_a_full_disk_leaves_no_half_of_a_picture(tmp_path, monkeypatch):
    """Pixels are encoded in memory and written as one file, under a temporary name first."""

    def full(self, target, *_):
        if isinstance(target, str | Path):
            Path(target).write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    pool = ImageArray(np.zeros((2, 4, 4, 3), np.uint8), "pool")
    fill_folder(pool, np.arange(1), tmp_path / "whole", Silent(), with_links=False)
    (picture,) = (tmp_path / "whole").iterdir()
    assert np.array_equal(np.asarray(Image.open(picture)), np.zeros((4, 4, 3)))
    monkeypatch.setattr(Image.Image, "save", full)
    with pytest.raises(OutputError, match=r"Cannot write .*: No space left on device"):
        fill_folder(pool, np.arange(2), tmp_path / "half", Silent(), with_links=False)
    assert list((tmp_path / "half").iterdir()) == []
