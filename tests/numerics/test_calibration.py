import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from mixmood.numerics.logistic import (
    COLDEST,
    HOTTEST,
    fit_temperature,
    log_likelihood,
)


def test_the_temperature_of_sampled_labels_is_found_again():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(20_000, 4)) * 2
    codes = np.array([rng.choice(4, p=row) for row in softmax(logits, axis=-1)])
    assert fit_temperature(logits * 3, codes) == pytest.approx(3, rel=0.05)
    assert fit_temperature(np.stack([logits, logits]) / 2, codes) == pytest.approx(0.5, rel=0.05)


def test_a_case_worked_by_hand():
    """Three of four right with logits (1, 0): sigmoid(1/t) = 3/4, so that t = 1 / log 3."""
    logits, codes = np.array([[1.0, 0.0]] * 4), np.array([0, 0, 0, 1])
    assert fit_temperature(logits, codes) == pytest.approx(1 / np.log(3), rel=1e-6)


def test_the_limits_are_where_the_search_ends():
    logits = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert fit_temperature(logits, np.array([0, 1])) == pytest.approx(COLDEST)
    assert fit_temperature(logits, np.array([1, 0])) == pytest.approx(HOTTEST)


def test_likelihoods_are_read_from_each_rows_class():
    logits = np.random.default_rng(0).normal(size=(2, 5, 3))
    codes = np.array([0, 1, 2, 0, 1])
    expected = log_softmax(logits, axis=-1)[:, np.arange(5), codes]
    assert log_likelihood(logits, codes) == pytest.approx(expected)
