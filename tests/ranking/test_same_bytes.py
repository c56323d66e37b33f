"""The record of a ranking depends on the images, the options and the seed, and on nothing else."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import mixmood
from mixmood.cli.main import app
from mixmood.features.backbones.onnx_network import OnnxBackbone

ROOT = Path(__file__).parents[2]
OPTIONS = {
    "draws": 2,
    "sample_size": 6,
    "resolution": 64,
    "depth": "last",
    "measures": ("cosine", "l2"),
}


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
def reading(small_backbone):
    """The options of a ranking whose distances tell whether the features changed."""
    options = {"draws": 2, "sample_size": 6, "measures": ("l2",), "probe": False}
    return options | {"backbone": small_backbone, "cache": None}


@pytest.fixture(scope="module")
def expected_of_reading(desk, reading):
    return read(desk, reading, jobs=1)


def read(desk, reading, pools=("near", "dark"), **options):
    sets = {str(pool).partition(".")[0]: desk / pool for pool in pools}
    return mixmood.rank(desk / "labelled", sets, **reading | options).to_json()


@pytest.mark.parametrize("jobs", [2, 5])
def test_the_number_of_threads_changes_no_byte(desk, expected, jobs):
    assert record(desk, jobs=jobs) == expected


@pytest.fixture(scope="module")
def expected_of_network(desk):
    """Distances alone, by the packaged network: they tell whether a bit of a feature changed."""
    return record(desk, probe=False)


@pytest.mark.parametrize("size", [1, 3, 64])
def test_the_size_of_a_batch_changes_no_byte(desk, expected_of_network, size, monkeypatch):
    monkeypatch.setattr(OnnxBackbone, "batch_size", size)
    assert record(desk, probe=False) == expected_of_network


def test_the_order_in_which_a_folder_is_listed_changes_no_byte(
    desk, reading, expected_of_reading, monkeypatch
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
    assert read(desk, reading) == expected_of_reading


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
def test_the_order_in_which_an_archive_was_packed_changes_no_byte(
    desk, reading, expected_of_reading, kind
):
    files = sorted((desk / "near").rglob("*.png"))
    shuffled = [files[place] for place in np.random.default_rng(1).permutation(len(files))]
    for some in (files, shuffled):
        found = read(desk, reading, (packed(desk, kind, some), "dark"))
        assert without_command(found) == without_command(expected_of_reading)


def test_a_cold_a_half_warm_and_a_warm_cache_change_no_byte(
    desk, reading, expected_of_reading, tmp_path
):
    mixmood.rank(desk / "labelled", [desk / "dark"], **reading | {"cache": tmp_path})
    sets = {name: desk / name for name in ("near", "dark")}
    half, warm = (
        mixmood.rank(desk / "labelled", sets, **reading | {"cache": tmp_path}).to_json()
        for _ in "ab"
    )
    assert half == warm == expected_of_reading


def without_command(text):
    """The record but for the command to type next: it names the sets as they were given."""
    found = json.loads(text)
    return found | {"next": None}


@pytest.mark.parametrize("form", ["{}/", "./{}", "../{here}/{}", "{}//", "{}/x/.."])
def test_the_way_a_path_is_written_changes_no_byte(
    desk, reading, expected_of_reading, form, monkeypatch
):
    monkeypatch.chdir(desk)
    path = form.format("near", here=desk.name)
    sets = {"near": path, "dark": "dark"}
    found = mixmood.rank("labelled", sets, **reading).to_json()
    assert without_command(found) == without_command(expected_of_reading)


COMMANDS = """
import json, sys
from tests.fixtures.few_draws import FEW, repeats
from mixmood.cli.main import app

with repeats(FEW):
    for words in json.loads(sys.argv[1]):
        app(words, standalone_mode=False)
"""


@pytest.mark.slow
def test_the_seed_of_pythons_hashes_changes_no_byte(desk, tmp_path, monkeypatch, small_backbone):
    """Of a ranking and of a training, in a process with another seed than this one."""
    monkeypatch.chdir(desk)
    quick = ["--model", "wrn-tiny", "--epochs", "2", "--updates", "4", "--batch-size", "4"]
    sets = ["--labelled", "labelled", "--unlabelled", "near", "--threads", "1"]
    pools = ["labelled", "near", "noise:gaussian?count=40", "--draws", "3"]
    measures = ["--measure", "all", "--backbone", small_backbone]

    def commands(folder):
        files = [f"--json={folder / 'json'}", f"--csv={folder / 'csv'}"]
        return [
            ["rank", *pools, *measures, *files],
            ["train", *sets, *quick, "--out", str(folder / "run")],
        ]

    own, other = (tmp_path / name for name in ("own", "other"))
    for folder in (own, other):
        folder.mkdir()
    for words in commands(own):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.stderr
    seed = "1" if os.environ.get("PYTHONHASHSEED") == "0" else "0"
    subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps(commands(other))],
        env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        check=True, capture_output=True,
    )  # fmt: skip
    for name in ("json", "csv", "run/model.onnx"):
        assert (own / name).read_bytes() == (other / name).read_bytes(), name
