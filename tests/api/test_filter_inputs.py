"""Inputs of a filter that do not fit, and outputs that would change one of them."""

from pathlib import Path

import numpy as np
import pytest

import mixmood
from mixmood.api.filter import check_paths
from mixmood.core.errors import InputError, OptionError
from mixmood.features.backbones.onnx_network import OnnxBackbone
from mixmood.features.backbones.registry import BACKBONES
from mixmood.selection.plan import FilterPlan


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text("path,kind\nscans/a.png,cat\n")
    Path("scans").mkdir()
    return Path("table.csv")


@pytest.mark.parametrize("options", ["?label=kind", "?label=kind&frames=each", "?frames=each"])
def test_an_input_with_options_behind_its_path_is_never_the_output(table, options):
    with pytest.raises(OptionError, match=r"table.csv is one of the inputs\. Name another file"):
        check_paths("scans", f"table.csv{options}", table, FilterPlan())
    with pytest.raises(OptionError, match=r"table.csv is one of the inputs\. Name another file"):
        check_paths(f"table.csv{options}", "scans", table, FilterPlan())


def test_no_folder_is_made_in_an_input_with_options_behind_its_path(table):
    plan = FilterPlan(copy="scans/kept")
    with pytest.raises(OptionError, match="scans/kept lies inside one of the inputs and would"):
        check_paths(table, "scans?frames=each", None, plan)


def test_the_home_of_an_unknown_user_is_no_error_of_its_own(table):
    """Opening it says that it is not there."""
    check_paths("scans", "~nobody-of-this-name/pool", Path("kept.csv"), FilterPlan())


def test_a_damaged_list_is_reported_when_it_is_opened(table):
    table.write_text("path,pool,index,keep\na.png,scans,0,x\n")
    check_paths("scans", table, Path("kept.csv"), FilterPlan())


@pytest.mark.parametrize(("labelled", "load"), [(None, None), ("scans", "saved.npz")])
def test_labelled_images_or_a_saved_filter_are_needed_and_not_both(labelled, load):
    with pytest.raises(OptionError, match="labelled images, or a saved filter with load; not both"):
        mixmood.filter(labelled, "crawl", load=load)


def test_resume_needs_the_list_whose_scan_it_continues(table):
    with pytest.raises(OptionError, match="resume continues the scan of a list, .*: give out"):
        check_paths("scans", table, None, FilterPlan(resume=True))


def test_a_filter_of_features_does_not_take_images(tmp_path, rng):
    saved, images = tmp_path / "saved.npz", np.zeros((5, 8, 8, 3), np.uint8)
    mixmood.filter(
        rng.normal(size=(8, 4)), rng.normal(size=(9, 4)), save=saved, probe=False, threshold=1e9
    )
    message = r"saved.npz was fitted on features, and .* holds images\. Give features of the same"
    with pytest.raises(InputError, match=message):
        mixmood.filter(None, images, load=saved)


def test_a_saved_filter_refuses_a_score_that_it_was_not_fitted_with(tmp_path, rng):
    saved, rows = tmp_path / "saved.npz", rng.normal(size=(9, 4))
    mixmood.filter(rng.normal(size=(8, 4)), rows, save=saved, probe=False, threshold=1e9)
    with pytest.raises(OptionError, match=r"fitted with the score combined; got knn\. Leave"):
        mixmood.filter(None, rows, load=saved, score="knn", threshold=1e9)


@pytest.fixture
def other_network(monkeypatch, small_backbone):
    """The name of another backbone, whose width is known before it sees an image."""
    network, known = Path(small_backbone).read_bytes(), {"output": "features", "width": 48}
    monkeypatch.setitem(
        BACKBONES, "other", lambda side: OnnxBackbone("other", network, side, **known)
    )
    return "other"


@pytest.mark.parametrize("other", ["resolution", "backbone"])
def test_a_saved_filter_refuses_features_that_it_was_not_fitted_with(
    tmp_path, rng, other, other_network
):
    saved, images = tmp_path / "saved.npz", rng.integers(0, 255, (9, 8, 8), dtype=np.uint8)
    mixmood.filter(images[:8], images, save=saved, probe=False, resolution=64, cache="none")
    again = mixmood.filter(None, images, load=saved, resolution=64, cache="none")
    assert len(again.scores) == 9
    message = r"of efficientnet-lite0, .* Leave out backbone, resolution and depth \(64 px"
    own = {other: {"resolution": 96, "backbone": other_network}[other]}
    with pytest.raises(InputError, match=message):
        mixmood.filter(None, images, load=saved, cache="none", **own)


def test_the_list_and_the_saved_filter_are_two_files(table):
    with pytest.raises(OptionError, match="Two results would be written to k.csv"):
        check_paths("scans", "crawl", Path("k.csv"), FilterPlan(save="k.csv"))
