"""Which images are kept: the rules, and even and diverse choices."""

import numpy as np
import pytest

from mixmood.core.errors import OptionError
from mixmood.selection.filter import (
    COPY_OF_LABELLED,
    FOREIGN,
    KEPT,
    OVER_COUNT,
    TOO_MANY_OF_CLASS,
    UNREADABLE,
    ScannedPool,
    balanced,
    decide,
    diverse_order,
)
from mixmood.selection.plan import KeepRule, parse_keep
from mixmood.selection.scorer import balanced_threshold


def choose(scores, rule, auto_threshold, aside=None, classes=None, n_classes=0):
    """Which images of a pool are kept, and the reasons."""
    codes = aside or [KEPT] * len(scores)
    pool = ScannedPool(
        np.asarray(scores, float),
        np.zeros(len(scores), np.int32) if classes is None else np.array(classes, np.int32),
        np.array(codes, np.uint8),
    )
    reasons = decide(pool, rule, auto_threshold, n_classes).reasons
    assert pool.reasons.tolist() == codes
    return reasons == KEPT, reasons


@pytest.mark.parametrize(
    "word", ["0", "-3", "2.5", "nan", "inf", "many", "", 0, -0.5, 1.5, "1.0", 1.0, True]
)
def test_a_keep_that_makes_no_sense_is_refused(word):
    with pytest.raises(OptionError, match="--keep takes auto, a share between 0 and 1 or a whole"):
        parse_keep(word)


def test_one_image_is_a_count_and_below_one_is_a_share():
    assert parse_keep("1") == KeepRule(count=1)
    assert parse_keep(0.999) == KeepRule(share=0.999)
    assert parse_keep(" AUTO ") == KeepRule()


def test_expected_errors_are_equal_at_the_balanced_threshold(rng):
    """As many useful images are dropped as foreign ones are kept."""
    useful, foreign = rng.normal(1.5, size=6000), rng.normal(size=4000)
    threshold = balanced_threshold(np.concatenate([useful, foreign]), 0.6)
    assert (useful < threshold).sum() == (foreign >= threshold).sum()


def test_nothing_useful_keeps_nothing_and_all_useful_keeps_all(rng):
    scores = rng.normal(size=50)
    for share, n_kept in [(0.0, 0), (1.0, 50)]:
        is_kept, _ = choose(scores, parse_keep("auto"), balanced_threshold(scores, share))
        assert is_kept.sum() == n_kept


def test_a_share_and_a_count_keep_the_best():
    scores = np.array([3.0, 1.0, 2.0, 2.0])
    by_count, reasons = choose(scores, parse_keep(2), auto_threshold=1.5)
    assert by_count.tolist() == [True, False, True, False]
    assert reasons.tolist() == [KEPT, FOREIGN, KEPT, OVER_COUNT]
    assert choose(scores, parse_keep(0.5), 0.0)[0].tolist() == by_count.tolist()
    assert choose(scores, parse_keep(99), 0.0)[0].all()


def test_the_next_best_take_the_place_of_copies():
    aside = [COPY_OF_LABELLED, KEPT, KEPT]
    is_kept, reasons = choose(np.array([9.0, 1.0, 2.0]), parse_keep(1), 0.0, aside)
    assert is_kept.tolist() == [False, False, True]
    assert reasons.tolist() == [COPY_OF_LABELLED, OVER_COUNT, KEPT]


def test_a_threshold_decides_row_by_row():
    is_kept, reasons = choose(np.array([1.0, 2.0]), KeepRule(threshold=2.0), 0.0)
    assert is_kept.tolist() == [False, True]
    assert reasons.tolist() == [FOREIGN, KEPT]


def test_a_share_of_less_than_one_image_is_one_image():
    assert choose(np.arange(9.0), parse_keep(0.01), 0.0)[0].tolist() == [False] * 8 + [True]


def test_what_cannot_be_read_is_never_kept_whatever_the_rule():
    for rule in (parse_keep("auto"), parse_keep(0.9), parse_keep(9), KeepRule(threshold=-9.0)):
        is_kept, reasons = choose([0.0, 1.0], rule, -np.inf, [UNREADABLE, KEPT])
        assert is_kept.tolist() == [False, True]
        assert reasons[0] == UNREADABLE


def test_balance_says_why_the_others_are_dropped():
    is_kept, reasons = choose(
        [3.0, 2.0, 1.0, -5.0], parse_keep("auto"), 0.0, classes=[0, 0, 1, 1], n_classes=2
    )
    assert is_kept.tolist() == [True, False, True, False]
    assert reasons.tolist() == [KEPT, TOO_MANY_OF_CLASS, KEPT, FOREIGN]


def test_an_empty_pool_keeps_nothing():
    assert choose(np.empty(0), parse_keep("auto"), np.inf)[0].shape == (0,)


def test_balanced_classes_have_the_size_of_the_rarest_and_keep_their_best():
    scores = np.array([1.0, 5.0, 3.0, 4.0, 2.0, 9.0])
    classes = np.array([0, 0, 0, 1, 1, 0])
    is_kept = np.array([True, True, True, True, False, False])
    assert balanced(scores, classes, is_kept, 3).tolist() == [
        False,
        True,
        False,
        True,
        False,
        False,
    ]
    assert not balanced(scores, classes, np.zeros(6, bool), 3).any()


def test_without_strength_the_diverse_order_is_that_of_the_scores(rng):
    scores = rng.normal(size=20)
    order = diverse_order(rng.normal(size=(20, 4)), scores, 20, strength=0.0)
    assert order.tolist() == np.argsort(-scores).tolist()


def test_a_copy_comes_after_images_that_differ(rng):
    rows = np.eye(4)[[0, 0, 1, 2]]
    order = diverse_order(rows, np.array([4.0, 3.9, 2.0, 1.0]), 4)
    assert order.tolist()[0] == 0
    assert order.tolist()[-1] == 1
