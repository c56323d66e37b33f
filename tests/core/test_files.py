"""Files are whole or not there."""

import os
import subprocess
import sys
import threading
from pathlib import Path

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


def test_the_umask_is_never_touched(tmp_path, monkeypatch):
    """To read it is to set it: two threads could leave the whole process without one."""
    monkeypatch.setattr(os, "umask", None)
    write_atomic(tmp_path / "out.json", b"")


def test_a_device_is_written_to_and_stays_one():
    """A terminal of our own: a mistake here must not cost the machine its /dev/null."""
    ours, theirs = os.openpty()
    device = Path(os.ttyname(theirs))
    check_writable(device)
    write_atomic(device, "text")
    assert os.read(ours, 99) == b"text"
    assert device.is_char_device()
    os.close(ours)
    os.close(theirs)


def test_a_pipe_gets_the_content_and_stays(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    check_writable(pipe)
    write_atomic(pipe, "text")
    reader.join()
    assert got == ["text"]
    assert pipe.is_fifo()


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_a_link_and_its_target_is_written(tmp_path, is_there):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "out.json", tmp_path / "link"
    link.symlink_to("far/out.json")
    if is_there:
        target.write_text("before")
    check_writable(link)
    write_atomic(link, "after")
    assert link.is_symlink()
    assert target.read_text() == "after"
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "far", target, link]


def test_a_link_to_nowhere_is_no_output(tmp_path):
    (tmp_path / "link").symlink_to("gone/out.json")
    with pytest.raises(OutputError, match="the directory .*gone does not exist"):
        check_writable(tmp_path / "link")


@pytest.mark.parametrize("name", ["/dev/stdout", "{}"], ids=["its device", "its file"])
def test_what_is_printed_and_written_to_one_place_is_all_there(tmp_path, name):
    """A file behind stdout must not be replaced: what is printed later would be lost."""
    target = tmp_path / "out.txt"
    code = (
        "import sys; from mixmood.core.files import *; print('one', flush=True);"
        "check_writable(sys.argv[1]); write_atomic(sys.argv[1], 'two\\n'); print('three')"
    )
    with target.open("wb") as out:
        command = [sys.executable, "-c", code, name.format(target)]
        subprocess.run(command, stdout=out, check=True)
    assert target.read_text() == "one\ntwo\nthree\n"


def test_a_directory_cannot_be_written(tmp_path):
    with pytest.raises(OutputError, match="Cannot write .*: Is a directory"):
        write_atomic(tmp_path, "text")


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
