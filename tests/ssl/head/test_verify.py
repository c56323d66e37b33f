"""A model file that gives other results than the head in memory is refused."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mixmood.core.errors import OutputError
from mixmood.heads.linear import LinearHead
from mixmood.ssl.head_model import FEATURES, check_model, fit_typicality, model_file


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
