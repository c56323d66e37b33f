"""Pools by name, and noise that fits."""

import numpy as np
import pytest

from mixmood.core.errors import OptionError
from mixmood.data.open import noise_size, open_candidates, open_pool


def images(n=9, height=20, width=30):
    return np.zeros((n, height, width), np.uint8)


@pytest.fixture
def labelled():
    return open_pool(images())


def side_of(pool):
    return pool.fetch(0).shape[0]


def test_names_come_from_the_dictionary_or_from_the_word_or_from_the_path(labelled, tmp_path):
    np.save(tmp_path / "scans.npy", images())
    path = str(tmp_path / "scans.npy")
    assert list(open_candidates({"a": path}, labelled, 0).pools) == ["a"]
    assert list(open_candidates([f"web={path}", path], labelled, 0).pools) == ["web", "scans"]
    assert list(open_candidates(path, labelled, 0).pools) == ["scans"]


def test_a_path_or_noise_with_an_equals_sign_is_not_taken_for_a_name(labelled, tmp_path):
    (tmp_path / "x=y").mkdir()
    np.save(tmp_path / "x=y" / "scans.npy", images())
    assert list(open_candidates([f"{tmp_path}/x=y/scans.npy"], labelled, 0).pools) == ["scans"]
    assert list(open_candidates(["noise:gaussian?count=5"], labelled, 0).pools) == ["gaussian"]


def test_a_file_whose_own_name_has_an_equals_sign_is_opened(labelled, tmp_path, monkeypatch):
    np.save(tmp_path / "we=ird.npy", images())
    monkeypatch.chdir(tmp_path)
    assert list(open_candidates(["we=ird.npy"], labelled, 0).pools) == ["we=ird"]
    assert list(open_candidates(["we=we=ird.npy"], labelled, 0).pools) == ["we"]


def test_names_that_are_no_text_are_printable_however_they_are_given(labelled, tmp_path):
    np.save(tmp_path / "caf\udce9.npy", images())
    path = str(tmp_path / "caf\udce9.npy")
    for given, name in ((path, r"caf\xe9"), (f"n\udce9={path}", r"n\xe9")):
        assert list(open_candidates([given], labelled, 0).pools) == [name]
    assert list(open_candidates({"n\udce9": path}, labelled, 0).pools) == [r"n\xe9"]


def test_two_pools_of_one_name_are_refused(labelled):
    with pytest.raises(OptionError, match="Two candidates are called 'array'. Name them"):
        open_candidates([images(), images()], labelled, 0)


def test_noise_has_the_size_of_the_labelled_images_unless_told_otherwise(labelled):
    pools = open_candidates(["a=noise:gaussian", "b=noise:gaussian?size=50"], labelled, 0).pools
    assert {name: side_of(pool) for name, pool in pools.items()} == {"a": 20, "b": 50}


def test_noise_beside_features_or_beside_huge_photos_keeps_a_sane_size():
    assert noise_size(open_pool(np.zeros((9, 4)))) is None
    assert noise_size(open_pool(images(2, 900, 700))) == 224
    assert noise_size(open_pool(images(2, 3, 3))) == 8


def test_unreadable_labelled_images_decide_nothing(tmp_path):
    for i in range(9):
        (tmp_path / f"{i}.png").write_bytes(b"nothing")
    assert noise_size(open_pool(tmp_path)) is None


def test_one_array_is_one_pool_and_not_a_list_of_its_rows(labelled):
    opened = open_candidates(images(), labelled, 0)
    assert [len(pool) for pool in opened.pools.values()] == [9]


def test_a_name_that_is_a_number_is_refused(labelled):
    with pytest.raises(OptionError, match="The name of a pool must be a text; got 1"):
        open_candidates({1: images()}, labelled, 0)
