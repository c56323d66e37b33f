"""`mixmood cache`: what it shows, what it forgets, and what it refuses."""

import numpy as np
import pytest
from typer.testing import CliRunner

from mixmood.cli.cache import app
from mixmood.core.cache import FILE_NAME, FeatureCache
from mixmood.core.errors import InputError


@pytest.fixture
def filled(tmp_path):
    with FeatureCache(tmp_path) as cache:
        cache.put({bytes([i]): np.zeros(1280, np.float32) for i in range(7)})
        cache.keep_index(b"archive", b"index")
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, list(words), catch_exceptions=False)


def test_info_shows_place_content_size_and_limit(filled):
    lines = run("info", "--cache", str(filled)).stdout.splitlines()
    assert lines[0].split() == ["file", str(filled / FILE_NAME)]
    assert lines[1].split() == ["images", "7"]
    assert lines[2].split() == ["archives", "1"]
    assert lines[3].startswith("size      0.1 MB")
    assert lines[4].startswith("limit     2048.0 MB")


def test_clear_forgets_and_says_how_much(filled):
    assert run("clear", "--cache", str(filled)).stdout == (
        "Deleted the features of 7 images and the index of 1 archive.\n"
    )
    lines = run("info", "--cache", str(filled)).stdout.splitlines()
    assert [line.split()[1] for line in lines[1:3]] == ["0", "0"]


def test_without_an_option_the_users_own_cache_is_meant(filled, monkeypatch):
    monkeypatch.setenv("MIXMOOD_CACHE", str(filled))
    assert "images    7" in run("info").stdout


def test_a_cache_switched_off_cannot_be_shown(monkeypatch):
    monkeypatch.setenv("MIXMOOD_CACHE", "none")
    with pytest.raises(InputError, match="MIXMOOD_CACHE is 'none'"):
        run("info")


def test_a_place_that_cannot_hold_a_cache_is_refused(tmp_path):
    (tmp_path / FILE_NAME).mkdir()
    with pytest.raises(InputError, match="cannot be used"):
        run("clear", "--cache", str(tmp_path))


def test_looking_at_a_cache_that_is_not_there_makes_none(tmp_path):
    with pytest.raises(InputError, match=r"There is no cache in .*/nowhere"):
        run("info", "--cache", str(tmp_path / "nowhere"))
    assert not (tmp_path / "nowhere").exists()
