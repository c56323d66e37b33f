"""Files that end before their size."""

import os

from mixmood.core.files import read_image_file


def test_a_file_that_shrinks_while_it_is_read_gives_what_is_left(tmp_path, monkeypatch):
    path, fstat = tmp_path / "a.png", os.fstat
    path.write_bytes(bytes(100))

    def shrinking(handle):
        status = fstat(handle)
        os.truncate(path, 60)
        return status

    monkeypatch.setattr(os, "fstat", shrinking)
    assert read_image_file(str(path), "a.png") == bytes(60)
