"""The threshold of `none of these` keeps 95 % of images like the labelled ones."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mixmood.core.errors import OutputError
from mixmood.heads.problem import LinearHead
from mixmood.ssl.head_model import FEATURES, check_model, fit_typicality, model_file


def test_of_further_images_of_the_same_kind_five_percent_are_refused():
    rng = np.random.default_rng(0)
    refused = []
    for _ in range(60):
        labelled, further = rng.normal(size=(59, 8)) + 2, rng.normal(size=(50, 8)) + 2
        fitted = fit_typicality(labelled, rng)
        refused.append((fitted(further) < fitted.threshold).mean())
    assert 0.03 < np.mean(refused) < 0.06


def test_strange_images_are_refused():
    rng = np.random.default_rng(0)
    fitted = fit_typicality(rng.normal(size=(60, 8)) + 4, rng)
    assert (fitted(rng.normal(size=(50, 8)) - 4) < fitted.threshold).all()


def test_too_few_images_refuse_nothing():
    rng = np.random.default_rng(0)
    assert fit_typicality(rng.normal(size=(18, 4)), rng).threshold is None
    assert fit_typicality(rng.normal(size=(1, 4)), rng).threshold is None


def test_images_of_one_group_do_not_vouch_for_each_other():
    """Copies within a group would raise the threshold to 1."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(20, 8)) + 1, 2, axis=0)
    groups = np.repeat(np.arange(20), 2)
    assert fit_typicality(rows, rng).threshold > 0.6
    assert fit_typicality(rows, rng, groups).threshold < fit_typicality(rows, rng).threshold


def test_a_value_is_the_mean_of_the_three_largest_cosines():
    """Roots of unit rows: the nearest cosines are 1, 0.5 and 0.5."""
    rows = np.array([[1.0, 0, 0, 0], [1, 1, 1, 1], [1, -1, 1, 1], [0, 1, 0, 0]])
    fitted = fit_typicality(rows, np.random.default_rng(0))
    assert fitted(np.array([[2.0, 0, 0, 0]]))[0] == pytest.approx((1 + 0.5 + 0.5) / 3, rel=1e-6)


@pytest.fixture
def parts(rng):
    """Twenty rows of features, a head, its typicality and its file."""
    rows = rng.normal(size=(20, 4)).astype(np.float32)
    head = LinearHead(rng.normal(size=(4, 3)), np.zeros(3))
    typicality = fit_typicality(rows, rng)
    model, takes = model_file(head, typicality, None, {})
    assert takes == FEATURES
    return SimpleNamespace(features=rows), head, typicality, model


def test_a_file_that_answers_alike_passes(parts):
    labelled, head, typicality, model = parts
    check_model(model, FEATURES, labelled, None, head, typicality)


def test_another_answer_is_refused(parts):
    labelled, head, typicality, model = parts
    other = replace(head, bias=np.array([1.0, 0.0, 0.0]))
    with pytest.raises(OutputError, match="results than .* memory: probabilities differ by 0"):
        check_model(model, FEATURES, labelled, None, other, typicality)


def test_a_file_that_cannot_be_run_is_refused(parts):
    labelled, head, typicality, _ = parts
    with pytest.raises(OutputError, match="The model cannot be run by ONNX Runtime"):
        check_model(b"no model", FEATURES, labelled, None, head, typicality)
