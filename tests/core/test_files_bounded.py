"""Files that come in pieces, or end before their size."""

import os

import pytest

from mixmood.core.files import read_image_file


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_a_file_that_comes_in_pieces_is_read_to_its_end(tmp_path, monkeypatch, at_once):
    path, content, read = tmp_path / "a.png", bytes(range(100)), os.read
    path.write_bytes(content)
    monkeypatch.setattr(os, "read", lambda handle, size: read(handle, min(size, at_once)))
    assert read_image_file(str(path), "a.png") == content


def test_a_file_that_shrinks_while_it_is_read_gives_what_is_left(tmp_path, monkeypatch):
    path, read = tmp_path / "a.png", os.read
    path.write_bytes(bytes(100))

    def shrinking(handle, size):
        os.truncate(path, 60)
        return read(handle, min(size, 40))

    monkeypatch.setattr(os, "read", shrinking)
    assert read_image_file(str(path), "a.png") == bytes(60)
