"""Saved filters: whole ones come back, and a file that is none is refused."""

import numpy as np
import pytest

from mixmood.core.arrays import packed_arrays, read_arrays
from mixmood.core.errors import InputError
from mixmood.heads.problem import LinearHead
from mixmood.selection.scorer import Scorer, fit_filter, load_scorer, save_scorer


@pytest.fixture
def saved(world, rng, tmp_path):
    """The file of a filter with a classifier of two classes."""
    fitted = fit_filter(world.useful(30)[0], world.useful(30)[0], rng)
    head = LinearHead(rng.normal(size=(world.width, 2)), np.zeros(2))
    scorer = Scorer(fitted, head, ("cat", "dog"), ("own",) * 30, "", "", 0)
    save_scorer(tmp_path / "filter.npz", scorer)
    return tmp_path / "filter.npz"


def test_a_saved_filter_comes_back_with_its_classes(saved):
    found = load_scorer(saved)
    assert found.class_names == ("cat", "dog")
    assert found.head.weights.shape == (24, 2)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("head_weights", np.zeros((23, 2))),
        ("head_bias", np.zeros(3)),
    ],
)
def test_a_classifier_of_other_features_is_refused(saved, name, values):
    saved.write_bytes(packed_arrays(read_arrays(saved) | {name: values}))
    message = "filter.npz is not a saved filter: its classifier does not fit its features. Give a"
    with pytest.raises(InputError, match=message):
        load_scorer(saved)


@pytest.mark.parametrize(
    "name",
    ["labelled_rows", "score_centre", "score_references", "score_labelled", "score_labelled_folds"],
)
def test_arrays_of_other_shapes_are_refused_before_the_scan(saved, name):
    known = read_arrays(saved)
    saved.write_bytes(packed_arrays(known | {name: known[name][:0]}))
    with pytest.raises(InputError, match="is not a saved filter: .* Give a file"):
        load_scorer(saved)


def test_other_arrays_are_no_saved_filter(tmp_path):
    np.savez(tmp_path / "images.npz", images=np.zeros((3, 8, 8), np.uint8))
    message = "images.npz is not a saved filter: format .* Give a file written by --save"
    with pytest.raises(InputError, match=message):
        load_scorer(tmp_path / "images.npz")


def test_a_filter_of_another_format_is_refused(saved):
    facts = str(read_arrays(saved)["facts"]).replace('"format": 1', '"format": 9')
    saved.write_bytes(packed_arrays(read_arrays(saved) | {"facts": np.array(facts)}))
    with pytest.raises(InputError, match="format 1 was wanted; it has 9"):
        load_scorer(saved)
