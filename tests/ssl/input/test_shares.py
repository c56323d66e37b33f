import numpy as np
import pytest

from mixmood.core.errors import OptionError, TrainingError
from mixmood.ssl.pools import set_aside

NAMES = ("cat", "dog")
CODES = np.array([0] * 8 + [1] * 4)


def rng():
    return np.random.default_rng(0)


def test_shares_are_disjoint_complete_and_the_same_for_every_class():
    rows = set_aside(CODES, {"test": 0.25, "validation": 0.25}, NAMES, rng())
    assert sorted(np.concatenate(list(rows.values()))) == list(range(12))
    assert np.bincount(CODES[rows["test"]]).tolist() == [2, 1]
    assert np.bincount(CODES[rows["labelled"]]).tolist() == [4, 2]


def test_a_share_is_never_rounded_to_nothing():
    rows = set_aside(CODES, {"test": 0.01}, NAMES, rng())
    assert np.bincount(CODES[rows["test"]]).tolist() == [1, 1]


def test_without_shares_everything_is_labelled():
    assert set_aside(CODES, {}, NAMES, rng())["labelled"].tolist() == list(range(12))


def test_a_class_with_too_few_images_is_refused():
    with pytest.raises(
        TrainingError,
        match=r"'dog' needs at least 3 .*1 for validation, 1 to learn from\); it has 2",
    ):
        set_aside(CODES[:10], {"test": 0.2, "validation": 0.2}, NAMES, rng())


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(OptionError, match=r"The test share must lie between 0 and 1; got"):
        set_aside(CODES, {"test": share}, NAMES, rng())
