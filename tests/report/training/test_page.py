"""The page of a head escapes what it shows, and draws only what the record holds."""

import re

from mixmood.core.records.ranking import Tile
from mixmood.report.training import Mistakes, TrainingPictures, training_page
from mixmood.ssl.record import HeadAccuracy, HeadRecord, MeasuredGain, PoolUse

NASTY = "<script>alert(1)</script>"


def record(**changes):
    values = {
        "algorithm": "mixmatch", "asked": "auto", "reason": "mixmatch is clearly better.",
        "accuracy": HeadAccuracy(0.8, (0.7, 0.9), None),
        "measured": MeasuredGain(5.0, (1.0, 9.0)),
        "pools": (PoolUse(NASTY, 20, 20, "use", NASTY, 2.5, (0.5, 4.5), 0.97),),
        "class_names": (NASTY, "b"), "class_counts": (5, 5), "n_labelled": 10, "n_pool": 20,
        "n_unlabelled": 20, "n_test": 0, "n_unreadable": 0, "n_groups": None, "backbone": None,
        "pixel_range": None, "takes": "features", "temperature": 1.0, "threshold": None,
        "confusion": ((4.0, 1.0), (0.5, 4.5)), "pool_shares": {NASTY: 0.5, "b": 0.5},
        "n_changed": 3, "seed": 0, "elapsed_s": 1.5, "warnings": (NASTY,),
    }  # fmt: skip
    return HeadRecord(**values | changes)


def pictures():
    tile = Tile(NASTY, "data:image/webp;base64,AAAA", None)
    return TrainingPictures(NASTY, (Mistakes(NASTY, "b", 1, (tile,)),), {NASTY: (tile,)})


def test_names_are_shown_and_never_obeyed():
    page = training_page(record(), pictures(), command=f"mixmood train {NASTY}")
    assert NASTY not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 8
    assert len(re.findall("<script", page)) == 2


def test_the_headline_gives_the_accuracy_with_its_interval():
    page = training_page(record(), pictures())
    assert "The expected accuracy on new images like the labelled ones is 80" in page
    assert "+5.0" in page
    assert "+2.5" in page
    untested = record(accuracy=HeadAccuracy(None, None, None), measured=None, confusion=None)
    assert "The accuracy is unknown: no image was held out." in training_page(untested, pictures())


def test_a_pool_that_was_not_used_is_said_not_to_be():
    text = "No head with the pool is clearly better: the pool is not used."
    page = training_page(record(algorithm="supervised", n_unlabelled=0, reason=text), pictures())
    assert text in page
    assert "into another class than" not in page
