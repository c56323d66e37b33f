"""`mixmood data list` tells what is there, not what should be."""

import numpy as np
import pytest
from typer.testing import CliRunner

from mixmood.cli.main import app
from mixmood.data.sets import CATALOGUE


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("MIXMOOD_DATA", str(tmp_path))
    return tmp_path


def listed():
    result = CliRunner().invoke(app, ["data", "list"])
    assert result.exit_code == 0
    return result.stdout


def line_of(name):
    return next(line for line in listed().splitlines() if line.startswith(f"{name}  "))


def test_the_folder_is_said_to_be_named_only_where_it_is(home, monkeypatch):
    assert f"folder  {home} (from MIXMOOD_DATA)\n" in listed()
    monkeypatch.delenv("MIXMOOD_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    assert "(set MIXMOOD_DATA to use another)\n" in listed()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_pack_is_listed_with_the_images_it_holds(home, save):
    save(home / "mnist.npz", images=np.zeros((7, 4, 4), np.uint8))
    assert line_of("mnist") == "mnist  here, 7 images; MNIST, training images"
    assert line_of("svhn").startswith("svhn  not here, 73257 images, 182 MB to download; Street")


def test_packs_of_one_s_own_are_listed(home):
    np.savez(home / "mine.npz", images=np.zeros((3, 4, 4), np.uint8))
    assert line_of("mine") == "mine  here, 3 images"


@pytest.mark.parametrize("content", [b"", b"PK\3\4"])
def test_a_broken_pack_is_listed_as_such(home, content):
    (home / "mnist.npz").write_bytes(content)
    assert "mnist  here, but broken: Cannot open" in line_of("mnist")


def test_a_pack_without_images_is_listed_as_such(home):
    np.savez(home / "mnist.npz", a=np.zeros(3), b=np.zeros(3))
    assert "mnist  here, but broken: " in line_of("mnist")
    assert "must hold one array" in line_of("mnist")


def test_every_address_is_listed(home):
    shown = listed()
    for entry in CATALOGUE.values():
        assert all(url in shown for file in entry.files for url in file.urls)


def test_an_unknown_data_set_is_refused_with_the_nearest_name():
    result = CliRunner().invoke(app, ["data", "get", "mnits"])
    assert result.exit_code == 2
    assert "Unknown data set 'mnits'. Did you mean 'mnist'?" in result.stderr
