"""The record of a ranking depends on the images, the options and the seed, and on nothing else."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import mixmood
from mixmood.cli.main import app
from mixmood.features.backbones.onnx_network import OnnxBackbone

OPTIONS = {"draws": 2, "sample_size": 6, "resolution": 64, "measures": ("cosine", "l2")}
READING = OPTIONS | {"measures": ("l2",), "probe": False}
"""For what changes how images are read: the distances then tell whether the features changed."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """Two classes of labelled images and two pools, one of them with folders."""
    root = tmp_path_factory.mktemp("desk")
    rng = np.random.default_rng(0)
    for place, name in enumerate(("labelled/a", "labelled/b", "near/x", "near/y", "dark")):
        (root / name).mkdir(parents=True)
        for index in range(9, 20):
            pixels = rng.integers(0, 256 // (1 + place // 2), (12, 12, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(root / name / f"{index}.png")
    return root


def record(desk, pools=("near", "dark"), **options):
    sets = {str(pool).partition(".")[0]: desk / pool for pool in pools}
    return mixmood.rank(desk / "labelled", sets, cache=None, **OPTIONS | options).to_json()


@pytest.fixture(scope="module")
def expected(desk):
    return record(desk, jobs=1)


@pytest.fixture(scope="module")
def expected_of_reading(desk):
    return record(desk, jobs=1, **READING)


@pytest.mark.parametrize("jobs", [2, 5])
def test_the_number_of_threads_changes_no_byte(desk, expected, jobs):
    assert record(desk, jobs=jobs) == expected


@pytest.mark.parametrize("size", [1, 3, 64])
def test_the_size_of_a_batch_changes_no_byte(desk, expected_of_reading, size, monkeypatch):
    monkeypatch.setattr(OnnxBackbone, "batch_size", size)
    assert record(desk, **READING) == expected_of_reading


def test_the_order_in_which_a_folder_is_listed_changes_no_byte(
    desk, expected_of_reading, monkeypatch
):
    scandir = os.scandir

    class Backwards:
        def __init__(self, path):
            with scandir(path) as entries:
                self.entries = sorted(entries, key=lambda entry: entry.name, reverse=True)

        def __enter__(self):
            return iter(self.entries)

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(os, "scandir", Backwards)
    assert record(desk, **READING) == expected_of_reading


def packed(desk, kind, files):
    path = desk / f"near.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for file in files:
                archive.write(file, file.relative_to(desk / "near"))
    else:
        with tarfile.open(path, "w:gz" if kind == "tar.gz" else "w") as archive:
            for file in files:
                archive.add(file, file.relative_to(desk / "near"))
    return path.name


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_the_order_in_which_an_archive_was_packed_changes_no_byte(desk, expected_of_reading, kind):
    files = sorted((desk / "near").rglob("*.png"))
    shuffled = [files[place] for place in np.random.default_rng(1).permutation(len(files))]
    for some in (files, shuffled):
        found = record(desk, (packed(desk, kind, some), "dark"), **READING)
        assert without_command(found) == without_command(expected_of_reading)


def test_a_cold_a_half_warm_and_a_warm_cache_change_no_byte(desk, expected_of_reading, tmp_path):
    mixmood.rank(desk / "labelled", [desk / "dark"], cache=tmp_path, **READING)
    sets = {name: desk / name for name in ("near", "dark")}
    half, warm = (
        mixmood.rank(desk / "labelled", sets, cache=tmp_path, **READING).to_json() for _ in "ab"
    )
    assert half == warm == expected_of_reading


def without_command(text):
    """The record but for the command to type next: it names the sets as they were given."""
    found = json.loads(text)
    return found | {"next": None}


@pytest.mark.parametrize("form", ["{}/", "./{}", "../{here}/{}", "{}//", "{}/x/.."])
def test_the_way_a_path_is_written_changes_no_byte(desk, expected_of_reading, form, monkeypatch):
    monkeypatch.chdir(desk)
    path = form.format("near", here=desk.name)
    sets = {"near": path, "dark": "dark"}
    found = mixmood.rank("labelled", sets, cache=None, **READING).to_json()
    assert without_command(found) == without_command(expected_of_reading)


def with_another_hash_seed(words, folder):
    """Run a command in a process whose seed of hashes is not the one of this process."""
    seed = "1" if os.environ.get("PYTHONHASHSEED") == "0" else "0"
    subprocess.run(
        [sys.executable, "-m", "mixmood", *words],
        env=os.environ | {"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"},
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip


def in_this_process(words):
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("all_draws")
def test_the_seed_of_pythons_hashes_changes_no_byte(desk, monkeypatch, small_backbone):
    monkeypatch.chdir(desk)
    words = ["rank", "labelled", "near", "noise:gaussian", "--draws", "3"]
    words += ["--measure", "all", "--backbone", small_backbone]
    names = [("json", "csv"), ("other.json", "other.csv")]
    own, other = ([f"--json={json_}", f"--csv={csv}"] for json_, csv in names)
    in_this_process([*words, *own])
    with_another_hash_seed([*words, *other], desk)
    for name, other_name in zip(*names, strict=True):
        assert (desk / name).read_bytes() == (desk / other_name).read_bytes()


@pytest.mark.slow
def test_the_seed_of_pythons_hashes_changes_nothing_in_a_training(desk, tmp_path):
    own, other = (tmp_path / name for name in ("own", "other"))
    quick = ["--model", "wrn-tiny", "--epochs", "2", "--updates", "4", "--batch-size", "4"]
    sets = ["--labelled", str(desk / "labelled"), "--unlabelled", str(desk / "near")]
    words = ["train", *sets, *quick, "--threads", "1"]
    in_this_process([*words, "--out", str(own)])
    with_another_hash_seed([*words, "--out", str(other)], desk)
    assert (own / "model.onnx").read_bytes() == (other / "model.onnx").read_bytes()
