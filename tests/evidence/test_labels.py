import numpy as np
import pytest
from tests.fixtures.class_features import of_class

import mixmood
from mixmood.core.errors import InputError
from mixmood.evidence.labels import (
    SUSPECT,
    UNLIKE_SCORE,
    LabelEvidence,
    copies_among,
    copies_in_other_classes,
    doubtful_sentence,
    label_scores,
    unlikeness,
)

WRONG = [3, 17, 30, 44]


@pytest.fixture(scope="module")
def labelled():
    """Features of 60 images of four classes; the labels of WRONG are those of the next class."""
    codes = np.arange(60) % 4
    features = of_class(np.random.default_rng(0), codes, 24, apart=6.0)
    given = codes.copy()
    given[WRONG] = (given[WRONG] + 1) % 4
    return features, given, codes


def test_wrong_labels_have_the_highest_scores_and_the_right_suggestions(labelled):
    features, given, codes = labelled
    found = LabelEvidence(features, given)
    assert sorted(np.argsort(-found.scores)[: len(WRONG)].tolist()) == WRONG
    assert np.flatnonzero(found.scores >= SUSPECT).tolist() == WRONG
    assert (found.suggested[WRONG] == codes[WRONG]).all()


def test_without_wrong_labels_held_out_images_are_not_less_often_right(labelled):
    found = LabelEvidence(*labelled[:2]).without_flagged
    assert found.after.value >= found.before.value
    assert found.gain.interval[0] < found.gain.value < found.gain.interval[1]
    assert found.before.value == pytest.approx(56 / 60, abs=0.05)


def test_images_of_one_group_are_held_out_together(labelled):
    """Copies of an image with its wrong label confirm it, unless they are held out with it."""
    features, given, _ = labelled
    twice, codes = np.concatenate([features] * 2), np.concatenate([given] * 2)
    members = np.concatenate([np.arange(60)] * 2)
    alone = LabelEvidence(twice, codes).scores[WRONG].min()
    grouped = LabelEvidence(twice, codes, groups=members).scores[WRONG].min()
    assert alone < SUSPECT < grouped


def test_a_label_that_was_never_held_out_has_no_score():
    features = of_class(np.random.default_rng(0), np.array([0] * 9 + [1] * 9 + [2]), 8)
    found = LabelEvidence(features, np.array([0] * 9 + [1] * 9 + [2]))
    assert found.scores[-1] == 0
    assert np.isnan(found.chances[-1]).all()
    assert not found.never_recognised[2]


def test_one_image_a_class_cannot_be_judged():
    with pytest.raises(InputError, match="Cross-validation needs two classes"):
        _ = LabelEvidence(np.eye(4), np.arange(4)).scores


def test_a_set_of_two_folds_has_no_gain():
    groups = np.array([0, 1, 0, 1])
    assert LabelEvidence(np.eye(4), np.array([0, 0, 1, 1]), 0, groups).without_flagged is None


def test_confusion_is_that_of_a_pair(labelled):
    features, codes = labelled[0].copy(), labelled[2]
    rng = np.random.default_rng(1)
    features[codes < 2] = of_class(rng, np.zeros(30, int), 24, apart=6.0)
    found = LabelEvidence(features, codes)
    assert found.confusion[0, 1] == found.confusion.max() > 0.3
    assert found.confusion[2, 3] == 0


def test_images_that_are_never_held_out_are_not_counted_as_confused(monkeypatch):
    """24 images are of one group with all images of a class, which is thus never held out."""
    codes, groups = np.repeat([0, 1, 2], [20, 44, 10]), np.minimum(np.arange(74), 40)
    features = np.random.default_rng(0).normal(size=(74, 8)) + 6.0 * (codes == 2)[:, None]
    monkeypatch.setattr("mixmood.selection.check.groups_of", lambda pool, wanted: groups)
    (pair,) = mixmood.check((features, codes), cache=None).confused
    assert pair.classes == ("0", "1")
    assert pair.n_images == round(pair.share * 40)


def test_the_order_of_the_classes_does_not_decide_which_images_are_copies():
    """Of many images some say how near neighbours usually are: not those of the first class."""
    rng = np.random.default_rng(0)
    alike = rng.normal(size=32) + 0.01 * rng.normal(size=(400, 32))
    others = rng.normal(size=(600, 32))
    copies = others[:300] + 0.08 * rng.normal(size=(300, 32))
    features, codes = np.concatenate([alike, others, copies]), np.repeat([0, 1, 2], [400, 600, 300])
    for order in (np.arange(1300), np.arange(1300)[::-1]):
        assert copies_in_other_classes(features[order], codes[order]).is_copy.sum() == 600


def test_scores_lie_between_0_and_1_and_not_known_is_0():
    scores, _ = label_scores(np.array([[0.0, 1.0], [1.0, 0.0], [np.nan, np.nan]]), np.zeros(3, int))
    assert scores.tolist() == [1.0, 0.0, 0.0]


def test_copies_in_another_class_and_in_another_set_are_found(labelled):
    features, codes = labelled[0].copy(), labelled[2]
    features[9] = features[20] * 1.0001
    found = copies_in_other_classes(features, codes)
    assert np.flatnonzero(found.is_copy).tolist() == [9, 20]
    assert found.rows[[9, 20]].tolist() == [20, 9]
    assert np.flatnonzero(copies_among(features, features[[4]]).is_copy).tolist() == [4]


def test_an_image_unlike_its_class_is_found_and_an_only_image_is_not(labelled):
    features, codes = labelled[0].copy(), labelled[2].copy()
    features[5] = np.random.default_rng(2).normal(size=24) * 9
    codes[7] = 4
    found = unlikeness(features, codes)
    assert np.flatnonzero(found >= UNLIKE_SCORE).tolist() == [5]
    assert found[7] == 0


def test_labels_of_a_class_of_three_are_not_flagged(labelled):
    """Two images are left to learn it from: the head is wrong, not the label."""
    features, codes = labelled[0].copy(), labelled[2].copy()
    codes[[0, 1, 2]] = 4
    found = LabelEvidence(features, codes)
    assert found.scores[:3].min() >= SUSPECT
    assert not found.is_flagged.any()


def test_the_sentence_of_other_commands_counts_what_check_flags(labelled):
    features, given, _ = labelled
    names = [None, "a", None, "b", None, "c", None, "d"]  # codes need not be 0, 1, 2, ...
    said = doubtful_sentence(features, 2 * given + 1, names, "image {}".format, 0)
    worst = np.argsort(-LabelEvidence(features, given).scores)[:2].tolist()
    assert said.startswith(f"4 labels look wrong: image {worst[0]} (")
    assert f", image {worst[1]} (" in said
    assert said.endswith(" and 2 more. See mixmood check.")
    assert doubtful_sentence(features, np.arange(60), list(range(60)), str, 0) == ""
    assert doubtful_sentence(features, np.zeros(60, int), ["a"], str, 0) == ""


def test_only_similar_images_that_are_no_copies_yet_are_compared_by_their_pictures(labelled):
    features, codes = labelled[0].copy(), labelled[2]
    rng = np.random.default_rng(3)
    features[9] = features[20]
    features[13] = features[30] + 0.25 * np.abs(rng.normal(size=24)) * features[30].mean()
    found = copies_in_other_classes(features, codes)
    assert {13, 30} <= set(found.to_compare.tolist())
    assert not {9, 20} & set(found.to_compare.tolist())
