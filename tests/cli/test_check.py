"""`mixmood check`: what it prints and writes."""

import csv
import json
import shutil

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import mixmood
from mixmood.api.check import CheckReport
from mixmood.cli.main import app
from mixmood.numerics.neighbours import COPY_COSINE


def invoke(*words):
    return CliRunner().invoke(app, ["check", *map(str, words), "--cache", "none"])


@pytest.fixture(scope="module")
def flipped(tmp_path_factory):
    """Features of 60 images of three classes, of which two labels are wrong; a copy; a test set."""
    root, rng = tmp_path_factory.mktemp("check"), np.random.default_rng(0)
    codes = np.arange(60) % 3
    features = np.abs(rng.normal(size=(60, 12))) + 5 * np.eye(12)[codes]
    features[30] = features[31]
    names = np.array(["=cat", "dog", "<b>bird"])[codes]
    names[[4, 9]] = "<b>bird", "dog"
    np.savez(root / "labelled.npz", features=features, labels=names)
    np.save(root / "test.npy", np.concatenate([features[[12]], rng.normal(size=(5, 12))]))
    return root


def test_the_worst_labels_come_first_in_text_csv_json_and_page(flipped, tmp_path):
    outputs = [word for kind in ("csv", "json", "html") for word in (f"--{kind}", tmp_path / kind)]
    result = invoke(
        flipped / "labelled.npz", "--against", flipped / "test.npy", *outputs, "--quiet"
    )
    assert result.exit_code == 0, result.stderr
    assert "should be looked at" in result.stdout
    with (tmp_path / "csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["path", "label", "suggested", "score", "flag", "check", "why"]
    scores = [float(row["score"]) for row in rows if row["flag"] == "1"]
    assert scores == sorted(scores, reverse=True)
    by_check = {}
    for row in rows:
        if row["flag"] == "1":
            by_check.setdefault(row["check"], set()).add(row["path"])
    assert {"labelled[4]", "labelled[9]"} <= by_check["label"]
    assert by_check["copy"] == {"labelled[30]", "labelled[31]"}
    assert by_check["test"] == {"labelled[12]"}
    copies = {row["path"]: row["suggested"] for row in rows if row["check"] == "copy"}
    assert copies == {"labelled[30]": "dog", "labelled[31]": ""}  # 30 looks like a dog
    assert len({row["path"] for row in rows}) == 60
    suggested = {row["path"]: row["suggested"] for row in rows if row["check"] == "label"}
    assert suggested["labelled[4]"] == "dog"
    assert suggested["labelled[9]"] == "'=cat"  # as a spreadsheet would not run it
    record = json.loads((tmp_path / "json").read_text())
    names = {"label", "copy", "unlike", "confused", "small", "test"}
    assert set(record["images"][0]["scores"]) == names
    assert [one["name"] for one in record["checks"]] == list(record["images"][0]["scores"])
    page = (tmp_path / "html").read_text()
    assert "<b>bird" not in page
    assert "labelled[4]" in page
    loaded = mixmood.load(tmp_path / "json")
    assert isinstance(loaded, CheckReport)
    assert loaded.to_csv() == (tmp_path / "csv").read_text()
    assert len(loaded.to_dataframe()) == len(rows)


def test_pictures_of_flagged_images_are_on_the_page_and_the_view_is_said(images, tmp_path):
    """A copy of an image in another class is the surest finding."""
    shutil.copytree(images / "labelled", tmp_path / "set")
    shutil.copy(tmp_path / "set/flat/2.png", tmp_path / "set/upright/again.png")
    result = invoke(tmp_path / "set", "--resolution", 96, "--html", tmp_path / "page.html")
    assert result.exit_code == 0, result.stderr
    assert "96 px" in result.stdout
    worst = [line.split()[-1] for line in result.stdout.splitlines() if " copy " in line]
    assert sorted(worst[-2:]) == ["flat/2.png", "upright/again.png"]
    page = (tmp_path / "page.html").read_text()
    assert page.count("data:image/webp") >= 2
    assert "A copy of flat/2.png, which is labelled flat." in page


def test_one_image_a_class_is_said_and_copies_are_still_found():
    features = np.eye(5, 8) + 0.1
    features[4] = features[3]
    found = mixmood.check((features, np.array(list("abcde"))), cache=None)
    assert "not judged" in found.warnings[0]
    assert {one.check for one in found.findings} == {"copy"}
    assert found.accuracy is None
    assert "a (1 image)" in next(one.sentence for one in found.checks if one.name == "small")


@pytest.mark.parametrize(
    ("labels", "message"),
    [(None, "has no classes"), (np.zeros(6, int), "two classes")],
    ids=["no classes", "one class"],
)
def test_a_set_without_two_classes_is_refused(labels, message):
    features = np.eye(6)
    given = features if labels is None else (features, labels)
    with pytest.raises(mixmood.core.errors.InputError, match=message):
        mixmood.check(given, cache=None)


def test_an_output_that_is_the_input_is_refused(flipped):
    result = invoke(flipped / "labelled.npz", "--csv", flipped / "labelled.npz")
    assert result.exit_code == 2
    assert "is one of the inputs" in result.stderr


def test_flagged_labels_can_be_corrected_on_a_page(images, tmp_path):
    shutil.copytree(images / "labelled", tmp_path / "set")
    shutil.copy(tmp_path / "set/flat/2.png", tmp_path / "set/upright/again.png")
    result = invoke(tmp_path / "set", "--resolution", 96, "--review", tmp_path / "page.html")
    assert result.exit_code == 0, result.stderr
    page = (tmp_path / "page.html").read_text()
    assert "upright/again.png" in page
    assert page.count("data:image/jpeg") >= 2
    (tmp_path / "labels.csv").write_text(
        "pool,path,index,label\nset,upright/again.png,,flat\nset,gone.png,3,flat\n"
    )
    result = invoke(tmp_path / "set", "--resolution", 96, "--labels", tmp_path / "labels.csv")
    assert "No copies in two classes." in result.stdout
    assert "gone.png (no such image)" in result.stdout


def test_copies_of_another_size_and_encoding_are_found_by_their_pictures(tmp_path):
    """At 224 pixels the features of a photograph stored again differ too much."""
    rng = np.random.default_rng(0)
    for row in range(12):
        blocks = Image.fromarray(rng.integers(0, 256, (6, 6, 3), np.uint8))
        (tmp_path / "set" / "ab"[row % 2]).mkdir(parents=True, exist_ok=True)
        picture = blocks.resize((160, 160), Image.Resampling.BICUBIC)
        picture.save(tmp_path / "set" / "ab"[row % 2] / f"{row}.png")
    picture.resize((120, 120)).save(tmp_path / "set/a/again.jpg", quality=60)
    found = mixmood.check(tmp_path / "set", resolution=224, depth="last", cache=None)
    near = {one.path: one for one in found.findings if one.check == "copy"}
    assert near["a/again.jpg"].why == "A near copy of b/11.png, which is labelled b."
    assert near["a/again.jpg"].score < COPY_COSINE
    assert set(near) <= {"a/again.jpg", "b/11.png"}


def test_groups_that_a_set_does_not_have_are_an_error(images, tmp_path):
    result = invoke(images / "labelled", "--groups", "patient")
    assert result.exit_code == 1
    assert "groups 'patient' is not a column of labelled" in result.stderr


def test_labels_of_two_images_a_class_are_not_judged():
    features = np.abs(np.random.default_rng(0).normal(size=(6, 8)))
    found = mixmood.check((features, np.array(list("aabbcc"))), cache=None)
    sentences = {one.name: one.sentence for one in found.checks}
    assert sentences["label"] == "Not judged: every class has fewer than 4 images."
    assert found.findings == ()
    assert found.without_flagged is None
