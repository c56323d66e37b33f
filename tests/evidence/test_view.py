"""The choice of a view: the best on held-out images, the cheapest of equals, always the same."""

import numpy as np
import pytest

from mixmood.core.errors import InputError
from mixmood.evidence.view import BackboneView, ViewEvidence, train_head
from mixmood.features.backbones.view import View

CHEAP, MIDDLING, DEAR = (BackboneView("net", View(side)) for side in (96, 160, 224))
N_CLASSES = 3


def world(n_each=8, signal=(0.0, 0.0, 2.0), seed=0):
    """Features of one data set in three views; `signal` is how far classes are apart in each."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(N_CLASSES), n_each)
    features = {}
    for candidate, far in zip((CHEAP, MIDDLING, DEAR), signal, strict=True):
        rows = np.abs(rng.normal(size=(len(codes), 12)))
        rows[np.arange(len(codes)), codes] += 3 * far
        features[candidate] = rows
    return features, codes, [rng.bytes(20) for _ in codes]


def test_the_view_with_the_highest_log_likelihood_is_chosen():
    features, codes, contents = world()
    choice = ViewEvidence(features, codes, contents).choice
    assert choice.chosen == DEAR
    values = {one.candidate: one.log_likelihood for one in choice.judged}
    assert values[DEAR] > values[CHEAP] + 0.3
    assert "highest log-likelihood of 3 views" in choice.reason
    described = choice.describe()
    assert (described["resolution"], described["depth"]) == (224, "last")
    assert [one["resolution"] for one in described["compared"]] == [96, 160, 224]


def test_a_cheaper_view_that_is_as_good_is_taken():
    features, codes, contents = world(signal=(0.0, 2.0, 0.0))
    features[DEAR] = features[MIDDLING] * 1.0001
    choice = ViewEvidence(features, codes, contents).choice
    assert choice.chosen == MIDDLING


def test_the_choice_depends_neither_on_the_order_of_images_nor_on_names_of_classes():
    features, codes, contents = world(signal=(0.4, 0.5, 0.6))
    first = ViewEvidence(features, codes, contents)
    order = np.random.default_rng(1).permutation(len(codes))
    shuffled = {one: rows[order] for one, rows in features.items()}
    second = ViewEvidence(shuffled, 7 + 2 * codes[order], [contents[row] for row in order])
    assert np.array_equal(second.folds, first.folds[:, order])
    assert second.choice.chosen == first.choice.chosen
    for one, other in zip(first.choice.judged, second.choice.judged, strict=True):
        assert other.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-6)


def test_other_images_have_other_folds():
    features, codes, contents = world()
    folds = [ViewEvidence(features, codes, one).folds for one in (contents, contents[::-1])]
    assert not np.array_equal(*folds)


def test_images_of_a_group_are_held_out_together():
    features, codes, contents = world()
    groups = np.tile(np.arange(8) // 2, N_CLASSES) + 10 * codes
    folds = ViewEvidence(features, codes, contents, groups).folds
    for group in np.unique(groups):
        assert all(len(np.unique(row[groups == group])) == 1 for row in folds)


def test_one_image_a_class_tells_nothing():
    features, codes, contents = world(n_each=1)
    with pytest.raises(InputError, match="in one of them, two images that are not of one group"):
        _ = ViewEvidence(features, codes, contents).choice


def test_of_views_that_all_are_noise_the_best_looks_good_but_the_nested_accuracy_does_not():
    """The mean over data sets of the best of twelve views is above 1/3, that of the procedure is
    not."""
    best, nested = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        codes = np.repeat(np.arange(N_CLASSES), 6)
        features = {
            BackboneView("net", View(32 * side)): np.abs(rng.normal(size=(len(codes), 6)))
            for side in range(2, 14)
        }
        views = ViewEvidence(features, codes, [rng.bytes(20) for _ in codes])
        chosen = views.choice.chosen
        best.append(next(one for one in views.choice.judged if one.candidate == chosen))
        head = train_head(
            features[chosen], codes, N_CLASSES, None, np.random.default_rng(0), views=views
        )
        nested.append(head.accuracy.value)
    assert np.mean([one.accuracy.value for one in best]) > 0.4
    assert np.mean(nested) < 0.38


def test_a_head_in_a_view_that_every_fold_chooses_has_the_accuracy_of_that_view():
    features, codes, contents = world()
    views = ViewEvidence(features, codes, contents)
    head = train_head(features[DEAR], codes, N_CLASSES, None, np.random.default_rng(3), views=views)
    judged = next(one for one in views.choice.judged if one.candidate == DEAR)
    assert head.accuracy.value == pytest.approx(judged.accuracy.value, abs=0.02)


def test_many_classes_are_compared_with_one_penalty(monkeypatch):
    monkeypatch.setattr("mixmood.evidence.view.MOST_PENALTY_WORK", 0)
    features, codes, contents = world()
    assert ViewEvidence(features, codes, contents).choice.chosen == DEAR
