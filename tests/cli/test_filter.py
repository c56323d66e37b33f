"""The filter command as a user types it, on small folders of images and on features."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from mixmood.cli.main import app
from mixmood.core.errors import OutputError
from mixmood.selection.scan import parts

COLUMNS = ["path", "pool", "index", "score", "keep", "reason", "nearest"]
SMALL_PARTS = "import mixmood.selection.scan.parts as parts; parts.PART_SIZE = 8\n"


def invoke(*words):
    return CliRunner().invoke(app, ["filter", *map(str, words)])


def filtered(*words):
    result = invoke(*words)
    assert result.exit_code == 0, result.stderr
    return result


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def stripes(rng, *, is_upright):
    """A picture of dark and light stripes with noise."""
    wave = np.sin(np.arange(32) * rng.uniform(0.3, 1.2) + rng.uniform(0, 6))
    plane = np.tile(wave, (32, 1)) if is_upright else np.tile(wave[:, None], (1, 32))
    noisy = 128 + rng.uniform(-90, 90, 3) * plane[..., None] + rng.normal(0, 12, (32, 32, 3))
    return np.clip(noisy, 0, 255).astype(np.uint8)


def blocks(rng):
    """A foreign picture: sixteen blocks of any colour."""
    small = rng.integers(0, 255, (4, 4, 3), dtype=np.uint8)
    return np.repeat(np.repeat(small, 8, axis=0), 8, axis=1)


def save(path, picture):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture).save(path)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """12 labelled images of two classes; a pool of 14 like them, 12 foreign ones and oddities."""
    root, rng = tmp_path_factory.mktemp("images"), np.random.default_rng(0)
    for i in range(12):
        own = root / "labelled" / ("upright" if i % 2 else "flat") / f"{i}.png"
        save(own, stripes(rng, is_upright=bool(i % 2)))
    for i in range(14):
        save(root / "crawl" / f"useful{i:02d}.png", stripes(rng, is_upright=bool(i % 2)))
    for i in range(12):
        save(root / "crawl" / f"foreign{i:02d}.png", blocks(rng))
    save(root / "crawl" / "copy.png", np.array(Image.open(root / "labelled" / "flat" / "2.png")))
    save(root / "crawl" / "twice.png", np.array(Image.open(root / "crawl" / "useful03.png")))
    (root / "crawl" / "broken.png").write_bytes(b"no image at all")
    os.link(root / "crawl" / "useful00.png", root / "crawl" / '=a,"b\nc.png')
    return root


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    """Rows of features: 40 labelled, a pool half useful, one all useful, one all foreign."""
    root, rng = tmp_path_factory.mktemp("features"), np.random.default_rng(0)
    offset, means = rng.normal(size=16) * 3, rng.normal(size=(3, 16))

    def useful(n):
        return offset + means[np.arange(n) % 3] + 0.4 * rng.normal(size=(n, 16))

    foreign = offset + 2.0 * rng.normal(size=16) + 0.4 * rng.normal(size=(200, 16))
    np.save(root / "labelled.npy", useful(40))
    np.save(root / "half.npy", np.concatenate([useful(100), foreign[:100]]))
    np.save(root / "useful.npy", useful(200))
    np.save(root / "foreign.npy", foreign)
    np.save(root / "wide.npy", rng.normal(size=(20, 7)))
    np.save(root / "few.npy", useful(5))
    (root / "empty").mkdir()
    return root


@pytest.fixture
def in_images(images, monkeypatch):
    """The working folder is that of the images; what a command writes goes elsewhere."""
    monkeypatch.chdir(images)
    return images


@pytest.fixture
def in_features(features, monkeypatch):
    monkeypatch.chdir(features)
    return features


def small(*words):
    """The words of a filter of the small images, at the least resolution."""
    return ("labelled", "crawl", "--resolution", 64, *words)


def test_the_list_has_a_row_for_every_image_and_names_every_reason(in_images, tmp_path):
    result = filtered(*small("--keep", 15, "--out", tmp_path / "kept.csv"))
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
    assert "mixmood train --labelled labelled --unlabelled" in result.stderr
    assert not (tmp_path / "kept.csv.parts").exists()


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
        assert not (tmp_path / "kept.txt").exists()
        return
    first = tmp_path / f"kept.{suffix}"
    words = ("labelled", pool, "--resolution", 64, "--threshold", "-99", "--out", first)
    filtered(*words, "--json", tmp_path / "kept.json")
    n_kept = json.loads((tmp_path / "kept.json").read_text())["n_kept"]
    assert n_kept >= 20
    filtered("labelled", first, "--resolution", 64, "--keep", 20, "--out", tmp_path / "again.csv")
    rows = rows_of(tmp_path / "again.csv")
    assert len(rows) == n_kept
    assert not any("broken" in row["path"] for row in rows)
    ranked = CliRunner().invoke(
        app, ["rank", "labelled", str(tmp_path / "again.csv"), "--draws", "2", "--json", "-"]
    )
    assert ranked.exit_code == 0, ranked.stderr
    assert json.loads(ranked.stdout)["candidates"][0]["n_images"] == 20


def test_a_list_that_the_pool_rests_on_is_not_replaced(in_features, tmp_path):
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    filtered("labelled.npy", "half.npy", "--out", first)
    filtered("labelled.npy", first, "--keep", 20, "--out", second)
    before = first.read_bytes()
    result = invoke("labelled.npy", second, "--out", first)
    assert result.exit_code == 2
    assert f"{first} is one of the inputs" in result.stderr
    assert first.read_bytes() == before


def test_json_to_stdout_prints_nothing_else(in_features, tmp_path):
    result = filtered("labelled.npy", "half.npy", "--out", tmp_path / "k.csv", "--json", "-")
    record = json.loads(result.stdout)
    assert (record["n_images"], record["n_unreadable"], record["classes"]) == (200, 0, None)
    low, high = record["useful_share"]["interval"]
    assert 0.15 < low <= record["useful_share"]["share"] <= high < 0.7
    assert record["n_kept"] == sum(row["keep"] == "1" for row in rows_of(tmp_path / "k.csv"))
    assert sum(record["reasons"].values()) == 200 - record["n_kept"]


def test_half_of_a_half_foreign_pool_is_kept_and_the_right_half(in_features, tmp_path):
    filtered("labelled.npy", "half.npy", "--out", tmp_path / "k.csv")
    keeps = np.array([row["keep"] == "1" for row in rows_of(tmp_path / "k.csv")])
    assert keeps[:100].mean() > 0.85
    assert keeps[100:].mean() < 0.1


def test_a_typical_share_is_one_of_the_labelled_images(in_features, tmp_path):
    words = ("labelled.npy", "half.npy", "--typical", 0.9, "--out", tmp_path / "k.csv")
    record = json.loads(filtered(*words, "--json", "-").stdout)
    assert record["keep"] == "as typical as 90% of the labelled images"
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


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["labelled.npy", "half.npy", "--keep", "0"], 2, "--keep takes auto, a share between"),
        (["labelled.npy", "half.npy", "--keep", "2.5"], 2, "whole number from 1 on; got 2.5"),
        (["labelled.npy", "half.npy", "--keep", "3", "--threshold", "1"], 2, "keep or threshold"),
        (["labelled.npy", "half.npy", "--threshold", "nan"], 2, "finite number; got nan"),
        (["labelled.npy", "half.npy", "--typical", "0"], 2, "above 0 and at most 1; got 0"),
        (["labelled.npy", "half.npy", "--typical", "1", "--keep", "9"], 2, "one of keep, thresh"),
        (["labelled.npy", "half.npy", "--score", "knm"], 2, "Did you mean 'knn'?"),
        (["labelled.npy", "half.npy", "--diverse", "2"], 2, "between 0 and 1; got 2"),
        (
            ["labelled.npy", "half.npy", "--backend", "dask"],
            2,
            "Unknown backend 'dask'. Known: local, ray",
        ),
        (["labelled.npy", "half.npy", "--jobs", "0"], 2, "jobs must be at least 1; got 0"),
        (["labelled.npy", "half.npy", "--frames", "eech"], 2, "Did you mean 'each'?"),
        (["labelled.npy", "half.npy", "--balance"], 2, "balance needs classes"),
        (["labelled.npy", "half.npy", "--out", "kept.doc"], 2, "ends in .csv, .parquet, .txt; got"),
        (["labelled.npy", "half.npy", "--out", "no/kept.csv"], 1, "no does not exist"),
        (["labelled.npy", "half.npy", "--html", "half.npy"], 2, "half.npy is one of the inputs"),
        (["labelled.npy", "half.npy", "--save", "half.npy"], 2, "half.npy is one of the inputs"),
        (["labelled.npy", "half.npy", "--html", "-"], 2, "Give --html FILE"),
        (["labelled.npy", "half.npy", "--json", "k.csv", "--out", "k.csv"], 2, "Two results"),
        (["labelled.npy", "half.npy", "--save", "k.csv", "--out", "k.csv"], 2, "Name two files"),
        (["labelled.npy", "half.npy", "--link", "."], 1, "is there already. Name a new or"),
        (["labelled.npy", "half.npy", "--copy", "copies"], 1, "there are no images to link or"),
        (["labelled.npy", "half.npy", "--load", "half.npy"], 2, "or - together with --load"),
        (["-", "half.npy"], 2, "or - together with --load"),
        (["-", "half.npy", "--load", "wide.npy"], 1, "wide.npy is no saved filter"),
        (["-", "half.npy", "--load", "gone.npz"], 1, "gone.npz is no saved filter: No such file"),
        (["labelled.npy", "nowhere"], 1, "Cannot open the pool nowhere: No such file"),
        (["nowhere", "half.npy"], 1, "Cannot open the labelled set nowhere: No such file"),
        (["labelled.npy", "empty"], 1, "empty"),
        (["labelled.npy", "wide.npy"], 1, "features"),
        (["few.npy", "half.npy"], 1, "at least 8 labelled images that can be read; got 5"),
        (["labelled.npy", "noise:gaussian"], 1, "Features cannot be mixed with images"),
        (["labelled.npy"], 2, "Missing argument"),
    ],
)
def test_a_mistake_gets_one_message_and_nothing_is_written(in_features, words, code, message):
    before = sorted(in_features.rglob("*"))
    result = invoke(*words, *([] if "--out" in words else ["--out", "kept.csv"]))
    assert message in result.stderr
    assert result.exit_code == code
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert sorted(in_features.rglob("*")) == before


@pytest.mark.parametrize("which", ["labelled.npy", "half.npy"])
def test_an_input_is_never_the_output(in_features, tmp_path, which):
    """Whatever it is called: a link to the pool is the pool."""
    (tmp_path / "link.csv").symlink_to(in_features / which)
    result = invoke("labelled.npy", "half.npy", "--out", tmp_path / "link.csv")
    assert result.exit_code == 2
    assert "is one of the inputs" in result.stderr


def test_a_saved_filter_works_without_the_labelled_images(in_features, tmp_path):
    filtered("labelled.npy", "half.npy", "--out", tmp_path / "a.csv", "--save", tmp_path / "f.npz")
    result = filtered("-", "half.npy", "--load", tmp_path / "f.npz", "--out", tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert "useful share is that of the pool on which the filter was fitted" in result.stdout
    wide = invoke("-", "wide.npy", "--load", tmp_path / "f.npz", "--out", tmp_path / "c.csv")
    assert wide.exit_code == 1
    assert "16" in wide.stderr


def test_a_saved_filter_of_images_brings_its_backbone_and_classes(in_images, tmp_path):
    filtered(*small("--out", tmp_path / "a.csv", "--save", tmp_path / "f.npz"))
    filtered("-", "crawl", "--load", tmp_path / "f.npz", "--out", tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(30, 1280)))
    words = ("-", tmp_path / "rows.npy", "--load", tmp_path / "f.npz", "--out", tmp_path / "c.csv")
    result = invoke(*words)
    assert result.exit_code == 1
    assert "was fitted on features of efficientnet-lite0, which rows cannot give" in result.stderr


def test_links_and_copies_have_safe_names_and_the_same_bytes(in_images, tmp_path):
    filtered(
        *small("--threshold", "-99", "--out", tmp_path / "k.csv"),
        *("--link", tmp_path / "links", "--copy", tmp_path / "copies"),
    )
    links, copies = sorted((tmp_path / "links").iterdir()), sorted((tmp_path / "copies").iterdir())
    assert [path.name for path in links] == [path.name for path in copies]
    assert len(links) >= 20
    for link, copy in zip(links, copies, strict=True):
        assert link.read_bytes() == copy.read_bytes()
        assert copy.stat().st_nlink == 1
        assert set(link.name) <= set(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
        )
    # The file whose name breaks CSV is the same file, under a safe name.
    assert sum(link.stat().st_nlink > 1 for link in links) == len(links)
    again = invoke(*small("--out", tmp_path / "k2.csv", "--link", tmp_path / "links"))
    assert again.exit_code == 1
    assert "links is there already" in again.stderr


@pytest.mark.parametrize("option", ["--link", "--copy"])
def test_no_folder_is_made_in_an_input(in_images, option):
    """The pool would hold its images twice the next time; a labelled set would get a class."""
    for place in ("crawl/kept", "labelled/kept"):
        result = invoke(*small("--out", "k.csv", option, place))
        assert result.exit_code == 2
        assert f"{place} lies in one of the inputs" in result.stderr
        assert not (in_images / place).exists()


def test_a_folder_of_links_that_was_interrupted_is_finished(in_images, tmp_path):
    words = small("--keep", 5, "--out", tmp_path / "k.csv", "--link", tmp_path / "links")
    filtered(*words)
    names = sorted(path.name for path in (tmp_path / "links").iterdir())
    (tmp_path / "links" / names[0]).unlink()
    filtered(*words, "--resume")
    assert sorted(path.name for path in (tmp_path / "links").iterdir()) == names
    (tmp_path / "links" / "mine.png").touch()
    assert "links is there already" in invoke(*words, "--resume").stderr


def test_a_device_that_is_not_there_is_refused_before_anything_is_read(in_images, tmp_path):
    result = invoke(*small("--out", tmp_path / "k.csv", "--device", "cud"))
    assert result.exit_code == 2
    assert "Unknown device 'cud'. Did you mean 'cuda'?" in result.stderr


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
    filtered(*places, "--resolution", 64, "--keep", 15, "--out", out, "--save", saved)
    kept = [row["path"] for row in rows_of(out) if row["keep"] == "1"]
    assert not any("dark" in path for path in kept)
    again = tmp_path / "again.csv"
    filtered("-", places[1], "--load", saved, "--keep", 15, "--out", again)
    assert again.read_bytes() == out.read_bytes()


def test_balance_keeps_as_many_of_each_class(in_images, tmp_path):
    words = small("--threshold", "-99", "--balance", "--out", tmp_path / "k.csv", "--json", "-")
    classes = json.loads(filtered(*words).stdout)["classes"]
    assert classes["flat"] == classes["upright"] > 0


def test_diverse_keeps_half_and_says_why(in_features, tmp_path):
    words = ("labelled.npy", "half.npy", "--keep", 40, "--out", tmp_path / "k.csv")
    record = json.loads(filtered(*words, "--diverse", 0.5, "--json", "-").stdout)
    assert record["n_kept"] == 20
    assert record["reasons"]["too similar to kept images"] == 20


def test_another_number_of_jobs_or_no_cache_gives_the_same_bytes(in_images, tmp_path):
    outputs = []
    for name, more in (("a", ()), ("b", ("--jobs", 1)), ("c", ("--cache", "none"))):
        filtered(*small("--out", tmp_path / f"{name}.csv", *more))
        outputs.append((tmp_path / f"{name}.csv").read_bytes())
    assert outputs[0] == outputs[1] == outputs[2]


def started(code, *words, cwd):
    """A filter in a process of its own, with parts of eight images."""
    source = f"{SMALL_PARTS}{code}\nfrom mixmood.cli.main import main\nmain()"
    return subprocess.Popen(
        [sys.executable, "-c", source, "filter", *map(str, words)],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


STALLS = """
import time
import mixmood.selection.scan.local as local
write = local.write_part
def slowly(folder, start, part):
    if start >= 16:
        time.sleep(60)
    write(folder, start, part)
local.write_part = slowly
"""
"""Two parts are written, and the third never is."""


def stalled(words, cwd, out):
    """Wait until a stalled scan has written its second part, however slow the machine is."""
    process = started(STALLS, *words, cwd=cwd)
    second = out.with_name(f"{out.name}.parts") / "part-000000000008.npz"
    while not second.exists():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
    return process


def test_a_killed_scan_goes_on_and_ends_with_the_same_bytes(in_images, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "PART_SIZE", 8)
    filtered(*small("--out", tmp_path / "whole.csv"))
    out = tmp_path / "killed.csv"
    process = stalled(small("--out", out), in_images, out)
    process.kill()
    process.communicate()
    assert not out.exists()
    refused = invoke(*small("--out", out))
    assert refused.exit_code == 1
    assert "holds an unfinished scan. Go on with it by --resume" in refused.stderr
    other = invoke(*small("--score", "knn", "--resume", "--out", out))
    assert other.exit_code == 1
    assert "begun with another labelled set or score" in other.stderr
    first = tmp_path / "killed.csv.parts" / "part-000000000000.npz"
    written_at = first.stat().st_mtime_ns
    seen = []
    write = parts.write_part
    monkeypatch.setattr(
        "mixmood.selection.scan.local.write_part",
        lambda folder, start, part: (seen.append(start), write(folder, start, part)),
    )
    assert first.stat().st_mtime_ns == written_at
    filtered(*small("--out", out, "--resume"))
    assert seen == [16, 24]
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert not (tmp_path / "killed.csv.parts").exists()


def test_ctrl_c_ends_with_130_and_says_how_to_go_on(in_images, tmp_path):
    out = tmp_path / "kept.csv"
    process = stalled(small("--out", out), in_images, out)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Interrupted. Go on with the same command and --resume." in errors
    assert "Traceback" not in errors
    assert not out.exists()


def test_a_full_disk_loses_nothing(in_features, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "PART_SIZE", 64)
    filtered("labelled.npy", "half.npy", "--out", tmp_path / "whole.csv")
    out = tmp_path / "kept.csv"
    write = parts.write_part

    def fills_up(folder, start, part):
        if start:
            raise OutputError("Cannot write the part: No space left on device.")
        write(folder, start, part)

    monkeypatch.setattr("mixmood.selection.scan.local.write_part", fills_up)
    result = invoke("labelled.npy", "half.npy", "--out", out)
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr
    assert "What was scanned is kept: go on with the same command and --resume" in result.stderr
    monkeypatch.setattr("mixmood.selection.scan.local.write_part", write)
    filtered("labelled.npy", "half.npy", "--out", out, "--resume")
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_a_damaged_part_is_named(in_features, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "PART_SIZE", 64)
    out = tmp_path / "kept.csv"
    write = parts.write_part

    def fails_late(folder, start, part):
        if start:
            raise KeyboardInterrupt
        write(folder, start, part)

    monkeypatch.setattr("mixmood.selection.scan.local.write_part", fails_late)
    assert invoke("labelled.npy", "half.npy", "--out", out).exit_code == 130
    monkeypatch.setattr("mixmood.selection.scan.local.write_part", write)
    (tmp_path / "kept.csv.parts" / "part-000000000000.npz").write_bytes(b"PK nothing")
    result = invoke("labelled.npy", "half.npy", "--out", out, "--resume")
    assert result.exit_code == 1
    assert "part-000000000000.npz is damaged: " in result.stderr
    assert "Delete it and go on with --resume" in result.stderr


def test_more_images_than_can_be_compared_with_each_other_are_refused(in_features, monkeypatch):
    monkeypatch.setattr("mixmood.selection.filter.MOST_DIVERSE", 3)
    result = invoke("labelled.npy", "half.npy", "--diverse", "0.5", "--out", "kept.csv")
    assert result.exit_code == 2
    assert "diverse compares all kept images with each other, at most 3; " in result.stderr
