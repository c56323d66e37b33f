import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from mixmood.numerics.logistic import fit_logistic, one_hot


def clouds(n=60, d=8, k=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % k
    return rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(k, d))[codes] + 3, codes


@pytest.mark.parametrize(("n", "d", "k"), [(40, 90, 3), (60, 8, 4)], ids=["wide", "tall"])
def test_the_solutions_are_those_of_scikit_learn(n, d, k):
    features, codes = clouds(n, d, k)
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 3, (6, n)).astype(float)
    penalties = np.logspace(-2, 2, 6)
    fit = fit_logistic(features, one_hot(codes, k), weights, penalties, tolerance=1e-9)
    for b, (weight, penalty) in enumerate(zip(weights, penalties, strict=True)):
        peer = LogisticRegression(C=1 / penalty, tol=1e-9, max_iter=20_000)
        peer.fit(features, codes, sample_weight=weight)
        assert fit.weights[b] == pytest.approx(peer.coef_.T, abs=2e-4)
        ours = softmax(fit.logits(features)[b], axis=-1)
        assert ours == pytest.approx(peer.predict_proba(features), abs=1e-4)


def test_two_classes_are_those_of_scikit_learns_binary_form():
    """w = W_1 - W_0 with W_1 = -W_0 at the minimum: |W|^2 is half of |w|^2."""
    features, codes = clouds(50, 6, 2)
    penalty = np.array([2 * 0.5])
    fit = fit_logistic(features, one_hot(codes, 2), np.ones((1, 50)), penalty, tolerance=1e-10)
    peer = LogisticRegression(C=2.0, tol=1e-10, max_iter=20_000).fit(features, codes)
    weights, bias = fit.weights[0], fit.bias[0]
    assert weights[:, 1] - weights[:, 0] == pytest.approx(peer.coef_[0], abs=1e-4)
    assert bias[1] - bias[0] == pytest.approx(peer.intercept_[0], abs=1e-3)


def test_a_case_worked_by_hand():
    """One feature, one row each at -1 and 1: w = W_1 - W_0 solves w / 2 = 2 sigmoid(-w).

    With penalty 1, by symmetry b = 0 and W = (-w/2, w/2); W_1 has slope w / 2 - 2 sigmoid(-w).
    """
    features, targets = np.array([[-1.0], [1.0]]), np.eye(2)
    fit = fit_logistic(features, targets, np.ones((1, 2)), np.ones(1), tolerance=1e-12)
    w = fit.weights[0, 0, 1] - fit.weights[0, 0, 0]
    assert w / 2 == pytest.approx(2 / (1 + np.exp(w)), abs=1e-9)
    assert fit.bias[0] == pytest.approx([0, 0], abs=1e-9)


def test_many_problems_at_once_are_the_same_as_one_by_one():
    features, _ = clouds(30, 50, 3)
    rng = np.random.default_rng(2)
    weights = (rng.random((9, 30)) < 0.8).astype(float)
    soft = rng.dirichlet(np.ones(3), (9, 30))
    penalties = np.logspace(-1, 1, 9)
    together = fit_logistic(features, soft, weights, penalties, tolerance=1e-9)
    for b in range(9):
        alone = fit_logistic(
            features, soft[b], weights[b : b + 1], penalties[b : b + 1], tolerance=1e-9
        )
        assert together.weights[b] == pytest.approx(alone.weights[0], abs=1e-6)


def test_a_row_of_weight_zero_and_a_row_left_out_are_the_same():
    features, codes = clouds()
    weights = np.ones((1, 60))
    weights[0, 40:] = 0
    masked = fit_logistic(features, one_hot(codes, 3), weights, np.ones(1), tolerance=1e-10)
    short = fit_logistic(
        features[:40], one_hot(codes[:40], 3), np.ones((1, 40)), np.ones(1), tolerance=1e-10
    )
    assert masked.weights == pytest.approx(short.weights, abs=1e-7)
    assert masked.bias == pytest.approx(short.bias, abs=1e-6)


def test_a_strong_penalty_leaves_the_shares_of_the_classes():
    features, codes = clouds()
    weights = np.where(codes == 0, 2.0, 1.0)[None]
    fit = fit_logistic(features, one_hot(codes, 3), weights, np.array([1e9]))
    assert softmax(fit.logits(features)[0], axis=-1) == pytest.approx(
        np.tile([0.5, 0.25, 0.25], (60, 1)), abs=1e-4
    )


def test_separable_classes_and_a_weak_penalty_still_converge():
    features = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    fit = fit_logistic(
        features, one_hot(np.array([0, 0, 1, 1]), 2), np.ones((1, 4)), np.array([1e-6])
    )
    assert np.isfinite(fit.weights).all()
    assert softmax(fit.logits(features)[0], axis=-1)[[0, 3]].max(axis=1) == pytest.approx(
        [1, 1], abs=1e-4
    )


def test_starting_elsewhere_ends_at_the_same_minimum():
    features, codes = clouds(30, 50, 3)
    arguments = (features, one_hot(codes, 3), np.ones((2, 30)), np.array([0.1, 1.0]))
    first = fit_logistic(*arguments, tolerance=1e-9)
    again = fit_logistic(*arguments, tolerance=1e-9, start=first)
    assert again.weights == pytest.approx(first.weights, abs=1e-6)
    assert fit_logistic(*arguments).weights.tobytes() == fit_logistic(*arguments).weights.tobytes()
