"""The filter command as a user types it, on small folders of images and on features."""

import json
import shutil
import zipfile

import numpy as np
import pytest
from PIL import Image
from tests.fixtures.filter_command import COLUMNS, LEAST, filtered, invoke, rows_of, small
from typer.testing import CliRunner

from mixmood.cli.main import app


def test_the_list_has_a_row_for_every_image_and_names_every_reason(in_images, tmp_path):
    sets = ("labelled", "crawl", "--resolution", 64)
    result = filtered(*sets, "--keep", 15, "--out", tmp_path / "kept.csv")
    rows = rows_of(tmp_path / "kept.csv")
    assert list(rows[0]) == [*COLUMNS, "predicted_class", "confidence"]
    assert [int(row["index"]) for row in rows] == list(range(30))
    reasons = {row["path"]: row["reason"] for row in rows}
    assert reasons["broken.png"] == "cannot be read"
    assert reasons["copy.png"] == "copy of a labelled image"
    # The same image under a name that sorts later is the duplicate, the first the original.
    twins = [path for path in reasons if path.endswith(("useful03.png", "twice.png"))]
    assert [reasons[path] for path in twins][1] == "duplicate in the pool"
    assert {row["keep"] for row in rows if not row["reason"]} == {"1"}
    assert all(row["reason"] for row in rows if row["keep"] == "0")
    (broken,) = (row for row in rows if row["path"] == "broken.png")
    assert (broken["score"], broken["confidence"], broken["nearest"]) == ("", "", "")
    assert "1 cannot be read" in result.stdout
    assert "Note: 1 image could not be read: broken.png" in result.stdout
    assert "Classes of the kept images: flat" in result.stdout
    assert "Next: mixmood train labelled" in result.stdout
    assert not (tmp_path / "kept.csv.parts").exists()


def test_files_that_are_not_read_and_missing_classes_are_noted(images, tmp_path, monkeypatch):
    for name in ("labelled", "crawl"):
        shutil.copytree(images / name, tmp_path / name)
    (tmp_path / "crawl" / "photo.heic").write_bytes(b"photo")
    (tmp_path / "labelled" / "flat" / "2.png").rename(tmp_path / "labelled" / "2.png")
    monkeypatch.chdir(tmp_path)
    result = filtered(*small("--keep", 15, "--out", "kept.csv"))
    assert "Note: crawl: 1 file was passed over: 1 .heic (convert it first" in result.stdout
    assert "Note: labelled: 1 of 12 images is in no class folder, such as 2.png" in result.stdout


def test_the_classes_of_useful_images_are_recognised(in_images, tmp_path):
    filtered(*small("--out", tmp_path / "kept.csv"))
    own = [row for row in rows_of(tmp_path / "kept.csv") if "useful" in row["path"]]
    named = {row["path"][-6:-4]: row["predicted_class"] for row in own}
    assert all(named[f"{i:02d}"] == ("upright" if i % 2 else "flat") for i in range(14))
    assert all(float(row["confidence"]) > 0.5 for row in own)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "txt"])
@pytest.mark.parametrize("pool", ["crawl", "crawl.zip"])
def test_a_list_is_a_pool_for_the_other_commands(in_images, tmp_path, suffix, pool):
    """Names that break CSV come back as they were; text cannot hold one with a line break."""
    if not (in_images / "crawl.zip").exists():
        with zipfile.ZipFile(in_images / "crawl.zip", "w") as archive:
            for path in sorted((in_images / "crawl").glob("*.png")):
                archive.write(path, path.name.replace("\n", " "))
    if suffix == "txt" and pool == "crawl":
        result = invoke(*small("--keep", 29, "--out", tmp_path / "kept.txt"))
        assert result.exit_code == 1
        assert "has a line break, which a text list cannot hold. Write a .csv" in result.stderr
        assert "--resume" not in result.stderr
        assert list(tmp_path.iterdir()) == []
        return
    first = tmp_path / f"kept.{suffix}"
    words = ("labelled", pool, *LEAST, "--threshold", "-99", "--out", first)
    filtered(*words, "--json", tmp_path / "kept.json")
    n_kept = json.loads((tmp_path / "kept.json").read_text())["n_kept"]
    assert n_kept >= 20
    filtered("labelled", first, *LEAST, "--keep", 20, "--out", tmp_path / "again.csv")
    rows = rows_of(tmp_path / "again.csv")
    assert len(rows) == n_kept
    assert not any("broken" in row["path"] for row in rows)
    quick = [*map(str, LEAST), "--draws", "2", "--json", "-"]
    ranked = CliRunner().invoke(app, ["rank", "labelled", str(tmp_path / "again.csv"), *quick])
    assert ranked.exit_code == 0, ranked.stderr
    assert json.loads(ranked.stdout)["candidates"][0]["n_images"] == 20


def test_json_to_stdout_prints_nothing_else(in_features, tmp_path):
    result = filtered("labelled.npy", "half.npy", "--out", tmp_path / "k.csv", "--json", "-")
    record = json.loads(result.stdout)
    assert (record["n_images"], record["n_unreadable"], record["classes"]) == (200, 0, None)
    low, high = record["useful_share"]["interval"]
    assert 0.15 < low <= record["useful_share"]["share"] <= high < 0.7
    assert record["n_kept"] == sum(row["keep"] == "1" for row in rows_of(tmp_path / "k.csv"))
    assert sum(record["reasons"].values()) == 200 - record["n_kept"]


def test_half_of_a_half_foreign_pool_is_kept_and_the_right_half(in_features, tmp_path):
    result = filtered("labelled.npy", "half.npy", "--out", tmp_path / "k.csv")
    # Without classes nothing can be trained.
    assert "mixmood train" not in result.stderr
    keeps = np.array([row["keep"] == "1" for row in rows_of(tmp_path / "k.csv")])
    assert keeps[:100].mean() > 0.85
    assert keeps[100:].mean() < 0.1


def test_a_typical_share_is_one_of_the_labelled_images(in_features, tmp_path):
    words = ("labelled.npy", "half.npy", "--typical", 0.9, "--out", tmp_path / "k.csv")
    record = json.loads(filtered(*words, "--json", "-").stdout)
    assert record["keep"] == "as typical as 90 % of the labelled images"
    # The lowest score that is kept lies at or above that of the labelled image.
    assert record["typical"] <= 0.9
    keeps = np.array([row["keep"] == "1" for row in rows_of(tmp_path / "k.csv")])
    assert keeps[:100].mean() > 0.6
    assert keeps[100:].mean() < 0.2


def test_an_all_foreign_pool_keeps_little_and_says_so(in_features, tmp_path):
    record = json.loads(
        filtered("labelled.npy", "foreign.npy", "--out", tmp_path / "k.csv", "--json", "-").stdout
    )
    assert record["n_kept"] < 20
    result = filtered("labelled.npy", "foreign.npy", "--keep", 100, "--out", tmp_path / "k.csv")
    assert "Most kept images are less typical than every labelled image" in result.stdout


def test_an_all_useful_pool_is_kept_nearly_whole(in_features, tmp_path):
    record = json.loads(
        filtered("labelled.npy", "useful.npy", "--out", tmp_path / "k.csv", "--json", "-").stdout
    )
    assert record["n_kept"] > 130


def test_a_list_that_keeps_nothing_says_so_when_it_is_opened(in_features, tmp_path):
    words = ("labelled.npy", "half.npy", "--threshold", 1e9, "--out", tmp_path / "none.csv")
    assert "Nothing was kept: every image of the pool scores too low" in filtered(*words).stdout
    result = invoke("labelled.npy", tmp_path / "none.csv", "--out", tmp_path / "k.csv")
    assert result.exit_code == 1
    assert "keeps no image. Filter again with a larger --keep" in result.stderr


def test_deep_images_are_scaled_as_the_labelled_ones(tmp_path):
    """12-bit values in 16-bit files would be nearly black, and all alike."""
    rng = np.random.default_rng(0)

    def deep(path, most, seed):
        plane = np.random.default_rng(seed).integers(0, most, (6, 6), dtype=np.uint16)
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.kron(plane, np.ones((6, 6), np.uint16))).save(path)

    for i in range(20):
        deep(tmp_path / "labelled" / f"{i}.png", 4096, i)
        deep(tmp_path / "crawl" / f"{i}.png", 4096, 100 + i)
        deep(tmp_path / "crawl" / f"dark{i}.png", 40, 200 + int(rng.integers(9)) + 10 * i)
    places = tmp_path / "labelled", tmp_path / "crawl"
    out, saved = tmp_path / "k.csv", tmp_path / "f.npz"
    filtered(*places, *LEAST, "--keep", 15, "--out", out, "--save", saved)
    kept = [row["path"] for row in rows_of(out) if row["keep"] == "1"]
    assert not any("dark" in path for path in kept)
    again = tmp_path / "again.csv"
    filtered("-", places[1], "--load", saved, "--keep", 15, "--out", again)
    assert again.read_bytes() == out.read_bytes()


def test_balance_keeps_as_many_of_each_class(in_images, tmp_path):
    words = small("--threshold", "-99", "--balance", "--out", tmp_path / "k.csv", "--json", "-")
    classes = json.loads(filtered(*words).stdout)["classes"]
    assert classes["flat"] == classes["upright"] > 0


def test_diverse_leaves_even_classes_even(in_images, tmp_path):
    words = small("--threshold", "-99", "--balance", "--diverse", 1, "--out", tmp_path / "k.csv")
    record = json.loads(filtered(*words, "--json", "-").stdout)
    assert record["classes"]["flat"] == record["classes"]["upright"] > 0
    assert record["reasons"]["too similar to kept images"] > 0


def test_diverse_keeps_half_and_says_why(in_features, tmp_path):
    words = ("labelled.npy", "half.npy", "--keep", 40, "--out", tmp_path / "k.csv")
    record = json.loads(filtered(*words, "--diverse", 0.5, "--json", "-").stdout)
    assert record["n_kept"] == 20
    assert record["reasons"]["too similar to kept images"] == 20


def test_noise_has_the_size_of_the_labelled_images_and_is_found_again(in_images, tmp_path):
    """Noise of 32 pixels is another kind of noise among images of 64, smoothed by the resize."""
    big = tmp_path / "labelled"
    for path in (in_images / "labelled").rglob("*.png"):
        (big / path.parent.name).mkdir(parents=True, exist_ok=True)
        Image.open(path).resize((40, 40)).save(big / path.parent.name / path.name)
    words = (big, "noise:gaussian?count=60", *LEAST, "--keep", 9, "--seed", 3)
    filtered(*words, "--out", tmp_path / "k.csv")
    rows = rows_of(tmp_path / "k.csv")
    assert {row["pool"] for row in rows} == {"noise:gaussian?count=60&size=40&seed=3"}
    again = (big, tmp_path / "k.csv", *LEAST, "--keep", 9, "--seed", 4)
    filtered(*again, "--score", "knn", "--out", tmp_path / "again.csv")
    first = {row["path"]: row["nearest"] for row in rows}
    assert {row["path"]: row["nearest"] for row in rows_of(tmp_path / "again.csv")} == {
        path: first[path] for path in (row["path"] for row in rows if row["keep"] == "1")
    }


def test_another_number_of_jobs_or_no_cache_gives_the_same_bytes(in_images, tmp_path):
    outputs = []
    for name, more in (("a", ()), ("b", ("--jobs", 1)), ("c", ("--cache", "none"))):
        filtered(*small("--out", tmp_path / f"{name}.csv", *more))
        outputs.append((tmp_path / f"{name}.csv").read_bytes())
    assert outputs[0] == outputs[1] == outputs[2]
