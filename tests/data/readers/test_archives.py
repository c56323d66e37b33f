"""Archives of every kind are read at any place without being extracted."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from tests.fixtures.mutations import EDITS, assert_images_or_known_errors

from mixmood.core.errors import InputError, UnreadableImageError
from mixmood.data.readers.files import FolderSource

KINDS = ["zip", "stored.zip", "tar", "tar.gz"]


@pytest.mark.parametrize("kind", KINDS)
def test_images_are_read_from_the_archive(kind, pack, opened, values_of, tmp_path):
    files = {"b/1.png": 1, "a/2.png": 2, "__MACOSX/a/._2.png": 9, "notes.txt": b"x", ".h.png": 9}
    path = pack(kind, files)
    source = opened(path)
    assert values_of(source) == [2, 1]
    assert source.locate(1) == f"{path.name}/b/1.png"
    assert source.labels.counts() == {"a": 1, "b": 1}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", KINDS)
def test_threads_may_read_at_once(kind, pack, opened, values_of):
    source = opened(pack(kind, {f"{value}.png": value for value in range(60)}))
    with ThreadPoolExecutor(4) as pool:
        pictures = list(pool.map(lambda index: next(source.read([index])), range(60)))
    assert [int(picture[0, 0, 0]) for picture in pictures] == list(range(60))


@pytest.mark.parametrize("kind", KINDS)
def test_the_fingerprint_is_that_of_the_list(kind, pack, opened):
    first = opened(pack(kind, {"1.png": 1, "2.png": 2}, "a")).fingerprint
    assert opened(pack(kind, {"1.png": 1, "2.png": 2}, "b")).fingerprint == first
    assert opened(pack(kind, {"1.png": 1, "3.png": 2}, "c")).fingerprint != first


@pytest.mark.parametrize("kind", KINDS)
def test_images_have_the_order_of_a_folder_however_they_were_packed(
    kind, pack, opened, tree, values_of
):
    content = {"b/1.png": 1, "a/10.png": 10, "a/2.png": 2}
    folder = FolderSource(tree(content), "folder")
    backwards = dict(reversed(content.items()))
    for source in (opened(pack(kind, content, "a")), opened(pack(kind, backwards, "b"))):
        located = [source.locate(index).partition("/")[2] for index in range(3)]
        assert located == ["a/2.png", "b/1.png", "a/10.png"]
        assert values_of(source) == [2, 1, 10] == values_of(folder)
        assert source.fingerprint == folder.fingerprint


@pytest.mark.parametrize("kind", KINDS)
def test_the_quickest_order_to_read_is_that_of_the_packing(kind, pack, opened, rng):
    packing = rng.permutation(40)
    source = opened(pack(kind, {f"{value:02}.png": int(value) for value in packing}))
    some = np.array([7, 31, 2, 18, 30])
    assert packing.tolist() == source.reading_order(np.arange(40)).tolist()
    assert some[source.reading_order(some)].tolist() == [v for v in packing if v in some]


def test_a_folder_is_read_in_its_own_order(tree):
    source = FolderSource(tree({"1.png": 1, "2.png": 2, "3.png": 3}), "folder")
    assert source.reading_order(np.array([2, 0, 1])).tolist() == [1, 2, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_names_that_point_outside_are_only_names(kind, pack, opened, values_of):
    """They never become paths: one with dots is left out like a hidden folder."""
    source = opened(pack(kind, {"../../evil.png": 7, "/etc/x.png": 8}))
    assert values_of(source) == [8]


@pytest.mark.parametrize("kind", KINDS)
def test_an_archive_without_images_is_refused(kind, pack, opened):
    with pytest.raises(InputError, match=r"No images in the archive .*crawl"):
        opened(pack(kind, {"notes.txt": b"x"}))


@pytest.mark.parametrize(("kind", "word"), [("zip", "zip"), ("tar", "tar"), ("tar.gz", "tar")])
@pytest.mark.parametrize("content", [b"", b"hello" * 300, b"\x1f\x8bhello"])
def test_a_file_that_is_no_archive_is_refused(kind, word, content, tmp_path, opened):
    path = tmp_path / f"crawl.{kind}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"Cannot open .* as a {word} archive: .* pack it again"):
        opened(path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.8])
def test_a_truncated_archive_is_refused(kind, share, pack, opened):
    noise = np.random.default_rng(0).bytes(5000)
    path = pack(kind, {"1.png": noise, "2.png": noise, "3.png": noise})
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(InputError, match=r"Cannot open .* as a (zip|tar) archive: "):
        opened(path)


@pytest.mark.parametrize("kind", KINDS)
def test_an_archive_that_vanished_gives_unreadable_images(kind, pack, opened):
    path = pack(kind, {"1.png": 1})
    source = opened(path)
    path.unlink()
    gone = r"1\.png: cannot be (read|unpacked): No such file"
    with pytest.raises(UnreadableImageError, match=gone):
        source.fetch(0)


@pytest.mark.parametrize("kind", ["tar", "stored.zip"])
def test_an_archive_that_shrank_gives_unreadable_images(kind, pack, opened):
    path = pack(kind, {"1.png": b"x" * 5000, "2.png": b"y" * 5000})
    source = opened(path)
    os.truncate(path, 700)
    with pytest.raises(UnreadableImageError, match=r"the file ends before"):
        source.fetch(0)


@pytest.mark.parametrize("kind", KINDS)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(edits=EDITS)
def test_a_mutated_archive_gives_images_or_the_known_errors(kind, edits, pack, opened):
    path = pack(kind, {"a/1.png": 1, "b/2.png": 2})
    assert_images_or_known_errors(path, edits, opened)


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_that_is_gone_leaves_unreadable_images(kind, pack, opened):
    path = pack(kind, {"1.png": 1})
    source = opened(path)
    path.unlink()
    (found,) = source.read([0])
    assert str(found) == f"{path.name}/1.png: cannot be read: No such file or directory."
