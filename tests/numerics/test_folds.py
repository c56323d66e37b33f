import numpy as np
import pytest

from mixmood.core.errors import InputError
from mixmood.numerics.folds import NEVER, repeated_folds, training_weights


def rng():
    return np.random.default_rng(3)


def test_every_class_is_spread_evenly_over_the_folds():
    codes = np.repeat([0, 1, 2], [50, 13, 7])
    for folds in repeated_folds(codes, 5, 4, rng()):
        for code in range(3):
            counts = np.bincount(folds[codes == code], minlength=5)
            assert counts.max() - counts.min() <= 1
        sizes = np.bincount(folds, minlength=5)
        assert sizes.max() - sizes.min() <= 2


def test_the_division_depends_on_the_generator_alone_and_repeats_differ():
    codes = np.arange(60) % 4
    first, second = (repeated_folds(codes, 5, 3, rng()) for _ in range(2))
    assert first.tobytes() == second.tobytes()
    assert (first[0] != first[1]).any()


def test_a_class_with_one_image_is_never_held_out():
    codes = np.array([0] * 6 + [1] * 6 + [2])
    folds = repeated_folds(codes, 3, 5, rng())
    assert (folds[:, -1] == NEVER).all()
    assert (folds[:, :-1] != NEVER).all()


def test_rows_of_a_group_share_a_fold_and_no_class_is_missing_from_training():
    random = rng()
    for _ in range(30):
        codes = random.integers(0, 4, 40)
        groups = random.integers(0, 9, 40) * 7
        folds = repeated_folds(codes, 4, 2, random, groups)
        for row in folds:
            assert all(len(set(row[groups == group])) == 1 for group in set(groups))
        weights, held_out = training_weights(folds)
        assert all(set(codes[weight > 0]) == set(codes) for weight in weights)
        assert ((weights > 0) != held_out).all()


def test_a_group_that_holds_a_whole_class_is_never_held_out():
    codes = np.array([0, 0, 1, 1, 0, 0, 2, 2])
    groups = np.array([0, 1, 0, 1, 2, 3, 3, 3])
    folds = repeated_folds(codes, 2, 1, rng(), groups)[0]
    assert (folds[groups == 3] == NEVER).all()


def test_fewer_rows_than_folds_make_fewer_folds():
    folds = repeated_folds(np.array([0, 0, 1, 1]), 10, 1, rng())
    assert folds.max() < 4
    assert len(training_weights(folds)[0]) <= 4


def test_what_cannot_be_divided_is_refused():
    with pytest.raises(InputError, match="two classes"):
        repeated_folds(np.zeros(10, int), 5, 1, rng())
    with pytest.raises(InputError, match="got 2 images of 2 classes"):
        repeated_folds(np.array([0, 1]), 2, 1, rng())
