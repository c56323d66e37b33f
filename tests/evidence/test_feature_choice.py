"""Which features the supervised head does best with, and a fair accuracy after the choice."""

import numpy as np
import pytest

from mixmood.core.errors import InputError
from mixmood.evidence.choice import choose_features, train_head

CODES = np.arange(40) % 4


def rng_zero():
    return np.random.default_rng(0)


def noise(seed, width=6):
    return np.random.default_rng(seed).normal(size=(len(CODES), width))


def telling(seed=0, strength=4.0):
    return noise(seed) + strength * np.eye(6)[CODES]


def chosen(features, **options):
    return choose_features(features, CODES, 4, np.random.default_rng(3), **options)


def test_the_features_that_tell_the_classes_apart_are_chosen():
    found = chosen({"noise": noise(1), "good": telling(), "wide noise": noise(2, width=9)})
    assert found.chosen == "good"
    assert found.accuracies["good"].value > 0.9 > 0.6 > found.accuracies["noise"].value
    assert list(found.accuracies) == ["noise", "good", "wide noise"]
    assert found.after_choice == found.accuracies["good"]


def test_of_equals_the_first_is_chosen():
    found = chosen({"one": telling(), "same": telling()})
    assert found.chosen == "one"
    assert found.accuracies["one"] == found.accuracies["same"]


def test_after_the_choice_among_noise_the_accuracy_is_that_of_chance():
    """The best of six is far above one in four; judged without the fold it is not."""
    best, fair = [], []
    for start in range(0, 48, 6):
        found = chosen({str(k): noise(start + k) for k in range(6)}, n_repeats=1)
        best.append(found.accuracies[found.chosen].value)
        fair.append(found.after_choice.value)
    assert np.mean(best) > 0.36
    assert np.mean(fair) == pytest.approx(0.25, abs=0.05)


def test_the_optimism_of_a_choice_is_what_the_best_loses_when_it_is_judged_without_the_fold():
    found = chosen({str(k): noise(k) for k in range(6)}, n_repeats=1)
    best = found.accuracies[found.chosen].value
    assert found.optimism == pytest.approx(best - found.after_choice.value)
    assert found.optimism > 0
    assert chosen({"noise": noise(1), "good": telling()}).optimism == 0
    assert chosen({"alone": noise(1)}).optimism == 0


def test_less_its_optimism_a_head_on_chosen_noise_is_as_good_as_chance():
    """The head is cross-validated on folds of its own, as in `train`."""
    plain, fair = [], []
    for start in range(0, 72, 6):
        kinds = {str(k): noise(start + k) for k in range(6)}
        found = chosen(kinds)
        rng = np.random.default_rng(start)
        head = train_head(kinds[found.chosen], CODES, 4, None, rng, algorithm="supervised")
        plain.append(head.accuracy.value)
        fair.append(head.accuracy.value - found.optimism)
    assert np.mean(plain) > 0.31
    assert np.mean(fair) == pytest.approx(0.25, abs=0.04)
    assert np.mean(fair) < np.mean(plain) - 0.05


def test_images_of_a_group_are_held_out_together():
    """Each pair of rows is one image twice: without groups its copy gives the class away."""
    rows = np.repeat(np.random.default_rng(0).normal(size=(20, 30)), 2, axis=0)
    codes = np.repeat(np.arange(20) % 4, 2)
    rng = np.random.default_rng(0)
    leaking = choose_features({"copies": rows}, codes, 4, rng)
    groups = np.repeat(np.arange(20), 2)
    fair = choose_features({"copies": rows}, codes, 4, rng, groups=groups)
    assert leaking.after_choice.value > fair.after_choice.value + 0.3


def test_one_image_a_class_cannot_be_compared_on():
    """With one class of two images there are two folds: a choice, but no fair accuracy of it."""
    rows = np.eye(3)
    two = choose_features({"a": rows, "b": rows}, np.array([0, 0, 1]), 2, rng_zero())
    assert (two.chosen, two.after_choice, two.optimism) == ("a", None, None)
    with pytest.raises(InputError, match="Cross-validation needs two classes"):
        choose_features({"a": np.eye(4)}, np.arange(4), 4, rng_zero())
