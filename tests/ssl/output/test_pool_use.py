"""What a user is told of the pool's part in a training."""

import pytest
from tests.fixtures.training_records import a_record, an_epoch

from mixmood.ssl.image_training import nearly_lost_class, pool_warnings

CODES = [0] * 15 + [1] * 30 + [2] * 15
"""A quarter, a half and a quarter of the labelled images."""


def epoch(number, shares, sure=None):
    return an_epoch(number, n_updates=50 * number, pseudo_label_shares=shares, share_sure=sure)


def record(*epochs, batch_size=16):
    configuration = {"settings": {"threshold": 0.95}, "batch_size": batch_size}
    return a_record(*epochs, configuration=configuration, class_names=("cat", "dog", "owl"))


@pytest.mark.parametrize(
    ("shares", "lost"),
    [
        ((0.25, 0.5, 0.25), None),
        ((0.08, 0.62, 0.3), ("cat", 0.08, 0.25)),
        ((0.09, 0.61, 0.3), None),
        ((0.42, 0.16, 0.42), ("dog", 0.16, 0.5)),
        ((0.3, 0.7, 0.0), ("owl", 0.0, 0.25)),
    ],
)
def test_a_class_is_nearly_lost_below_a_third_of_its_share_of_the_labelled_images(shares, lost):
    assert nearly_lost_class(record(epoch(1, shares)), CODES) == lost


def test_only_the_last_epoch_counts():
    found, lost = (0.25, 0.5, 0.25), (0.0, 0.5, 0.5)
    assert nearly_lost_class(record(epoch(1, lost), epoch(2, found)), CODES) is None
    assert nearly_lost_class(record(epoch(1, found), epoch(2, lost)), CODES)[0] == "cat"


def test_what_may_be_chance_is_not_told():
    """The last epoch has 50 updates: with one guess in each, 12.5 are expected of a quarter."""
    lost = record(epoch(1, (0.25, 0.5, 0.25)), epoch(2, (0.0, 0.5, 0.5)), batch_size=1)
    assert nearly_lost_class(lost, CODES) is None


def test_a_class_that_no_labelled_image_has_cannot_be_lost():
    assert nearly_lost_class(record(epoch(1, (0.5, 0.5, 0.0))), [0] * 30 + [1] * 30) is None


def test_the_warning_names_the_class_both_shares_and_what_to_do():
    (message,) = pool_warnings(record(epoch(1, (0.01, 0.69, 0.3))), CODES)
    assert message.startswith(
        "The guesses for the pool have nearly lost the class 'cat': 1% of them, where 25% of the "
        "labelled images have it."
    )
    assert message.endswith("compare with --algorithm supervised.")


def test_a_threshold_that_no_guess_reached_is_told():
    (message,) = pool_warnings(record(epoch(1, None, sure=0.0), epoch(2, None, sure=0.0)), CODES)
    assert message == (
        "No guess reached the threshold of 0.95 in the whole run: the pool was not used. "
        "Train longer, or set a lower threshold."
    )


def test_a_training_without_a_pool_has_nothing_to_tell():
    assert list(pool_warnings(record(epoch(1, None)), CODES)) == []
