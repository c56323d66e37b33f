"""Files are whole or not there."""

import os

import pytest

from mixmood.core.errors import OutputError
from mixmood.core.files import check_writable, write_atomic


def test_a_file_is_replaced_as_a_whole_and_nothing_else_is_left(tmp_path):
    target = tmp_path / "out.json"
    target.write_text("before")
    write_atomic(target, "after")
    assert target.read_text() == "after"
    assert list(tmp_path.iterdir()) == [target]


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    target = tmp_path / "out.json"
    target.write_text("before")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="Cannot write .*out.json: No space left on device"):
        write_atomic(target, "after")
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


def test_a_written_file_is_as_readable_as_any_other(tmp_path):
    (tmp_path / "plain").write_text("")
    write_atomic(tmp_path / "atomic", b"")
    assert (tmp_path / "plain").stat().st_mode == (tmp_path / "atomic").stat().st_mode


def test_a_directory_is_not_an_output(tmp_path):
    with pytest.raises(OutputError, match="it is a directory. Name a file in it"):
        check_writable(tmp_path)


def test_the_directory_of_an_output_must_exist(tmp_path):
    with pytest.raises(OutputError, match="the directory .*nowhere does not exist"):
        check_writable(tmp_path / "nowhere" / "out.json")


def test_an_output_must_be_permitted(tmp_path, monkeypatch):
    """Root may write anywhere, so that permission is taken away by hand."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OutputError, match="permission denied. Choose another place"):
        check_writable(tmp_path / "out.json")
