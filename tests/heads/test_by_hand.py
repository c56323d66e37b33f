"""One case of each head that can be worked out on paper."""

import numpy as np
import pytest

from mixmood.core.errors import OptionError, ShapeError
from mixmood.heads.mixmatch import MixMatchHead, logit_gradient, sharpened
from mixmood.heads.problem import SupervisedHead, canonical_order, directions, head_problem
from mixmood.heads.propagation import PropagationHead, geometric_mean, neighbour_graph
from mixmood.heads.pseudo_label import PseudoLabelHead, most_confident


def rng():
    return np.random.default_rng(0)


def test_directions_are_roots_of_length_one_and_a_zero_row_stays():
    rows = directions(np.array([[9.0, 16.0], [0.0, 0.0], [-1.0, 0.0]]))
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0, 0], [-1, 0]]))
    assert directions(np.ones((2, 3), np.float32)).dtype == np.float32


def test_the_canonical_order_depends_on_content_alone():
    rows = rng().normal(size=(20, 3))
    shuffle = np.random.default_rng(1).permutation(20)
    assert (rows[canonical_order(rows)] == rows[shuffle][canonical_order(rows[shuffle])]).all()


def test_supervised_of_two_opposite_rows():
    """Rows -1 and 1 have spread 1: at penalty 1, w / 2 = 2 sigmoid(-w) as for the plain problem."""
    problem = head_problem(np.array([[-4.0], [4.0]]), np.array([0, 1]), 2)
    head = problem.labelled.heads_at(np.ones(1))[0]
    w = float(head.weights[0, 1] - head.weights[0, 0])
    assert w / 2 == pytest.approx(2 / (1 + np.exp(w)), abs=1e-3)


def test_supervised_chooses_the_penalty_that_predicts_best():
    """Labels that have nothing to do with the features ask for the strongest penalty."""
    random = rng()
    features, codes = random.normal(size=(60, 30)), random.integers(0, 2, 60)
    noise = head_problem(features, codes, 2)
    assert noise.labelled.penalties.tolist() == [1.0]
    clear = head_problem(features + 30 * codes[:, None] * np.eye(30)[0], codes, 2)
    assert clear.labelled.penalties.tolist() == [0.01]


def test_sharpening_by_hand():
    assert sharpened(np.array([0.8, 0.2]), 0.5) == pytest.approx([16 / 17, 1 / 17])
    assert sharpened(np.array([0.8, 0.2]), 1.0) == pytest.approx([0.8, 0.2])


def test_the_gradient_of_mixmatch_by_hand():
    """One labelled row and one of the pool, two classes, no mixing.

    Cross-entropy: p - t. Squared error, mean over one row and two classes, times gamma: with
    p = (0.8, 0.2), t = (0.6, 0.4) the slope in z is gamma * p * (e - p.e), e = (0.2, -0.2).
    """
    p = np.array([[0.7, 0.3], [0.8, 0.2]], np.float32).T[:, :, None]
    error = p - np.array([[1.0, 0.0], [0.6, 0.4]], np.float32).T[:, :, None]
    slopes = logit_gradient(error, p, np.ones((1, 1), np.float32), 10.0)[:, :, 0].T
    assert slopes[0] == pytest.approx([-0.3, 0.3], abs=1e-6)
    assert slopes[1] == pytest.approx([10 * 0.8 * 0.08, -10 * 0.2 * 0.32], abs=1e-6)


def test_mixmatch_without_rate_stays_at_the_supervised_head():
    random = rng()
    features, codes = random.normal(size=(20, 5)), np.arange(20) % 2
    problem = head_problem(features, codes, 2, random.normal(size=(30, 5)))
    still = MixMatchHead(rate=0.0).fit(problem, rng())[0]
    supervised = SupervisedHead().fit(problem, rng())[0]
    assert still.weights == pytest.approx(supervised.weights, abs=1e-5)


def test_the_most_confident_of_each_class_are_taken():
    """Rows 0, 1 and 3 are of class 0, row 2 of class 1: two of class 0 are taken and one of 1."""
    p = np.array([[[0.9, 0.1], [0.6, 0.4], [0.45, 0.55], [0.7, 0.3]]])
    targets, is_taken = most_confident(p, 2)
    assert is_taken.tolist() == [[True, False, True, True]]
    assert targets[0].argmax(axis=1).tolist() == [0, 0, 1, 0]


def test_guesses_below_the_least_confidence_are_not_taken():
    """Nothing is certain, so that no row passes 1; with 0 all of them may be taken."""
    random = rng()
    features, codes = random.normal(size=(20, 5)), np.arange(20) % 2
    problem = head_problem(features, codes, 2, random.normal(size=(30, 5)))
    own = problem.labelled.supervised[0].predict_proba(features)
    none, all_ = (
        PseudoLabelHead(least_confidence=least).fit(problem, rng())[0].predict_proba(features)
        for least in (1.0, 0.0)
    )
    # The same fit in another basis, with a larger tolerance.
    assert none == pytest.approx(own, abs=0.02)
    assert np.abs(all_ - own).max() > 0.05


def test_a_pool_that_weighs_nothing_gives_the_supervised_head():
    random = rng()
    features, codes = random.normal(size=(20, 5)), np.arange(20) % 2
    problem = head_problem(features, codes, 2, random.normal(size=(30, 5)))
    expected = SupervisedHead().fit(problem, rng())[0]
    for head in (PseudoLabelHead(pool_weight=0), PropagationHead(pool_weight=0)):
        assert head.fit(problem, rng())[0].weights.tobytes() == expected.weights.tobytes()


def test_a_chain_of_three_rows_has_the_graph_worked_by_hand():
    """Angles 0, 40 and 70 degrees, one neighbour each: 0-1 and 1-2 are joined, degrees follow."""
    angles = np.deg2rad([0, 40, 70])
    graph = neighbour_graph(np.stack([np.cos(angles), np.sin(angles)], axis=1), 1).toarray()
    near, far = np.cos(np.deg2rad(30)), np.cos(np.deg2rad(40))
    expected = np.zeros((3, 3))
    expected[0, 1] = expected[1, 0] = far / np.sqrt(far * (far + near))
    expected[1, 2] = expected[2, 1] = near / np.sqrt(near * (far + near))
    assert graph == pytest.approx(expected)


def test_labels_spread_to_the_nearest_rows():
    """Two separate pairs: each pool row takes the label of its own pair, however far it reaches."""
    features = np.array([[1.0, 0.0], [0.0, 1.0]])
    problem = head_problem(features, np.array([0, 1]), 2, np.array([[0.9, 0.1], [0.1, 0.9]]))
    spread = PropagationHead(n_neighbours=1).spread_labels(problem)
    classes = spread[0].argmax(axis=1)
    assert (problem.pool.argmax(axis=1) == classes).all()
    assert spread[0].max(axis=1) == pytest.approx([1, 1], abs=1e-4)


def test_the_geometric_mean_by_hand():
    """sqrt(0.9 * 0.5) to sqrt(0.1 * 0.5) is 3 to 1; the ends of the share are either one alone."""
    own, graph = np.array([0.9, 0.1]), np.array([0.5, 0.5])
    assert geometric_mean(own, graph, 0.5) == pytest.approx([0.75, 0.25])
    assert geometric_mean(own, graph, 0.0) == pytest.approx(own)
    assert geometric_mean(own, graph, 1.0) == pytest.approx(graph)


def test_weights_of_other_rows_are_refused():
    features, codes = rng().normal(size=(6, 3)), np.arange(6) % 2
    for weights in (np.ones((2, 5)), np.ones(6)):
        with pytest.raises(ShapeError, match=r"weights must be \(B, 6\); got \(\d"):
            head_problem(features, codes, 2, weights=weights)


def test_settings_outside_their_range_are_refused():
    with pytest.raises(OptionError, match="temperature must be at least 0.001; got 0"):
        MixMatchHead(temperature=0)
    with pytest.raises(OptionError, match="last_share must be between 0 and 1; got 2"):
        PseudoLabelHead(last_share=2)
    with pytest.raises(OptionError, match="n_neighbours"):
        PropagationHead(n_neighbours=0)


def test_pool_rows_without_a_chance_to_be_useful_change_nothing():
    rng = np.random.default_rng(1)
    codes = np.arange(20) % 2
    features = rng.normal(size=(20, 6)) + 2 * np.eye(6)[codes]
    pool = rng.normal(size=(40, 6)) - 3 * np.eye(6)[4]
    problem = head_problem(features, codes, 2, pool, useful=np.zeros(40))
    head = PseudoLabelHead().fit(problem, rng)
    new = rng.normal(size=(30, 6))
    assert head[0].logits(new) == pytest.approx(
        problem.labelled.supervised[0].logits(new), abs=0.02
    )
    with pytest.raises(ShapeError, match=r"useful must be \(40,\).*got \(39,\)"):
        head_problem(features, codes, 2, pool, useful=np.ones(39))
