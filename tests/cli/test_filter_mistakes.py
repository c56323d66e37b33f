"""What mixmood filter refuses, before anything is written."""

import pytest
from tests.fixtures.filter_command import filtered, invoke, small


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["labelled.npy", "half.npy", "--keep", "0"], 2, "--keep takes auto, a share between"),
        (["labelled.npy", "half.npy", "--keep", "2.5"], 2, "whole number of at least 1; got 2.5"),
        (
            ["labelled.npy", "half.npy", "--keep", "3", "--threshold", "1"],
            2,
            "keep, threshold and typical",
        ),
        (["labelled.npy", "half.npy", "--threshold", "nan"], 2, "finite number; got nan"),
        (["labelled.npy", "half.npy", "--typical", "0"], 2, "above 0 and at most 1; got 0"),
        (
            ["labelled.npy", "half.npy", "--typical", "1", "--keep", "9"],
            2,
            "got keep 9 and typical 1",
        ),
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
        (["labelled.npy", "half.npy?label=x", "--html", "half.npy"], 2, "half.npy is one of the"),
        (["labelled.npy", "half.npy", "--html", "-"], 2, "Give --html FILE"),
        (["labelled.npy", "half.npy", "--json", "k.csv", "--out", "k.csv"], 2, "Two results"),
        (["labelled.npy", "half.npy", "--json", "f.npz", "--save", "f.npz"], 2, "Two results"),
        (["labelled.npy", "half.npy", "--html", "f.npz", "--save", "f.npz"], 2, "Two results"),
        (["-", "half.npy", "--load", "f.npz", "--json", "f.npz"], 2, "f.npz is one of the inputs"),
        (["labelled.npy", "half.npy", "--save", "k.csv", "--out", "k.csv"], 2, "Two results"),
        (["labelled.npy", "half.npy", "--link", "."], 1, "not an empty folder. Name a new or"),
        (["labelled.npy", "half.npy", "--copy", "copies"], 1, "there are no images to link or"),
        (["labelled.npy", "half.npy", "--load", "half.npy"], 2, "labelled.npy and --load half"),
        (["-", "half.npy"], 2, "or - together with --load FILE.npz; got LABELLED - and no --load"),
        (["-", "half.npy", "--load", "wide.npy"], 1, "wide.npy is not a saved filter"),
        (["-", "half.npy", "--load", "gone.npz"], 1, "gone.npz is not a saved filter: No such"),
        (["labelled.npy", "nowhere"], 1, "Cannot open the pool nowhere: No such file"),
        (["nowhere", "half.npy"], 1, "Cannot open the labelled set nowhere: No such file"),
        (["labelled.npy", "empty"], 1, "empty"),
        (["labelled.npy", "wide.npy"], 1, "wide cannot be filtered: all sets must have the same"),
        (["few.npy", "half.npy"], 1, "8 labelled images that can be read are needed; got 5"),
        (
            ["labelled.npy", "noise:gaussian"],
            1,
            "features cannot be mixed with images",
        ),
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


@pytest.mark.parametrize("option", ["--link", "--copy"])
def test_no_folder_is_made_in_an_input(in_images, option):
    """The pool would hold its images twice the next time; a labelled set would get a class."""
    for place in ("crawl/kept", "labelled/kept"):
        result = invoke(*small("--out", "k.csv", option, place))
        assert result.exit_code == 2
        assert f"{place} lies inside one of the inputs" in result.stderr
        assert not (in_images / place).exists()


def test_a_device_that_is_not_there_is_refused_before_anything_is_read(in_images, tmp_path):
    result = invoke(*small("--out", tmp_path / "k.csv", "--device", "cud"))
    assert result.exit_code == 2
    assert "Unknown device 'cud'. Did you mean 'cuda'?" in result.stderr


def test_more_images_than_can_be_compared_with_each_other_are_refused(in_features, monkeypatch):
    monkeypatch.setattr("mixmood.selection.filter.MOST_DIVERSE", 3)
    result = invoke("labelled.npy", "half.npy", "--diverse", "0.5", "--out", "kept.csv")
    assert result.exit_code == 2
    assert "diverse compares all kept images with each other, at most 3; " in result.stderr


def test_the_labels_of_a_folder_are_not_replaced(in_images, tmp_path):
    (tmp_path / "labels.csv").write_text("path,label\n1,x\n2,y\n")
    result = invoke(tmp_path, "crawl", "--out", tmp_path / "labels.csv")
    assert result.exit_code == 2
    assert "labels.csv is one of the inputs. Name another file to write." in result.stderr
    assert (tmp_path / "labels.csv").read_text() == "path,label\n1,x\n2,y\n"


def test_a_list_from_which_the_pool_is_read_is_not_replaced(in_features, tmp_path):
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    filtered("labelled.npy", "half.npy", "--out", first)
    filtered("labelled.npy", first, "--keep", 20, "--out", second)
    before = first.read_bytes()
    third = tmp_path / "c.csv"
    for outputs in (("--out", first), ("--out", third, "--json", first)):
        result = invoke("labelled.npy", second, *outputs)
        assert result.exit_code == 2
        assert f"{first} is one of the inputs" in result.stderr
        assert first.read_bytes() == before
