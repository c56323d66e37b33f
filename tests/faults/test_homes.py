"""Homes that cannot be written to, are not told, or do not exist."""

import os
import pwd
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from mixmood.cli.main import app
from mixmood.core.cache import cache_directory, open_cache
from mixmood.core.errors import BackboneError, InputError, OptionError
from mixmood.core.files import expanded
from mixmood.data.open import open_pool
from mixmood.data.sets import data_home, open_set
from mixmood.features.backbones.wide_resnet import weights_directory
from mixmood.testbed.config import load_config


@pytest.fixture
def homeless(monkeypatch):
    """A user that the system does not know, without HOME: as in many containers."""

    def unknown(_):
        raise KeyError("no such user")

    for name in [*os.environ]:
        if name.startswith(("HOME", "XDG_", "MIXMOOD_")):
            monkeypatch.delenv(name)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr(pwd, "getpwnam", unknown)


def test_without_a_home_there_is_no_cache(homeless):
    assert cache_directory() is None
    assert open_cache() is None


def test_without_a_home_images_are_ranked(homeless, rank_pools):
    done = CliRunner().invoke(app, rank_pools)
    assert done.exit_code == 0, done.output
    assert "is the nearest pool" in done.stdout


@pytest.mark.parametrize("command", [["cache", "info"], ["cache", "clear"]])
def test_without_a_home_a_cache_must_be_named(homeless, command):
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 1
    assert "this user has no home directory. Name one with --cache DIR" in done.stderr


def test_without_a_home_a_folder_of_data_must_be_named(homeless):
    with pytest.raises(OptionError, match="no home directory. Name a folder in MIXMOOD_DATA"):
        data_home()
    assert len(open_set("digits")) == 1797


def test_without_a_home_a_place_for_weights_must_be_named(homeless):
    with pytest.raises(BackboneError, match="no home directory. Name a directory with MIXMOOD"):
        weights_directory()


def test_the_home_of_nobody_is_a_path_that_does_not_exist():
    path = "~nobody-of-this-name/pool"
    assert str(expanded(path)) == path
    with pytest.raises(InputError, match="Cannot open the pool ~nobody-of-this-name/pool: No such"):
        open_pool(path)
    with pytest.raises(InputError, match="Cannot read the test bed ~nobody-of-this-name/x.toml"):
        load_config("~nobody-of-this-name/x.toml")


def test_an_empty_environment_is_enough(rank_pools, tmp_path):
    """As with `env -i`; only the cache is kept out of the user's own."""
    command = [sys.executable, "-m", "mixmood", *rank_pools]
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.startswith("64 px, both (the largest view)")
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "mixmood").is_dir()


def test_a_home_that_cannot_be_written_to_costs_the_cache_and_a_warning(
    homeless, rank_pools, tmp_path, monkeypatch
):
    """Even root cannot make a folder below a file."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    done = CliRunner().invoke(app, rank_pools)
    assert done.exit_code == 0
    assert "is the nearest pool" in done.stdout
    assert "cannot be used (Not a directory); going on without it" in done.stderr
    assert "Traceback" not in done.stderr
